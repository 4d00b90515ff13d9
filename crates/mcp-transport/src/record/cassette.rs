//! The text format of recordings.

mod cause;

use std::{fmt, str::FromStr};

use mcp_jsonrpc::{
    Delivery, ErrorClass, Failure, FailureCause, Loss, Message, RawJson,
    wire::{Decoded, decode},
};

use self::cause::{read_cause, write_cause};
use crate::{diagnostics::CloseReason, link::Inbound};

/// A recording of the links to one server, in order: one line of JSON per event.
///
/// ```
/// use mcp_transport::record::Cassette;
///
/// let cassette: Cassette = r#"
///     {"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"ping"}}
///     {"link":1,"in":{"jsonrpc":"2.0","id":1,"result":{}}}
///     {"link":1,"end":"ended"}
/// "#.parse()?;
/// assert_eq!(cassette.len(), 3);
/// # Ok::<(), mcp_transport::record::CassetteError>(())
/// ```
///
/// Blank lines and lines that start with `#` are comments. A recording contains the complete messages, including
/// secrets: review it before you keep it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cassette {
    pub(super) entries: Vec<Entry>,
}

/// One recorded event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// The number of the connection, starting from one.
    pub(super) link: u64,
    pub(super) event: Event,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Out(Message),
    In(Inbound),
    End(CloseReason),
}

impl Cassette {
    /// The number of recorded events.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no event is recorded.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of connections that were opened.
    pub(super) fn links(&self) -> u64 {
        self.entries.iter().map(|entry| entry.link).max().unwrap_or(0)
    }

    pub(super) fn link(&self, link: u64) -> Vec<Event> {
        let of_link = self.entries.iter().filter(|entry| entry.link == link);
        of_link.map(|entry| entry.event.clone()).collect()
    }
}

/// Writes the text that [`FromStr`] parses.
impl fmt::Display for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"link":{},"#, self.link)?;
        match &self.event {
            Event::Out(message) => write!(f, r#""out":{}"#, text(message))?,
            Event::In(Inbound::Message(message)) => write!(f, r#""in":{}"#, text(message))?,
            // Recorders parse responses before they store them, so a response that is left here is malformed.
            Event::In(Inbound::Reply(reply)) => {
                let id = reply.id();
                write!(f, r#""lost":{id},"delivery":"executed","reason":"malformed""#)?;
            }
            Event::In(Inbound::Lost { id, failure }) => {
                // Encoding an id does not fail.
                let id = RawJson::encode(id).unwrap_or_else(|_| RawJson::null());
                write!(f, r#""lost":{},"#, id.as_str())?;
                match failure {
                    Failure::TooLarge { size, limit } => {
                        write!(f, r#""size":{size},"limit":{limit}"#)?;
                    }
                    other => {
                        let delivery = match other.delivery() {
                            Delivery::NotSent => "not-sent",
                            Delivery::Unknown => "unknown",
                            Delivery::Executed => "executed",
                        };
                        let reason = quoted(&other.to_string());
                        write!(f, r#""delivery":"{delivery}","#)?;
                        // `Transient` is the default and is omitted.
                        let (class, cause) = kind_of(other);
                        write_class(f, class)?;
                        write_cause(f, cause)?;
                        write!(f, r#""reason":{reason}"#)?;
                    }
                }
            }
            Event::End(CloseReason::Requested) => f.write_str(r#""end":"requested""#)?,
            Event::End(CloseReason::Ended) => f.write_str(r#""end":"ended""#)?,
            Event::End(CloseReason::SessionLost) => f.write_str(r#""end":"session-lost""#)?,
            Event::End(CloseReason::Failed { cause, reason }) => {
                f.write_str(r#""end":"failed","#)?;
                write_cause(f, *cause)?;
                write!(f, r#""reason":{}"#, quoted(reason))?;
            }
            Event::End(CloseReason::Refused { class, reason }) => {
                f.write_str(r#""end":"refused","#)?;
                write_class(f, *class)?;
                write!(f, r#""reason":{}"#, quoted(reason))?;
            }
        }
        f.write_str("}")
    }
}

/// Writes the member for `class`, followed by a comma.
fn write_class(f: &mut fmt::Formatter<'_>, class: ErrorClass) -> fmt::Result {
    match class {
        ErrorClass::Transient => Ok(()),
        ErrorClass::Auth => f.write_str(r#""class":"auth","#),
        ErrorClass::Session => f.write_str(r#""class":"session","#),
        ErrorClass::Permanent => f.write_str(r#""class":"permanent","#),
    }
}

fn read_class(raw: &RawJson) -> Result<ErrorClass, &'static str> {
    match string(raw, "class").as_deref() {
        None | Some("transient") => Ok(ErrorClass::Transient),
        Some("auth") => Ok(ErrorClass::Auth),
        Some("session") => Ok(ErrorClass::Session),
        Some("permanent") => Ok(ErrorClass::Permanent),
        Some(_) => Err("`class` must be `transient`, `auth`, `session` or `permanent`"),
    }
}

fn kind_of(failure: &Failure) -> (ErrorClass, FailureCause) {
    match failure {
        Failure::Lost(loss) => (loss.class, loss.cause),
        _ => (ErrorClass::Transient, FailureCause::Other),
    }
}

fn text(message: &Message) -> String {
    let mut text = Vec::new();
    message.write(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Converts text to a JSON string.
fn quoted(text: &str) -> serde_json::Value {
    serde_json::Value::from(text)
}

/// Why text is not a valid recording.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CassetteError {
    /// The line, starting from one.
    pub line: usize,
    /// The problem with the line.
    pub problem: &'static str,
}

impl fmt::Display for CassetteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the cassette: {}", self.line, self.problem)
    }
}

impl std::error::Error for CassetteError {}

impl FromStr for Cassette {
    type Err = CassetteError;

    fn from_str(text: &str) -> Result<Self, CassetteError> {
        let lines = text.lines().map(str::trim).enumerate();
        let meant = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let entries = meant.map(|(at, line)| {
            entry(line).map_err(|problem| CassetteError { line: at + 1, problem })
        });
        Ok(Self { entries: entries.collect::<Result<_, _>>()? })
    }
}

fn entry(text: &str) -> Result<Entry, &'static str> {
    let raw = RawJson::parse(text.to_owned()).map_err(|_| "not JSON")?;
    let link = raw.get("link").and_then(|link| link.decode().ok()).filter(|link| *link > 0);
    let link = link.ok_or("`link` must be a number above zero")?;
    let event = if let Some(message) = raw.get("out") {
        Event::Out(message_of(&message)?)
    } else if let Some(message) = raw.get("in") {
        Event::In(Inbound::Message(message_of(&message)?))
    } else if let Some(id) = raw.get("lost") {
        let id = id.decode().map_err(|_| "`lost` must be the id of a request")?;
        Event::In(Inbound::Lost { id, failure: failure_of(&raw)? })
    } else if let Some(reason) = raw.get("end") {
        Event::End(match reason.as_str() {
            r#""requested""# => CloseReason::Requested,
            r#""ended""# => CloseReason::Ended,
            r#""session-lost""# => CloseReason::SessionLost,
            r#""failed""# => CloseReason::Failed {
                cause: read_cause(&raw)?,
                reason: string(&raw, "reason").unwrap_or_default(),
            },
            r#""refused""# => CloseReason::Refused {
                class: read_class(&raw)?,
                reason: string(&raw, "reason").unwrap_or_default(),
            },
            _ => {
                return Err(
                    "`end` must be `requested`, `ended`, `session-lost`, `failed` or `refused`",
                );
            }
        })
    } else {
        return Err("one of `out`, `in`, `lost`, `end` is missing");
    };
    Ok(Entry { link, event })
}

fn message_of(raw: &RawJson) -> Result<Message, &'static str> {
    match decode(raw.as_bytes()) {
        Ok(Decoded::One(message)) => Ok(message),
        _ => Err("not a JSON-RPC message"),
    }
}

fn failure_of(raw: &RawJson) -> Result<Failure, &'static str> {
    let number = |name| raw.get(name).and_then(|number| number.decode::<usize>().ok());
    if let (Some(size), Some(limit)) = (number("size"), number("limit")) {
        return Ok(Failure::TooLarge { size, limit });
    }
    let delivery = match string(raw, "delivery").as_deref() {
        Some("not-sent") => Delivery::NotSent,
        Some("unknown") => Delivery::Unknown,
        Some("executed") => Delivery::Executed,
        _ => return Err("a loss needs `size` and `limit`, or `delivery`"),
    };
    let (class, cause) = (read_class(raw)?, read_cause(raw)?);
    Ok(Loss::new(delivery, class, cause, string(raw, "reason").unwrap_or_default()).into())
}

fn string(raw: &RawJson, name: &str) -> Option<String> {
    raw.get(name).and_then(|value| value.decode().ok())
}
