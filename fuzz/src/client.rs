//! What servers answer, as types.

use std::fmt::Debug;

use mcp_client::{
    CallToolResult, Completion, Content, CreateMessageRequest, ElicitRequest, GetPromptResult,
    LogMessage, Prompt, Resource, ResourceContents, ResourceTemplate, ServerCapabilities, Task,
    Tool,
};
use mcp_jsonrpc::RawJson;
use serde::{Serialize, de::DeserializeOwned};

/// Any JSON as anything a server may say: what was read is written and read again, the same.
pub(crate) fn content(data: &[u8]) {
    let Ok(raw) = RawJson::parse(data.to_vec()) else { return };
    again::<CallToolResult>(&raw);
    again::<Content>(&raw);
    again::<Tool>(&raw);
    again::<Resource>(&raw);
    again::<ResourceTemplate>(&raw);
    again::<ResourceContents>(&raw);
    again::<Prompt>(&raw);
    again::<GetPromptResult>(&raw);
    again::<Completion>(&raw);
    again::<ServerCapabilities>(&raw);
    again::<LogMessage>(&raw);
    again::<CreateMessageRequest>(&raw);
    again::<ElicitRequest>(&raw);
    again::<Task>(&raw);
    if let Ok(result) = raw.decode::<CallToolResult>() {
        let texts = result.content.iter().filter_map(Content::as_text).count();
        assert!(texts == 0 || result.text().split('\n').count() >= texts);
    }
}

fn again<T: Serialize + DeserializeOwned + PartialEq + Debug>(raw: &RawJson) {
    let Ok(read) = raw.decode::<T>() else { return };
    let written = RawJson::encode(&read).expect("what was read can be written");
    let again = written.decode::<T>();
    assert_eq!(again.as_ref(), Ok(&read), "{}", written.as_str());
}
