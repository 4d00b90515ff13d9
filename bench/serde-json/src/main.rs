//! `serde_json` with structs of the same members: the baseline of our deserializer.
//!
//! Raw members are borrowed as `&RawValue` and become slices of the line, as ours do. Unlike with ours, unknown
//! members are dropped, a lone surrogate fails the message, and an error names no member.

use std::{cell::RefCell, process::ExitCode};

use bench_worker::{Contender, Server};
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Response<'a, T> {
    jsonrpc: &'a str,
    id: i64,
    result: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only decoded")]
struct CallToolResult {
    #[serde(default)]
    content: Vec<Content>,
    structured_content: Option<Raw>,
    #[serde(default)]
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Option<Raw>,
}

/// One struct for all kinds: a tagged enum would be read twice.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only decoded")]
struct Content {
    r#type: Kind,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    resource: Option<Raw>,
    annotations: Option<Raw>,
    #[serde(rename = "_meta")]
    meta: Option<Raw>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Image,
    Audio,
    ResourceLink,
    Resource,
}

#[derive(Deserialize)]
struct Page {
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only decoded")]
struct Tool {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Raw,
    output_schema: Option<Raw>,
    annotations: Option<Annotations>,
    icons: Option<Raw>,
    execution: Option<Raw>,
    #[serde(rename = "_meta")]
    meta: Option<Raw>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only decoded")]
struct Annotations {
    title: Option<String>,
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

thread_local! {
    static LINE: RefCell<Bytes> = const { RefCell::new(Bytes::new()) };
}

/// A value kept as text, as a slice of the line.
#[expect(dead_code, reason = "only decoded")]
struct Raw(Bytes);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(LINE.with_borrow(|line| line.slice_ref(raw.get().as_bytes()))))
    }
}

/// Decodes the response in `line` and passes its result to `look`.
fn answer<T: for<'a> Deserialize<'a>>(line: BytesMut, look: impl FnOnce(T) -> usize) -> usize {
    let line = line.freeze();
    LINE.set(line.clone());
    let text = std::str::from_utf8(&line).expect("the line is text");
    let response: Response<'_, T> = serde_json::from_str(text).expect("the line is an answer");
    assert!(response.jsonrpc == "2.0" && response.id == 1234);
    // From here on, only the slices keep the line in memory.
    LINE.take();
    let Response { result, .. } = response;
    drop(line);
    look(result)
}

struct SerdeJson;

impl Contender for SerdeJson {
    async fn connect(_: Server) -> Self {
        panic!("it only decodes")
    }

    async fn call(&self, _: &'static str) -> usize {
        panic!("it only decodes")
    }

    async fn list(&self) -> usize {
        panic!("it only decodes")
    }

    async fn close(self) {}

    fn decode_call(line: BytesMut) -> usize {
        answer(line, |result: CallToolResult| match &result.content[0] {
            Content { r#type: Kind::Text, text: Some(text), .. } => text.len(),
            _ => panic!("not a text"),
        })
    }

    fn decode_list(line: BytesMut) -> usize {
        answer(line, |page: Page| page.tools.len())
    }
}

fn main() -> ExitCode {
    bench_worker::main::<SerdeJson>()
}
