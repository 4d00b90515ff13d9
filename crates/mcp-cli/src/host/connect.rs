//! Builds bridge options and connectors from the configuration.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use mcp_bridge::{
    BridgeOptions, Logins,
    connect::{DefaultConnector, SandboxOptions, Sandboxes},
    trust::{Rules, ToolApprovals, TrustPolicy},
};
use mcp_client::Implementation;
use mcp_config::{Environment, Resolution};
use mcp_safe::fs::{create_folder, private_folder};

use super::{config::Config, places::Places, secrets::StoredSecrets};
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
        match ToolApprovals::load(state.join("tools.json")) {
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

/// Returns the sandboxes of local servers.
pub(super) fn sandboxes(
    environment: &Environment,
    project: &Path,
    places: &Places,
    resolution: &Resolution,
) -> Sandboxes {
    let (home, state) = sandbox_folders(environment, places);
    let mut options = SandboxOptions::new(home, state);
    options.project = Some(project.to_path_buf());
    // Also where variables have moved them.
    let own = [&places.config, &places.state, &places.cache];
    options.secrets = own.into_iter().flatten().cloned().collect();
    options.minimum = resolution.host.sandbox_minimum.unwrap_or_default();
    Sandboxes::new(options)
}

/// Returns the home that sandboxes cover, and the folder for the private homes of servers. A service may have neither:
/// then both are temporary. Without those, servers that need a sandbox do not start.
fn sandbox_folders(environment: &Environment, places: &Places) -> (PathBuf, PathBuf) {
    const NOT_HOMES: &[&str] = &["/dev", "/proc", "/sys"];
    let is_home = |home: &PathBuf| {
        let real = home.canonicalize().ok().filter(|real| real.is_dir() && real.parent().is_some());
        real.is_some_and(|real| !NOT_HOMES.iter().any(|folder| real.starts_with(folder)))
    };
    let home = environment.home.clone().filter(is_home);
    let state = places.state.as_ref().map(|state| state.join("sandbox"));
    if let (Some(home), Some(state)) = (home, state)
        && private_folder(&state).is_ok()
    {
        return (home, state);
    }
    temporary().map_or_else(Default::default, |folder| (folder.join("home"), folder.join("state")))
}

/// A folder of this user alone, below that for temporary files. Another user may have put something in its place.
#[cfg(unix)]
fn temporary() -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let user = nix::unistd::geteuid().as_raw();
    let folder = std::env::temp_dir().join(format!("mcp-sandbox-{user}"));
    let is_own = || {
        let found = folder.symlink_metadata();
        found.map_or(true, |found| found.is_dir() && found.uid() == user)
    };
    (is_own() && private_folder(&folder).is_ok() && is_own()).then_some(folder)
}

#[cfg(not(unix))]
fn temporary() -> Option<PathBuf> {
    None
}
