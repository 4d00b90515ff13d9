//! What makes two requests the same, and what may differ between them.

use mcp_jsonrpc::{RawJson, Request};
use serde_json::Value;

/// A request without what changes from run to run: its id and its progress token.
#[derive(Debug, PartialEq)]
pub(super) struct Key {
    method: String,
    params: Option<Value>,
}

impl Key {
    /// The key of `request`, and the progress token that is not part of it.
    pub(super) fn of(request: &Request) -> (Self, Option<Value>) {
        let mut params: Option<Value> =
            request.params.as_ref().and_then(|params| params.decode().ok());
        let token = params.as_mut().and_then(take_token);
        (Self { method: request.method.to_string(), params }, token)
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }
}

/// Takes the progress token out of params. What it leaves empty goes too, because a host that wants
/// no progress sends no `_meta` at all.
fn take_token(params: &mut Value) -> Option<Value> {
    let params = params.as_object_mut()?;
    let meta = params.get_mut("_meta")?.as_object_mut()?;
    let token = meta.remove("progressToken");
    if token.is_some() && meta.is_empty() {
        params.remove("_meta");
    }
    token
}

/// `params` with its member `name` replaced as `change` says, if it says anything.
pub(super) fn rewritten(
    params: Option<&RawJson>,
    name: &str,
    change: impl FnOnce(&Value) -> Option<Value>,
) -> Option<RawJson> {
    let mut params: Value = params?.decode().ok()?;
    let member = params.as_object_mut()?.get_mut(name)?;
    *member = change(member)?;
    RawJson::encode(&params).ok()
}
