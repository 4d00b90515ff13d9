//! Builds bridge options and connectors from the configuration.

use std::sync::Arc;

use mcp_bridge::{
    BridgeOptions, Logins,
    connect::DefaultConnector,
    trust::{Rules, TrustPolicy},
};
use mcp_client::Implementation;
use mcp_safe::fs::create_folder;

use super::{config::Config, secrets::StoredSecrets};
use crate::{
    exit::chain,
    terminal::{approver::Terminal, out::Out},
};

/// Returns the bridge options of this command, without the connector.
pub(super) fn options(config: &Config, terminal: &Arc<Terminal>, out: Out) -> BridgeOptions {
    let mut options = BridgeOptions::default();
    options.client.client_info = Implementation::new("mcp", env!("CARGO_PKG_VERSION"));
    options.lazy_start = true;
    options.apply(&config.resolution.host);
    options.policy = Arc::new(TrustPolicy::new(Rules::of_files(&config.resolution.host)));
    // Tool search saves tokens of models; users see all tools.
    options.tool_search = false;
    options.handler = terminal.handler();
    options.approver = terminal.approver();
    options.project = Some(config.project.clone());
    options.from_project = Some(Arc::new(config.is_of_project()));
    let places = &config.places;
    options.catalogue = places.cache.as_ref().map(|cache| cache.join("catalogue"));
    if let Some(state) = &places.state {
        // If this fails, nothing is remembered; `mcp doctor` reports it.
        let _ = create_folder(state);
    }
    if let Some(approvals) = config.tool_approvals() {
        match approvals {
            Ok(approvals) => options.approvals = Arc::new(approvals),
            Err(error) => {
                out.remark(format!("{}; stored approvals are ignored", chain(&error)));
            }
        }
    }
    options
}

/// Returns a connector for every transport, with the user's logins and secrets.
pub(super) fn connector(
    config: &Config,
    logins: &Logins,
    secrets: &Arc<StoredSecrets>,
) -> DefaultConnector {
    DefaultConnector::new()
        .in_workspace(&config.project)
        .inputs(secrets.clone())
        .admitting(config.admissions.clone())
        .identify(Arc::new(logins.clone()))
        .sandboxes(config.sandboxes.clone())
}
