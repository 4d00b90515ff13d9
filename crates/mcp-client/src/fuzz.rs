//! Targets for the fuzzer in the `fuzz` folder of the workspace. Not part of the API.
//!
//! Each takes arbitrary bytes and panics if an invariant is violated.

use std::fmt::Debug;

use mcp_jsonrpc::{RawJson, wire::Reply};

pub use crate::client::skills::fuzz::front_matter;
use mcp_types::{
    Prompt, Resource, Tool,
    lists::{Page, Rejectable},
};

/// Whether a user may be sent to `url`. The fuzz target compares this with how a browser parses it.
pub fn is_page(url: &str) -> bool {
    crate::host::page_url::check(Some(url)).is_ok()
}

/// Any page of a list: each entry is either an item or rejected, and none is lost.
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
    let Some(entries) = entries else {
        assert!(page.problem.is_some() && page.items.is_empty() && page.rejected.is_empty());
        return;
    };
    assert!(page.problem.is_none(), "{:?}", page.problem);
    assert_eq!(page.items.len() + page.rejected.len(), entries.len());
    let readable = entries.iter().filter(|entry| entry.decode::<T>().is_ok()).count();
    assert_eq!(page.items.len(), readable, "{:?}", page.rejected);
    let cursor = raw.get("nextCursor").and_then(|cursor| cursor.decode::<String>().ok());
    assert_eq!(page.next_cursor, cursor);
}
