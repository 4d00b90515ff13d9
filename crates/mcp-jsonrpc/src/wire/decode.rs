//! Decodes one message into its parts, in one pass.

use std::fmt;

use bytes::Bytes;

use crate::{
    id::RequestId,
    json::{RawJson, Scanner},
    message::{ErrorObject, Message, Notification, Request, Response},
};

/// How many messages a batch may have. Two bytes of one can take fifty times that in memory, so the
/// limit on the size of a frame is not enough.
const MAX_BATCH: usize = 1 << 16;

/// The content of one line, event or frame.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a frame is a message or an array of them")]
pub enum Decoded {
    /// One message, as in every revision of the protocol.
    One(Message),
    /// A batch, which clients of 2025-03-26 must accept. An invalid element fails alone; more than 65,536 elements fail
    /// the batch. <https://modelcontextprotocol.io/specification/2025-03-26/basic#batching>
    Batch(Vec<Result<Message, DecodeError>>),
}

/// The reason bytes are not a JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text is not JSON.
    NotJson,
    /// The JSON is not a JSON-RPC 2.0 message.
    NotJsonRpc,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecodeError::NotUtf8 => "not UTF-8",
            DecodeError::NotJson => "not JSON",
            DecodeError::NotJsonRpc => "not a JSON-RPC 2.0 message",
        })
    }
}

impl std::error::Error for DecodeError {}

/// Reads one frame. Payloads stay slices of `frame`.
///
/// ```
/// use mcp_jsonrpc::{Message, wire::{Decoded, decode}};
///
/// let frame = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
/// let Decoded::One(Message::Response(response)) = decode(&frame.as_slice().into())? else {
///     panic!("expected a response");
/// };
/// assert_eq!(response.outcome.unwrap().as_str(), r#"{"tools":[]}"#);
/// # Ok::<(), mcp_jsonrpc::wire::DecodeError>(())
/// ```
pub fn decode(frame: &Bytes) -> Result<Decoded, DecodeError> {
    let text = std::str::from_utf8(frame).map_err(|_| DecodeError::NotUtf8)?;
    let mut scanner = Scanner::new(without_mark(text));
    match scanner.peek() {
        Some(b'{') => {
            let message = envelope(&mut scanner, frame)?;
            scanner.expect_end().map_err(|_| DecodeError::NotJson)?;
            message.map(Decoded::One).ok_or(DecodeError::NotJsonRpc)
        }
        Some(b'[') => batch(&mut scanner, frame),
        Some(_) if scanner.skip_value().is_ok() && scanner.expect_end().is_ok() => {
            Err(DecodeError::NotJsonRpc)
        }
        _ => Err(DecodeError::NotJson),
    }
}

/// The text behind a byte order mark, which the runtimes of some servers put before their first line.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn batch(scanner: &mut Scanner<'_>, frame: &Bytes) -> Result<Decoded, DecodeError> {
    let mut messages = Vec::new();
    scanner.bump();
    while !scanner.eat(b']') {
        if !messages.is_empty() {
            scanner.expect(b',', "a comma").map_err(|_| DecodeError::NotJson)?;
        }
        if messages.len() == MAX_BATCH {
            return Err(DecodeError::NotJsonRpc);
        }
        messages.push(if scanner.peek() == Some(b'{') {
            envelope(scanner, frame)?.ok_or(DecodeError::NotJsonRpc)
        } else {
            scanner.skip_value().map_err(|_| DecodeError::NotJson)?;
            Err(DecodeError::NotJsonRpc)
        });
    }
    scanner.expect_end().map_err(|_| DecodeError::NotJson)?;
    if messages.is_empty() { Err(DecodeError::NotJsonRpc) } else { Ok(Decoded::Batch(messages)) }
}

/// The members of an envelope that mean something, as text.
#[derive(Default)]
struct Envelope<'a> {
    version: bool,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a str>,
    result: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> Envelope<'a> {
    fn set(&mut self, key: &str, value: &'a str) {
        // Some servers use one type for all messages and send its absent members as null.
        let given = (value != "null").then_some(value);
        match key {
            "jsonrpc" => self.version = string(value).is_some_and(|version| version == "2.0"),
            "id" => self.id = given,
            "method" => self.method = given,
            "params" => self.params = given,
            "result" => self.result = Some(value),
            "error" => self.error = given,
            _ => {}
        }
    }

    fn into_message(self, frame: &Bytes) -> Option<Message> {
        if !self.version {
            return None;
        }
        let raw = |value| RawJson::scanned(frame, value);
        let is_answer = self.error.is_some() || self.result.is_some_and(|result| result != "null");
        if let Some(method) = self.method.filter(|_| !is_answer) {
            let method = string(method)?.into_owned().into();
            let params = self.params.map(raw);
            return Some(match self.id {
                Some(id) => Message::Request(Request { id: RequestId::read(id)?, method, params }),
                None => Message::Notification(Notification { method, params }),
            });
        }
        let id = self.id.and_then(RequestId::read);
        let outcome = match (self.error, self.result) {
            (Some(error), _) => Err(error_object(&raw(error))),
            (None, Some(result)) if id.is_some() => Ok(raw(result)),
            // A message with only an id is a response whose result was `undefined`, which JavaScript leaves out. Without
            // this case its caller would wait for the time limit.
            (None, None) if id.is_some() && self.params.is_none() => Ok(RawJson::null()),
            (None, _) => return None,
        };
        Some(Message::Response(Response { id, outcome }))
    }
}

/// Reads an object as an envelope. `None` for well-formed JSON that is not a message.
fn envelope(scanner: &mut Scanner<'_>, frame: &Bytes) -> Result<Option<Message>, DecodeError> {
    let mut found = Envelope::default();
    scanner.bump();
    let mut first = true;
    while !scanner.eat(b'}') {
        if !first {
            scanner.expect(b',', "a comma").map_err(|_| DecodeError::NotJson)?;
        }
        first = false;
        let key = scanner.key().map_err(|_| DecodeError::NotJson)?;
        let value = scanner.skip_value().map_err(|_| DecodeError::NotJson)?;
        found.set(&key, value);
    }
    Ok(found.into_message(frame))
}

fn string(value: &str) -> Option<std::borrow::Cow<'_, str>> {
    Scanner::new(value).string().ok()
}

/// Mistakes inside an error object are tolerated: the call has to fail in any case.
pub(crate) fn error_object(error: &RawJson) -> ErrorObject {
    let no_reason = || String::from("the server gave no reason");
    if !error.is_object() {
        return match string(error.as_str()) {
            Some(message) => ErrorObject::new(ErrorObject::INTERNAL_ERROR, message),
            None => ErrorObject {
                data: Some(error.clone()),
                ..ErrorObject::new(ErrorObject::INTERNAL_ERROR, no_reason())
            },
        };
    }
    let code = error.get("code").and_then(|code| code.decode().ok());
    let message = error.get("message").and_then(|message| message.decode().ok());
    ErrorObject {
        code: code.unwrap_or(ErrorObject::INTERNAL_ERROR),
        message: message.unwrap_or_else(no_reason),
        data: error.get("data"),
    }
}
