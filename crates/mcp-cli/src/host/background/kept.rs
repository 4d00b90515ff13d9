//! Messages as the host keeps them for `mcp logs`: short, and without secrets.

use mcp_jsonrpc::{ErrorObject, Message, Notification, RawJson, Request, Response};
use mcp_safe::secrets::Redactor;

use crate::host::redact;

/// The number of characters that are kept of a message.
const LONGEST: usize = 4_000;
/// The contents of a message with more bytes are not remembered: secrets in it are found only in complete JSON, and
/// the time for that would be taken from all clients.
const MOST_REDACTED: usize = 256 << 10;
/// Returns the beginning of a message, redacted.
pub(super) fn text(message: &Message, redactor: &Redactor) -> String {
    let mut line = Vec::new();
    message.write(&mut line);
    let text = redact::message(&String::from_utf8_lossy(&line), redactor);
    text.chars().take(LONGEST).collect()
}

/// Copies a message without contents that are too long to be redacted.
pub(super) fn bounded(message: &Message) -> Message {
    let note = |length: usize| format!("{length} bytes, too many to be kept");
    let raw = |raw: &RawJson| match raw.as_bytes().len() {
        length if length > MOST_REDACTED => {
            RawJson::encode(&note(length)).unwrap_or_else(|_| RawJson::empty_object())
        }
        _ => raw.clone(),
    };
    match message {
        Message::Request(Request { id, method, params }) => Message::Request(Request {
            id: id.clone(),
            method: method.clone(),
            params: params.as_ref().map(raw),
        }),
        Message::Notification(Notification { method, params }) => {
            Message::Notification(Notification {
                method: method.clone(),
                params: params.as_ref().map(raw),
            })
        }
        Message::Response(Response { id, outcome }) => {
            let failed = |error: &ErrorObject| {
                let message = match error.message.len() {
                    length if length > MOST_REDACTED => note(length),
                    _ => error.message.clone(),
                };
                ErrorObject { code: error.code, message, data: error.data.as_ref().map(raw) }
            };
            let outcome = outcome.as_ref().map(raw).map_err(failed);
            Message::Response(Response { id: id.clone(), outcome })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_too_long_to_be_redacted_are_not_copied() {
        let long = RawJson::encode(&"x".repeat(MOST_REDACTED)).unwrap();
        let short = RawJson::encode(&"y").unwrap();
        let response = |outcome| Message::Response(Response { id: None, outcome });
        for (message, is_kept) in [
            (Message::Request(Request::new(1, "tools/call", Some(long.clone()))), false),
            (Message::Request(Request::new(1, "tools/call", Some(short.clone()))), true),
            (response(Ok(long.clone())), false),
            (response(Err(ErrorObject::new(1, "x".repeat(MOST_REDACTED + 1)))), false),
            (response(Ok(short)), true),
        ] {
            let copy = bounded(&message);
            assert_eq!(copy == message, is_kept, "{copy:?}");
            let mut line = Vec::new();
            copy.write(&mut line);
            assert!(line.len() < 200, "{} bytes", line.len());
        }
    }
}
