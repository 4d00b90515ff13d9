//! Records of connections, for an audit log.

use std::time::SystemTime;

use mcp_audit::{Kind, Record};

use super::Server;

impl Server {
    /// Records the start or the end of a connection.
    pub(super) fn record(&self, kind: Kind) {
        let Some(hub) = self.hub.upgrade() else { return };
        let fingerprint = &*self.binding.key;
        hub.bus.audit(|| {
            Record::new(kind, SystemTime::now()).with_server(&self.name, Some(fingerprint))
        });
    }
}
