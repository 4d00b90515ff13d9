//! The name of the server of a resource, in `_meta` of lists, and of requests if two servers have the same URI.

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_server::Call;

/// The key of `_meta` with the name of a server behind the gateway.
const SERVER: &str = "mcp-gateway/server";

/// Adds the name of the server to `meta`, replacing an existing value of that key.
pub(crate) fn with_server(meta: Option<&RawJson>, server: &str) -> RawJson {
    let mut named = ObjectWriter::new();
    named.string(SERVER, server);
    for (key, value) in meta.iter().flat_map(|meta| meta.members()) {
        if key != SERVER {
            named.raw(&key, &value);
        }
    }
    named.finish()
}

/// The server that a request is for, if it names one.
pub(crate) fn named_server(call: &Call) -> Option<String> {
    call.meta(SERVER)?.decode().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_cannot_name_another_server() {
        let own = RawJson::parse(r#"{"a":1,"mcp-gateway/server":"bank"}"#).unwrap();
        let named = with_server(Some(&own), "shop");
        assert_eq!(named.as_str(), r#"{"mcp-gateway/server":"shop","a":1}"#);
        assert_eq!(with_server(None, "shop").as_str(), r#"{"mcp-gateway/server":"shop"}"#);
    }
}
