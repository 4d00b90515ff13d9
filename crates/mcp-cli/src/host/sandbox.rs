//! The sandbox of a server as commands show it: its profile, and how the last start went.

use mcp_bridge::{ServerConfig, connect::SandboxStatus};
use mcp_sandbox::Profile;
use serde_json::{Value, json};

use super::config::Config;

/// The sandbox of one local server.
pub(crate) struct Shown {
    profile: Profile,
    /// `None` if this process has not started the server in a sandbox.
    start: Option<SandboxStatus>,
}

impl Shown {
    /// `None` for servers that are not local programs.
    pub(crate) fn new(config: &Config, server: &ServerConfig) -> Option<Self> {
        let profile = config.sandboxes.profile(server)?;
        Some(Self { profile, start: config.sandboxes.last_start(server.name.as_str()) })
    }

    /// The profile in a word, and whether it was not applied.
    pub(crate) fn word(&self) -> String {
        if self.start.as_ref().is_some_and(|start| !start.is_sandboxed) {
            return format!("{}, not applied", self.profile);
        }
        self.profile.to_string()
    }

    /// What the server has although its profile forbids it.
    pub(crate) fn lacks(&self) -> Vec<String> {
        self.start.as_ref().map(SandboxStatus::lacks).unwrap_or_default()
    }

    /// What the server was not given.
    fn notes(&self) -> Vec<String> {
        let Some(start) = self.start.as_ref().filter(|start| start.is_sandboxed) else {
            return Vec::new();
        };
        let remarks = start.report.iter().flat_map(|report| &report.remarks);
        start.notes.iter().chain(remarks).cloned().collect()
    }

    /// The restrictions in force. `None` if they are not known.
    fn applied(&self) -> Option<Vec<String>> {
        let report = self.start.as_ref()?.report.as_ref()?;
        Some(report.applied.iter().map(ToString::to_string).collect())
    }

    /// Lines for a terminal: the profile comes first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let applied = self.applied().map(|applied| format!("restricted: {}", applied.join(", ")));
        let missing = self.lacks().into_iter().map(|lack| format!("missing: {lack}"));
        let notes = self.notes().into_iter().map(|note| format!("note: {note}"));
        [self.word()].into_iter().chain(applied).chain(missing).chain(notes).collect()
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "profile": self.profile.to_json(),
            "applied": self.applied(),
            "missing": self.lacks(),
            "notes": self.notes(),
        })
    }
}
