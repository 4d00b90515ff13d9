//! Replaces ids inside `params` and results.

use mcp_client::types::meta::{META, PROGRESS_TOKEN, SUBSCRIPTION_ID};
use mcp_jsonrpc::{ObjectWriter, RawJson, RequestId};

/// Replaces the progress token of `params` with our id, and returns the original token. Tokens must be unique among
/// active requests: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress>
pub(super) fn with_token(params: Option<RawJson>, id: i64) -> (Option<RawJson>, Option<RawJson>) {
    let meta = params.as_ref().and_then(|params| params.get(META));
    let token = meta.as_ref().and_then(|meta| meta.get(PROGRESS_TOKEN));
    let (Some(all), Some(meta), Some(token)) = (&params, meta, token) else {
        return (params, None);
    };
    let Ok(ours) = RawJson::encode(&id) else { return (params, None) };
    let meta = with_member(&meta, PROGRESS_TOKEN, &ours);
    (Some(with_member(all, META, &meta)), Some(token.detached()))
}

/// Returns the object with one member replaced.
pub(super) fn with_member(object: &RawJson, name: &str, value: &RawJson) -> RawJson {
    let mut all = ObjectWriter::new();
    for (key, old) in object.members() {
        all.raw(&key, if key == name { value } else { &old });
    }
    all.finish()
}

/// The subscription that a notification or result belongs to: the id of its `subscriptions/listen` request.
pub(super) fn subscription(params: &RawJson) -> Option<RequestId> {
    params.get(META)?.get(SUBSCRIPTION_ID)?.decode().ok()
}

/// Returns `params` with another subscription id.
pub(super) fn with_subscription(params: &RawJson, id: &RequestId) -> RawJson {
    match (params.get(META), RawJson::encode(id)) {
        (Some(meta), Ok(id)) => {
            with_member(params, META, &with_member(&meta, SUBSCRIPTION_ID, &id))
        }
        _ => params.clone(),
    }
}
