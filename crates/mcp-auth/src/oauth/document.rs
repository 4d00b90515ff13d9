//! Reads members of JSON objects from servers and the store, with bounded lengths.

use std::time::Duration;

use serde_json::Value;

/// Longer lists are cut. Real servers have far fewer entries.
const MOST: usize = 256;
const LONGEST: usize = 2048;

pub(crate) fn object(body: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(body).ok().filter(Value::is_object)
}

pub(crate) fn text(document: &Value, name: &str) -> Option<String> {
    let text = document.get(name)?.as_str()?;
    (!text.is_empty() && text.len() <= LONGEST).then(|| text.to_owned())
}

pub(crate) fn list(document: &Value, name: &str) -> Option<Vec<String>> {
    let items = document.get(name)?.as_array()?.iter().filter_map(Value::as_str);
    Some(items.filter(|item| item.len() <= LONGEST).take(MOST).map(str::to_owned).collect())
}

/// Reads `3600`, `3600.0` and `"3600"`, because servers send all of them.
pub(crate) fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    Duration::try_from_secs_f64(seconds).ok()
}
