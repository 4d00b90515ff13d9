//! The faults, the transports, and the combinations that cannot occur.

use std::fmt;

/// A transport under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Modern,
    Legacy,
    Sse,
    Ws,
    InProcess,
}

use Transport::{InProcess, Legacy, Modern, Sse, Stdio, Ws};

impl Transport {
    pub(crate) const ALL: [Transport; 6] = [Stdio, Modern, Legacy, Sse, Ws, InProcess];

    /// The title on the page.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Stdio => "stdio",
            Modern => "http 2026-07-28",
            Legacy => "http 2025-11-25",
            Sse => "sse 2024-11-05",
            Ws => "ws",
            InProcess => "in-process",
        }
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stdio => "stdio",
            Modern => "modern",
            Legacy => "legacy",
            Sse => "sse",
            Ws => "ws",
            InProcess => "in-process",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|transport| transport.name() == name)
    }

    /// Whether its server listens on a port and outlives our connections.
    pub(crate) fn is_remote(self) -> bool {
        !matches!(self, Stdio | InProcess)
    }

    pub(crate) fn is_modern(self) -> bool {
        matches!(self, Stdio | Modern | Ws | InProcess)
    }
}

/// A fault that a server simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Kill,
    Hang,
    HalfOpen,
    Drip,
    EndlessDrip,
    GarbageFirst,
    GarbageOnly,
    Oversized,
    WrongId,
    Duplicate,
    Reorder,
    OtherTools,
    Status(u16),
    Clock,
    CloseInHandshake,
    StatusAtConnect(u16),
    ClockAtConnect,
    Dns,
    Tls,
}

const STATUSES: [u16; 6] = [401, 403, 404, 429, 500, 503];

impl Fault {
    pub(crate) fn all() -> Vec<Self> {
        let calls = [
            Fault::Kill,
            Fault::Hang,
            Fault::HalfOpen,
            Fault::Drip,
            Fault::EndlessDrip,
            Fault::GarbageFirst,
            Fault::GarbageOnly,
            Fault::Oversized,
            Fault::WrongId,
            Fault::Duplicate,
            Fault::Reorder,
            Fault::OtherTools,
        ];
        let connections = [Fault::CloseInHandshake];
        let lost = [Fault::ClockAtConnect, Fault::Dns, Fault::Tls];
        calls
            .into_iter()
            .chain(STATUSES.map(Fault::Status))
            .chain([Fault::Clock])
            .chain(connections)
            .chain(STATUSES.map(Fault::StatusAtConnect))
            .chain(lost)
            .collect()
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|fault| fault.to_string() == name)
    }

    /// Whether a cell waits for a time limit. Over HTTP some faults are detected earlier.
    pub(crate) fn takes_long(self, transport: Transport) -> bool {
        match self {
            Fault::Hang | Fault::HalfOpen | Fault::EndlessDrip => true,
            Fault::GarbageOnly | Fault::WrongId => !matches!(transport, Modern | Legacy),
            _ => false,
        }
    }

    /// The description on the page.
    pub(crate) fn description(self) -> String {
        match self {
            Fault::Kill => "The server is killed (`SIGKILL`) after it has read the call. In-process: its task panics.".into(),
            Fault::Hang => "The server never answers this call but answers others.".into(),
            Fault::HalfOpen => "The server freezes (`SIGSTOP`) in the middle of the call: connections stay open, but nothing is read or answered, pings included. In-process: its task stops reading.".into(),
            Fault::Drip => "The answer comes byte by byte, a few milliseconds apart.".into(),
            Fault::EndlessDrip => "The answer comes byte by byte, and never ends.".into(),
            Fault::GarbageFirst => "The answer is preceded by bytes that are not a message: a banner, half a JSON object, invalid UTF-8.".into(),
            Fault::GarbageOnly => "The same bytes come instead of the answer.".into(),
            Fault::Oversized => "The answer is larger than the limit.".into(),
            Fault::WrongId => "The answer carries the id of a call that was not made.".into(),
            Fault::Duplicate => "The answer comes twice.".into(),
            Fault::Reorder => "Two calls are made at once, and the later one is answered first.".into(),
            Fault::OtherTools => "The server is killed and started again with other tools, then a removed tool is called.".into(),
            Fault::Status(status) => format!("The call is answered with status {status}. Its body holds the credentials that the request came with."),
            Fault::Clock => "The clocks of the two machines disagree by more than a year: the call is answered with status 503 and a `Retry-After` that is a date in 2999.".into(),
            Fault::ClockAtConnect => "The same when connecting.".into(),
            Fault::CloseInHandshake => "The server closes the connection at the first message.".into(),
            Fault::StatusAtConnect(status) => format!("The first request, or the upgrade, is answered with status {status}."),
            Fault::Dns => "The server's name cannot be resolved.".into(),
            Fault::Tls => "The server's certificate is issued by an untrusted authority.".into(),
        }
    }

    /// A note below the findings on the page.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Fault::OtherTools => Some(
                "A client with the old list sends the call, and the new server rejects it if it receives it. The bridge has listed the tools again by then; a call made with a definition of this turn is sent anyway, and the server decides. The in-process server ends because of the call itself, so its delivery is unknown.",
            ),
            Fault::Clock => Some("That date is not waited for; see [clocks](#clocks)."),
            Fault::ClockAtConnect => Some(
                "The supervisor waits for at most an hour, regardless of the date; the run reconnects by hand instead of waiting.",
            ),
            Fault::Dns => Some(
                "The supervisor connects once the name resolves again; the run does not wait for that.",
            ),
            _ => None,
        }
    }

    /// Why this fault cannot happen over `transport`, if it cannot.
    pub(crate) fn impossible(self, transport: Transport) -> Option<&'static str> {
        match (self, transport) {
            (
                Fault::Drip | Fault::EndlessDrip | Fault::GarbageFirst | Fault::GarbageOnly,
                InProcess,
            ) => Some("messages are passed as values and never become bytes"),
            (Fault::Status(_) | Fault::StatusAtConnect(_), Stdio | InProcess) => {
                Some("there is no HTTP, so there are no statuses")
            }
            (Fault::Status(_), Ws) => {
                Some("a WebSocket has a status only in the upgrade: see the row for that")
            }
            (Fault::Clock, Ws) => {
                Some("messages have no `Retry-After`: see the row for connecting")
            }
            (Fault::Clock | Fault::ClockAtConnect, Stdio | InProcess) => {
                Some("the time of day is not read there: every limit uses a monotonic clock")
            }
            (Fault::Dns | Fault::Tls, Stdio | InProcess) => Some("there is no network"),
            _ => None,
        }
    }
}

/// The name on the page and the command line.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Kill => "killed in the middle of a call",
            Fault::Hang => "hang",
            Fault::HalfOpen => "half-open",
            Fault::Drip => "slow drip",
            Fault::EndlessDrip => "endless drip",
            Fault::GarbageFirst => "garbage before the answer",
            Fault::GarbageOnly => "garbage instead of the answer",
            Fault::Oversized => "oversized answer",
            Fault::WrongId => "wrong id",
            Fault::Duplicate => "duplicate answer",
            Fault::Reorder => "answers out of order",
            Fault::OtherTools => "restart with other tools",
            Fault::Clock => "clock jump in a call",
            Fault::ClockAtConnect => "clock jump when connecting",
            Fault::CloseInHandshake => "close during the handshake",
            Fault::Dns => "DNS failure",
            Fault::Tls => "TLS failure",
            Fault::Status(status) => return write!(f, "{status} to a call"),
            Fault::StatusAtConnect(status) => return write!(f, "{status} when connecting"),
        })
    }
}
