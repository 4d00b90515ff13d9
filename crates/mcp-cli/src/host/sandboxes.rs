//! Where local servers get their private homes, and what no sandbox shows.

use std::path::{Path, PathBuf};

use mcp_bridge::connect::{SandboxOptions, Sandboxes};
use mcp_config::{Environment, Resolution};
use mcp_safe::fs::private_folder;

use super::places::Places;

/// Returns the sandboxes of local servers.
pub(super) fn of(
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
