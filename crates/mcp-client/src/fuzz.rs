//! Targets for the fuzzer, which is in the `fuzz` folder of the workspace. Not part of the API.
//!
//! Each takes any bytes and panics if something does not hold that should.

use std::fmt::Debug;

use mcp_jsonrpc::{RawJson, Reply};

pub use crate::skills::fuzz::front_matter;
use crate::types::{Page, Prompt, Rejectable, Resource, Tool};

/// Whether a user may be sent there. What a browser makes of it is for the target to compare.
pub fn is_page(url: &str) -> bool {
    crate::page::check(Some(url)).is_ok()
}

/// Any page of a list: every entry is an item or rejected, and none is lost.
pub fn listing(data: &[u8]) {
    let Ok(raw) = RawJson::parse(data.to_vec()) else { return };
    page::<Tool>(&raw);
    page::<Resource>(&raw);
    page::<Prompt>(&raw);
}

fn page<T: Rejectable + Debug>(raw: &RawJson) {
    let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, raw.as_str());
    let reply = Reply::recognize(&frame.into()).expect("an answer");
    let Ok(page) = Page::<T>::read(reply) else { return };
    let entries = raw.get(T::MEMBER).and_then(|entries| entries.decode::<Vec<RawJson>>().ok());
    let entries = entries.expect("a list, or there would be no page");
    assert_eq!(page.items.len() + page.rejected.len(), entries.len());
    let readable = entries.iter().filter(|entry| entry.decode::<T>().is_ok()).count();
    assert_eq!(page.items.len(), readable, "{:?}", page.rejected);
    let cursor = raw.get("nextCursor").and_then(|cursor| cursor.decode::<String>().ok());
    assert_eq!(page.next_cursor, cursor);
}
