//! The state that `initialize` negotiated with a legacy client.

use std::{borrow::Cow, collections::HashMap};

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_types::{ClientCapabilities, LogLevel, ProtocolVersion};

use crate::{call::inbox::Change, provide::watches::Watch};

/// The state that `initialize` negotiated.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) version: ProtocolVersion,
    /// Whether the client has sent `notifications/initialized`.
    pub(crate) is_initialized: bool,
    pub(crate) capabilities: ClientCapabilities,
    /// The name and version of the client, as it gave them.
    pub(crate) client_info: Option<RawJson>,
    pub(crate) log_level: LogLevel,
    pub(crate) subscriptions: HashMap<String, Watch>,
}

impl Session {
    /// The notification of a change: always for lists, and for resources that the client has subscribed to.
    pub(crate) fn notification_of(
        &self,
        change: &Change,
    ) -> Option<(Cow<'static, str>, Option<RawJson>)> {
        let params = match change {
            Change::Resource(uri) if !self.subscriptions.contains_key(&**uri) => return None,
            Change::Resource(uri) => {
                let mut params = ObjectWriter::new();
                params.string("uri", uri);
                Some(params.finish())
            }
            _ => None,
        };
        Some((change.method().into(), params))
    }
}
