//! From the bytes of one message to its parts, in one pass.

use std::fmt;

use bytes::Bytes;

use crate::{
    id::RequestId,
    message::{ErrorObject, Message, Notification, Request, Response},
    raw::RawJson,
    scan::Scanner,
};

/// What one line, event or frame held.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a frame is a message or an array of them")]
pub enum Decoded {
    /// One message, as in every revision of the protocol.
    One(Message),
    /// A batch, which 2025-03-26 obliges us to accept. One bad element costs only itself.
    Batch(Vec<Result<Message, DecodeError>>),
}

/// Why some bytes are no JSON-RPC message.
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
/// use mcp_jsonrpc::{Decoded, Message, decode};
///
/// let frame = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
/// let Decoded::One(Message::Response(response)) = decode(&frame.as_slice().into())? else {
///     panic!("an answer");
/// };
/// assert_eq!(response.outcome.unwrap().as_str(), r#"{"tools":[]}"#);
/// # Ok::<(), mcp_jsonrpc::DecodeError>(())
/// ```
pub fn decode(frame: &Bytes) -> Result<Decoded, DecodeError> {
    let text = std::str::from_utf8(frame).map_err(|_| DecodeError::NotUtf8)?;
    let mut scanner = Scanner::new(text);
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

fn batch(scanner: &mut Scanner<'_>, frame: &Bytes) -> Result<Decoded, DecodeError> {
    let mut messages = Vec::new();
    scanner.bump();
    while !scanner.eat(b']') {
        if !messages.is_empty() {
            scanner.expect(b',', "a comma").map_err(|_| DecodeError::NotJson)?;
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
        match key {
            "jsonrpc" => self.version = value == r#""2.0""#,
            "id" => self.id = Some(value),
            "method" => self.method = Some(value),
            "params" => self.params = Some(value),
            "result" => self.result = Some(value),
            "error" => self.error = Some(value),
            _ => {}
        }
    }

    fn into_message(self, frame: &Bytes) -> Option<Message> {
        if !self.version {
            return None;
        }
        let raw = |value| RawJson::scanned(frame, value);
        if let Some(method) = self.method {
            let method = string(method)?.into_owned().into();
            let params = self.params.filter(|params| *params != "null").map(raw);
            return Some(match self.id {
                Some(id) => Message::Request(Request { id: request_id(id)?, method, params }),
                None => Message::Notification(Notification { method, params }),
            });
        }
        // Some servers send the member they do not mean as null.
        let error = self.error.filter(|error| *error != "null" || self.result.is_none());
        let response = match (error, self.result) {
            (Some(error), _) => {
                let id = self.id.and_then(request_id);
                Response { id, outcome: Err(error_object(frame, error)?) }
            }
            (None, Some(result)) => {
                Response { id: Some(request_id(self.id?)?), outcome: Ok(raw(result)) }
            }
            (None, None) => return None,
        };
        Some(Message::Response(response))
    }
}

/// Reads an object as an envelope. `None` for well-formed JSON that is no message.
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

fn request_id(value: &str) -> Option<RequestId> {
    match value.as_bytes().first()? {
        b'"' => string(value).map(|text| RequestId::from(text.as_ref())),
        _ => RequestId::from_number(value),
    }
}

/// What servers get wrong inside an error is forgiven: the caller must hear of it in any case.
fn error_object(frame: &Bytes, value: &str) -> Option<ErrorObject> {
    let error = RawJson::scanned(frame, value);
    if !error.is_object() {
        return None;
    }
    let code = error.get("code").and_then(|code| code.decode().ok());
    let message = error.get("message").and_then(|message| message.decode().ok());
    Some(ErrorObject {
        code: code.unwrap_or(ErrorObject::INTERNAL_ERROR),
        message: message.unwrap_or_else(|| "the server gave no reason".into()),
        data: error.get("data"),
    })
}

/// The id of a response that was too large to keep, from its first and last bytes.
///
/// The members of an envelope come in either order: `id` before a large `result`, where it stands in
/// the head, or behind it, where the tail ends in `"id":7}`.
pub fn salvage_id(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    id_in_head(head).or_else(|| id_in_tail(tail))
}

fn id_in_head(head: &[u8]) -> Option<RequestId> {
    // The cut may fall inside a character.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut scanner = Scanner::new(text);
    scanner.expect(b'{', "an object").ok()?;
    loop {
        let key = scanner.key().ok()?;
        match &*key {
            // A request or a notification: nobody is waiting for it.
            "method" => return None,
            "id" => {
                let id = request_id(scanner.skip_value().ok()?);
                // A number at the very end of the head may go on behind it.
                return id.filter(|_| scanner.peek().is_some());
            }
            _ => scanner.skip_value().ok()?,
        };
        scanner.expect(b',', "a comma").ok()?;
    }
}

fn id_in_tail(tail: &[u8]) -> Option<RequestId> {
    let tail = tail.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    let digits = tail.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (before, number) = tail.split_at(tail.len() - digits);
    let before = before.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    // Preceded by a comma or brace, this quote opens a name; inside a string it would be escaped.
    let before = before.strip_suffix(br#""id""#)?.trim_ascii_end();
    before.strip_suffix(b",")?;
    RequestId::from_number(std::str::from_utf8(number).ok()?).filter(|_| digits > 0)
}
