//! Fuzz targets for events, headers and URLs.
#![expect(clippy::missing_panics_doc, reason = "fuzz targets report by panicking")]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::HeaderValue;
use mcp_jsonrpc::RawJson;
use url::Url;

use super::{
    event_stream::{Event, EventDecoder},
    header_params::header_params,
    header_value::header_value,
};
use crate::net::origin::{resolve, same_origin, shown, take_user};

/// An event stream: chunk boundaries do not change the events, and no event is over the limit.
pub fn events(data: &[u8]) {
    let Some((&[limit, cut], stream)) = data.split_first_chunk() else { return };
    let limit = usize::from(limit);
    let (whole, ends) = read_events([stream], limit);
    for event in &whole {
        match event {
            Event::Block { data, .. } => {
                assert!(data.as_ref().is_none_or(|data| data.len() <= limit));
            }
            Event::TooLarge { size, head, tail } => {
                assert!(*size > limit && head.len() <= *size && tail.len() <= *size);
            }
        }
    }
    let pieces = stream.chunks(usize::from(cut).max(1));
    assert_eq!(read_events(pieces, limit), (whole, ends));
}

fn read_events<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<Event>, String) {
    let mut decoder = EventDecoder::new(limit);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(Bytes::copy_from_slice(piece), &mut events);
    }
    (events, format!("after {:?}, again in {:?}", decoder.last_id(), decoder.retry()))
}

/// Header text, and a schema with arguments in headers: the decoded header equals the argument.
pub fn headers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert_eq!(decoded(&header_value(text)), text);
    let mut halves = text.splitn(2, '\n');
    let mut half = || RawJson::parse(halves.next()?.to_owned()).ok();
    let (Some(schema), Some(arguments)) = (half(), half()) else { return };
    let Ok(annotations) = header_params(&schema) else { return };
    // `serde_json` rejects numbers beyond the range of its types.
    let Ok(meant) = serde_json::from_str(arguments.as_str()) else { return };
    let mut names = Vec::new();
    for annotation in &annotations {
        let Ok(Some((name, value))) = annotation.header(&arguments) else { continue };
        assert!(name.as_str().starts_with("mcp-param-") && !names.contains(&name));
        names.push(name);
        let value = decoded(&value);
        assert!(holds(&meant, &value), "{value:?} is not an argument");
    }
}

fn decoded(value: &HeaderValue) -> String {
    let text = value.to_str().expect("printable ASCII");
    assert_eq!(text.trim(), text, "surrounding text is lost");
    let encoded = text.strip_prefix("=?base64?").and_then(|text| text.strip_suffix("?="));
    let Some(encoded) = encoded else { return text.to_owned() };
    let decoded = STANDARD.decode(encoded).expect("Base64");
    String::from_utf8(decoded).expect("text")
}

/// Whether the value contains a scalar with this text.
fn holds(value: &serde_json::Value, text: &str) -> bool {
    use serde_json::Value;
    match value {
        Value::Object(members) => members.values().any(|member| holds(member, text)),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::String(string) => string == text,
        // Numbers may be formatted differently: minus zero equals zero.
        Value::Number(number) if number.to_string() != text => {
            number.as_f64().is_some_and(|number| text.parse() == Ok(number))
        }
        other => {
            let written = other.to_string();
            written == text
        }
    }
}

/// Two URLs: redirects to another origin are not followed, and secret parts are never displayed.
pub fn urls(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    crate::ws::fuzz::address(text);
    let (from, to) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(mut from) = Url::parse(from) else { return };
    if !matches!(from.scheme(), "http" | "https") {
        return;
    }
    if let Ok(target) = resolve(&from, to) {
        assert!(same_origin(&from, &target));
    }
    let seen = shown(&from);
    if let Ok(seen) = Url::parse(&seen) {
        assert!(seen.query().is_none() && seen.fragment().is_none());
        assert!(seen.username().is_empty() && seen.password().is_none());
    }
    let before = from.clone();
    if take_user(&mut from).is_some() {
        assert!(from.username().is_empty() && from.password().is_none());
        assert!(same_origin(&from, &before) && from.path() == before.path());
    }
}
