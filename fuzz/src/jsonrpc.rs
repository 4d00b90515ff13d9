//! Targets for lines, JSON and messages.

use bytes::Bytes;
use mcp_jsonrpc::{
    Message, RawJson,
    wire::{Decoded, Line, LineDecoder, Reply, decode, response_id_of_truncated},
};
use serde::de::IgnoredAny;
use serde_json::Value;

/// The number of bytes kept at each end of a long line.
const ENDS: usize = 512;

/// Any bytes in any pieces are split into the same lines as by a plain split.
pub(crate) fn lines(data: &[u8]) {
    let Some((&[limit, size], wire)) = data.split_first_chunk() else { return };
    let limit = usize::from(limit);
    let mut decoder = LineDecoder::new(limit);
    let mut found = Vec::new();
    for piece in wire.chunks(usize::from(size).max(1)) {
        decoder.buffer().extend_from_slice(piece);
        found.extend(std::iter::from_fn(|| decoder.next_line()));
    }
    found.extend(decoder.finish());
    assert_eq!(found, split(wire, limit));
    assert_eq!(decoder.finish(), None, "nothing is left");
}

fn split(wire: &[u8], limit: usize) -> Vec<Line> {
    let mut lines: Vec<&[u8]> = wire.split(|byte| *byte == b'\n').collect();
    let last = lines.pop().unwrap_or_default();
    let line = |line: &[u8], ended: bool| {
        if line.len() > limit {
            let head = line[..line.len().min(ENDS)].to_vec().into();
            // The tail is only available once the line has ended.
            let tail = if ended { &line[line.len().saturating_sub(ENDS)..] } else { &[] };
            return Some(Line::TooLong { length: line.len(), head, tail: tail.to_vec().into() });
        }
        let line = line.trim_ascii_end();
        (!line.is_empty()).then(|| Line::Whole(line.to_vec().into()))
    };
    lines.into_iter().filter_map(|whole| line(whole, true)).chain(line(last, false)).collect()
}

/// Accepts the same JSON with the same values as `serde_json`.
pub(crate) fn json(data: &[u8]) {
    let ours = RawJson::parse(data.to_vec());
    let theirs = serde_json::from_slice::<IgnoredAny>(data);
    let Ok(raw) = ours else {
        // `IgnoredAny` does not check escapes and has no depth limit.
        assert!(serde_json::from_slice::<Value>(data).is_err(), "refused: {ours:?}");
        return;
    };
    assert!(theirs.is_ok(), "accepted: {theirs:?}");
    assert_eq!(raw.as_bytes(), data.trim_ascii());
    let (ours, theirs) = (raw.decode::<Value>(), serde_json::from_str::<Value>(raw.as_str()));
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs);
            let again = RawJson::encode(&ours).expect("a value can be written");
            assert_eq!(again.decode::<Value>().expect("and read"), ours);
            members(&raw, &ours);
        }
        // A lone surrogate in an escape is accepted by us and an error for serde_json.
        (Ok(_), Err(_)) => assert!(raw.as_str().to_ascii_lowercase().contains("\\ud")),
        (ours, theirs) => assert!(ours.is_err() && theirs.is_err(), "{ours:?} {theirs:?}"),
    }
}

/// Members are found by name, and the last one of a name counts.
fn members(raw: &RawJson, value: &Value) {
    let Some(object) = value.as_object() else {
        assert!(!raw.is_object());
        return;
    };
    for (name, value) in object {
        let member = raw.get(name).expect("a member that was read");
        assert_eq!(member.decode::<Value>().expect("that was read"), *value);
    }
}

/// A message is serialized as it was read, on one line. Early recognition of a response, and recognition from its ends
/// alone, agree with the full parser.
pub(crate) fn envelope(data: &[u8]) {
    let Some((&cut, text)) = data.split_first() else { return };
    let frame = Bytes::copy_from_slice(text);
    let decoded = decode(&frame);
    if let Ok(decoded) = &decoded {
        let json = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        assert!(serde_json::from_slice::<IgnoredAny>(json).is_ok(), "accepted invalid JSON");
        let messages = match decoded {
            Decoded::One(message) => vec![message],
            Decoded::Batch(messages) => messages.iter().flatten().collect(),
        };
        messages.into_iter().for_each(written_and_read);
    }
    let answer = match &decoded {
        Ok(Decoded::One(Message::Response(response))) => Some(response),
        _ => None,
    };
    if let Some(reply) = Reply::recognize(&frame) {
        let id = reply.id().clone();
        if let Ok(result) = reply.into_raw() {
            let answer = answer.expect("an answer that only its end is known of");
            assert_eq!(answer.id.as_ref(), Some(&id));
            assert_eq!(answer.outcome.as_ref(), Ok(&result));
        }
    }
    let Ok(Decoded::One(message)) = &decoded else { return };
    // A message that is both a request and a response, or has two ids, is ambiguous.
    let is_clear = RawJson::parse(text.to_vec()).is_ok_and(|raw| {
        let count = |wanted: &[&str]| {
            raw.members().filter(|(name, _)| wanted.contains(&name.as_ref())).count()
        };
        count(&["id"]) <= 1 && count(&["method", "result", "error"]) <= 1
    });
    if !is_clear {
        return;
    }
    let (head, tail) = text.split_at(usize::from(cut).min(text.len()));
    if let Some(id) = response_id_of_truncated(head, tail) {
        let answer = answer.unwrap_or_else(|| panic!("{message:?} is not a response to {id}"));
        assert_eq!(answer.id, Some(id), "recovered");
    }
}

fn written_and_read(message: &Message) {
    let mut line = Vec::new();
    message.write(&mut line);
    assert!(!line.contains(&b'\n') && !line.contains(&b'\r'), "more than a line");
    let Ok(Decoded::One(again)) = decode(&line.clone().into()) else {
        panic!("{message:?} was written as {:?}", String::from_utf8_lossy(&line));
    };
    let mut twice = Vec::new();
    again.write(&mut twice);
    assert_eq!(String::from_utf8_lossy(&line), String::from_utf8_lossy(&twice));
    let said = |message: &Message| match message {
        Message::Request(request) => (Some(request.id.clone()), Some(request.method.clone())),
        Message::Notification(notification) => (None, Some(notification.method.clone())),
        Message::Response(response) => (response.id.clone(), None),
    };
    assert_eq!(said(&again), said(message));
}
