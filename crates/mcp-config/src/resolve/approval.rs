//! Approvals of a repository's servers and custom tools, bound to their exact content.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value as Json, json};

use super::{disclosure::Disclosure, fingerprint::Fingerprint};
use crate::dialect::CustomTool;

/// The user's decisions about project servers. [`ApprovalStore`](crate::approval::ApprovalStore) stores them on disk.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Approvals {
    /// Keyed by project, then by server.
    decisions: BTreeMap<String, BTreeMap<String, Decision>>,
}

/// A decision and the fingerprint it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decision {
    fingerprint: Fingerprint,
    approved: bool,
}

/// The approval state of a project's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// Approved with its current content.
    Approved,
    /// Rejected with its current content.
    Rejected,
    /// Not decided yet.
    Unknown,
    /// Decided before, but the entry has changed.
    Changed,
}

impl Approvals {
    /// Creates an empty set of decisions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Approves a server of `project` with the content shown.
    pub fn approve(&mut self, project: &Path, shown: &Disclosure) {
        self.decide(project, shown, true);
    }

    /// Rejects a server of `project` with the content shown, even if it was approved before.
    pub fn reject(&mut self, project: &Path, shown: &Disclosure) {
        self.decide(project, shown, false);
    }

    /// Approves or rejects a custom tool of `project` with its current content.
    pub fn decide_tool(&mut self, project: &Path, tool: &CustomTool, approved: bool) {
        let fingerprint = Fingerprint::of_tool(tool);
        self.keep(project, tool_key(&tool.name), Decision { fingerprint, approved });
    }

    pub(super) fn decide(&mut self, project: &Path, shown: &Disclosure, approved: bool) {
        let fingerprint = shown.fingerprint();
        self.keep(project, shown.name.as_str().to_owned(), Decision { fingerprint, approved });
    }

    fn keep(&mut self, project: &Path, name: String, decision: Decision) {
        self.decisions.entry(key(project)).or_default().insert(name, decision);
    }

    /// Resets the server `name` of `project` to undecided. Returns whether there was a decision.
    pub fn forget(&mut self, project: &Path, name: &str) -> bool {
        self.decisions.get_mut(&key(project)).is_some_and(|of| of.remove(name).is_some())
    }

    /// Resets the custom tool `name` of `project` to undecided. Returns whether there was a decision.
    pub fn forget_tool(&mut self, project: &Path, name: &str) -> bool {
        self.forget(project, &tool_key(name))
    }

    /// Resets every server and custom tool of `project` to undecided. Returns the number of decisions
    /// removed.
    pub fn forget_project(&mut self, project: &Path) -> usize {
        self.decisions.remove(&key(project)).map_or(0, |of| of.len())
    }

    /// The approval state of a server of `project` with its current content.
    pub fn of(&self, project: &Path, now: &Disclosure) -> Approval {
        self.known(project, now.name.as_str(), || now.fingerprint())
    }

    /// The approval state of a custom tool of `project`.
    pub fn of_tool(&self, project: &Path, tool: &CustomTool) -> Approval {
        self.known(project, &tool_key(&tool.name), || Fingerprint::of_tool(tool))
    }

    fn known(&self, project: &Path, name: &str, now: impl Fn() -> Fingerprint) -> Approval {
        match self.decisions.get(&key(project)).and_then(|decided| decided.get(name)) {
            None => Approval::Unknown,
            Some(decision) if decision.fingerprint != now() => Approval::Changed,
            Some(Decision { approved: true, .. }) => Approval::Approved,
            Some(Decision { approved: false, .. }) => Approval::Rejected,
        }
    }

    /// Encodes the decisions for a file.
    pub(crate) fn encode(&self) -> String {
        let projects = self.decisions.iter().map(|(project, servers)| {
            let servers = servers.iter().map(|(name, decision)| {
                let Decision { fingerprint, approved } = decision;
                (
                    name.clone(),
                    json!({ "fingerprint": fingerprint.to_string(), "approved": approved }),
                )
            });
            (project.clone(), Json::Object(servers.collect()))
        });
        let root = json!({ "version": 1, "projects": Json::Object(projects.collect()) });
        format!("{root:#}\n")
    }

    /// Decodes the output of [`Approvals::encode`], or an empty file.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Some(Self::default());
        }
        let root: Json = serde_json::from_slice(bytes).ok()?;
        if root.get("version")? != 1 {
            return None;
        }
        let mut approvals = Self::default();
        for (project, servers) in root.get("projects")?.as_object()? {
            let kept = approvals.decisions.entry(project.clone()).or_default();
            for (name, decision) in servers.as_object()? {
                let fingerprint = Fingerprint::from_hex(decision.get("fingerprint")?.as_str()?)?;
                let approved = decision.get("approved")?.as_bool()?;
                kept.insert(name.clone(), Decision { fingerprint, approved });
            }
        }
        Some(approvals)
    }
}

/// The key of a tool, which is not a valid server name.
fn tool_key(name: &str) -> String {
    format!("tools/{name}")
}

fn key(project: &Path) -> String {
    project.components().as_path().to_string_lossy().into_owned()
}
