//! What goes wrong, over what, and where that makes no sense.

use std::fmt;

/// A way to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Stdio,
    Modern,
    Legacy,
    Sse,
    Ws,
    InProcess,
}

use Carrier::{InProcess, Legacy, Modern, Sse, Stdio, Ws};

impl Carrier {
    pub(crate) const ALL: [Carrier; 6] = [Stdio, Modern, Legacy, Sse, Ws, InProcess];

    /// What the page calls it.
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

    /// What the command line calls it.
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
        Self::ALL.into_iter().find(|carrier| carrier.name() == name)
    }

    /// Whether its server listens on a port, and outlives our connections.
    pub(crate) fn is_remote(self) -> bool {
        !matches!(self, Stdio | InProcess)
    }

    pub(crate) fn is_modern(self) -> bool {
        matches!(self, Stdio | Modern | Ws | InProcess)
    }
}

/// Something that goes wrong.
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

    /// Whether it costs somebody a time limit. Over HTTP it need not.
    pub(crate) fn takes_long(self, carrier: Carrier) -> bool {
        match self {
            Fault::Hang | Fault::HalfOpen | Fault::EndlessDrip => true,
            Fault::GarbageOnly | Fault::WrongId => !matches!(carrier, Modern | Legacy),
            _ => false,
        }
    }

    /// What the page says about it.
    pub(crate) fn story(self) -> String {
        match self {
            Fault::Kill => "The server is killed (`SIGKILL`) after it has read the call. In-process: its task panics.".into(),
            Fault::Hang => "The server never answers this call, and goes on answering others.".into(),
            Fault::HalfOpen => "The server freezes (`SIGSTOP`) in the middle of the call: everything stays open, nothing is read, said or answered, pings included. In-process: its task stops reading.".into(),
            Fault::Drip => "The answer comes byte by byte, a few milliseconds apart.".into(),
            Fault::EndlessDrip => "The answer comes byte by byte, and never ends.".into(),
            Fault::GarbageFirst => "Before the answer come bytes that are no message: a banner, half a JSON object, invalid UTF-8.".into(),
            Fault::GarbageOnly => "The same bytes come instead of the answer.".into(),
            Fault::Oversized => "The answer is larger than the limit.".into(),
            Fault::WrongId => "The answer names a call that nobody made.".into(),
            Fault::Duplicate => "The answer comes twice.".into(),
            Fault::Reorder => "Two calls are made at once, and the later one is answered first.".into(),
            Fault::OtherTools => "The server is killed and started again with other tools, then a tool that is gone is called.".into(),
            Fault::Status(status) => format!("The call is answered with status {status}. Its body holds the credentials that the request came with."),
            Fault::Clock => "The clocks of the two machines disagree by more than a year: the call is answered with status 503 and a `Retry-After` that is a date in 2999.".into(),
            Fault::ClockAtConnect => "The same when connecting.".into(),
            Fault::CloseInHandshake => "The server hangs up on the first thing it is told.".into(),
            Fault::StatusAtConnect(status) => format!("The first request, or the upgrade, is answered with status {status}."),
            Fault::Dns => "The server's name cannot be resolved.".into(),
            Fault::Tls => "The server's certificate is from an authority nobody trusts.".into(),
        }
    }

    /// What the page adds to the findings.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Fault::OtherTools => Some(
                "The client that lived through it is not told of a list: it calls, and the new server, if it gets the call, refuses. The bridge has listed again by then, and knows without asking. The server in our own process dies of the call itself, hence the doubt.",
            ),
            Fault::Clock => Some("Nobody waits for that date; see [clocks](#clocks)."),
            Fault::ClockAtConnect => Some(
                "The supervisor waits for an hour at most, whatever the date; the run does not, and asks for a connection by hand.",
            ),
            Fault::Dns => Some(
                "Once the name is known again it is connected to; the run does not wait for that.",
            ),
            _ => None,
        }
    }

    /// Why this cannot happen over `carrier`, if it cannot.
    pub(crate) fn absurd(self, carrier: Carrier) -> Option<&'static str> {
        match (self, carrier) {
            (
                Fault::Drip | Fault::EndlessDrip | Fault::GarbageFirst | Fault::GarbageOnly,
                InProcess,
            ) => Some("messages are handed over whole, and never become bytes"),
            (Fault::Status(_) | Fault::StatusAtConnect(_), Stdio | InProcess) => {
                Some("there is no HTTP, so there are no statuses")
            }
            (Fault::Status(_), Ws) => {
                Some("a WebSocket has a status only once, when it is opened: see the row for that")
            }
            (Fault::Clock, Ws) => {
                Some("messages have no `Retry-After`: see the row for connecting")
            }
            (Fault::Clock | Fault::ClockAtConnect, Stdio | InProcess) => Some(
                "nothing there reads the time of day: every limit is counted on a clock that only goes forward",
            ),
            (Fault::Dns | Fault::Tls, Stdio | InProcess) => Some("there is no network"),
            _ => None,
        }
    }
}

/// As the page and the command line call it.
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
