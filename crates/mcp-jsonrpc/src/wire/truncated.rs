//! Finds the request id of a response that was too large to keep.

use super::decode::without_mark;
use crate::{id::RequestId, json::Scanner};

/// The id of a response that was too large to keep, from its first and last bytes.
///
/// The members of an envelope come in either order: `id` before a large `result`, where it stands in
/// the head, or behind it, where the tail ends in `"id":7}`. Nothing is found where the head does not
/// show that this is a response: a request of the peer may have the number of a call.
///
/// ```
/// use mcp_jsonrpc::wire::response_id_of_truncated;
///
/// let (head, tail) = (br#"{"jsonrpc":"2.0","result":{"te"#, br#"xt":"..."},"id":7}"#);
/// assert_eq!(response_id_of_truncated(head, tail), Some(7.into()));
/// ```
pub fn response_id_of_truncated(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    // The cut may fall inside a character.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut scanner = Scanner::new(without_mark(text));
    scanner.expect(b'{', "an object").ok()?;
    let (mut id, mut is_response) = (None, false);
    while let Ok(name) = scanner.key() {
        is_response |= matches!(&*name, "result" | "error");
        if is_response && id.is_some() {
            return id;
        }
        let Ok(value) = scanner.skip_value() else { break };
        // A number at the very end of the head may go on behind it.
        if name == "id" && scanner.peek().is_some() {
            id = RequestId::read(value);
        }
        if !scanner.eat(b',') {
            break;
        }
    }
    if is_response { id.or_else(|| id_in_tail(tail)) } else { None }
}

/// The id in `…,"id":7}`, with or without the version behind it. Only integers, as this crate sends no others.
fn id_in_tail(tail: &[u8]) -> Option<RequestId> {
    let mut tail = tail.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    if let Some(before) = member(tail, br#""2.0""#).and_then(|tail| name(tail, br#""jsonrpc""#)) {
        tail = before;
    }
    let digits = tail.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let number = &tail[tail.len() - digits..];
    // Behind a comma this quote opens a name; inside a string it would be escaped.
    name(member(tail, number)?, br#""id""#)?;
    RequestId::from_number(std::str::from_utf8(number).ok()?).filter(|_| digits > 0)
}

/// What stands before `: value` at the end of `text`.
fn member<'a>(text: &'a [u8], value: &[u8]) -> Option<&'a [u8]> {
    let before = text.strip_suffix(value)?.trim_ascii_end();
    Some(before.strip_suffix(b":")?.trim_ascii_end())
}

/// What stands before `, "name"` at the end of `text`.
fn name<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let before = text.strip_suffix(name)?.trim_ascii_end();
    Some(before.strip_suffix(b",")?.trim_ascii_end())
}
