//! JSON of options, for logs and status pages.
//!
//! Durations are in milliseconds. Members that hold code are left out, and the bearer token is a boolean. Written by
//! hand, because this crate has no derive macros.

use std::time::Duration;

use mcp_types::lists::CacheScope;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::options::ServeOptions;

/// Implements `Serialize` by a table of members.
macro_rules! as_json {
    ($type:ident { $($member:literal => |$options:ident| $value:expr;)* }) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $({
                    let $options = self;
                    map.serialize_entry($member, &$value)?;
                })*
                map.end()
            }
        }
    };
}

as_json! { ServeOptions {
    "serverInfo" => |o| o.server_info;
    "instructions" => |o| o.instructions;
    "hasResources" => |o| o.resources.is_some();
    "hasPrompts" => |o| o.prompts.is_some();
    "hasCompletions" => |o| o.completions.is_some();
    "logging" => |o| o.logging;
    "pageSize" => |o| o.page_size;
    "listTtlMs" => |o| millis(o.list_ttl);
    "readTtlMs" => |o| millis(o.read_ttl);
    "cacheScope" => |o| if o.cache_scope == CacheScope::Public { "public" } else { "private" };
    "maxCalls" => |o| o.max_calls;
    "maxWaiting" => |o| o.max_waiting;
    "answerTimeoutMs" => |o| millis(o.answer_timeout);
    "maxSubscriptions" => |o| o.max_subscriptions;
    "maxListens" => |o| o.max_listens;
    "maxMessage" => |o| o.max_message;
    "maxReports" => |o| o.max_reports;
}}

#[cfg(feature = "http")]
use crate::http::HttpServeOptions;

#[cfg(feature = "http")]
as_json! { HttpServeOptions {
    "path" => |o| o.path;
    "allowedHosts" => |o| o.allowed_hosts;
    "allowedOrigins" => |o| o.allowed_origins;
    "hasBearer" => |o| o.bearer.is_some();
    "wrongTokenDelayMs" => |o| millis(o.wrong_token_delay);
    "maxSessions" => |o| o.max_sessions;
    "sessionIdleMs" => |o| millis(o.session_idle);
    "maxConnections" => |o| o.max_connections;
    "maxConnectionsPerPeer" => |o| o.max_connections_per_peer;
    "maxHead" => |o| o.max_head;
    "headTimeoutMs" => |o| millis(o.head_timeout);
    "readTimeoutMs" => |o| millis(o.read_timeout);
    "patienceMs" => |o| millis(o.patience);
    "keepAliveMs" => |o| millis(o.keep_alive);
    "retryMs" => |o| millis(o.retry);
    "maxEvents" => |o| o.max_events;
}}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::RawJson;

    use super::*;

    /// Other programs read these shapes, so changing one is a breaking change.
    #[test]
    fn json_shape_of_options_is_stable() {
        let options = ServeOptions::new("s", "1").with_list_ttl(Duration::from_secs(2));
        let expected = concat!(
            r#"{"serverInfo":{"name":"s","version":"1"},"instructions":null,"hasResources":false,"#,
            r#""hasPrompts":false,"hasCompletions":false,"logging":true,"pageSize":200,"listTtlMs":2000,"#,
            r#""readTtlMs":0,"cacheScope":"private","maxCalls":64,"maxWaiting":256,"#,
            r#""answerTimeoutMs":600000,"maxSubscriptions":1024,"maxListens":256,"#,
            r#""maxMessage":4194304,"maxReports":1024}"#,
        );
        assert_eq!(RawJson::encode(&options).unwrap().as_str(), expected);
    }

    #[cfg(feature = "http")]
    #[test]
    fn bearer_token_is_not_part_of_the_json() {
        let token = "a-token-that-nobody-may-see-12345678";
        let options = HttpServeOptions::default()
            .with_bearer(token.parse::<crate::http::AccessToken>().unwrap());
        let written = RawJson::encode(&options).unwrap();
        assert!(!written.as_str().contains(token), "{}", written.as_str());
        assert_eq!(written.get("hasBearer").unwrap().as_str(), "true");
        assert_eq!(written.get("sessionIdleMs").unwrap().as_str(), "1800000");
        assert_eq!(
            written.get("allowedHosts").unwrap().as_str(),
            r#"["localhost","127.0.0.1","[::1]"]"#
        );
    }
}
