//! The result of a resolution: every entry with its verdict.

use std::{path::Path, sync::Arc};

use super::{
    custom::{CustomCandidate, CustomVerdict},
    disclosure::Disclosure,
    signature::Signature,
};
use crate::{
    diagnostic::{Diagnostic, Place},
    dialect::{CustomTool, Entry, Input},
    expand::Environment,
    model::{HostSettings, Precedence, Scope},
    policy::{Exclusivity, Policy, Refusal},
};

/// The verdict on one entry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It is used.
    Active,
    /// It is disabled, in its entry or by the list at this place.
    Disabled(Option<Place>),
    /// It came with the project and needs approval; `changed` if an earlier decision was about different
    /// content.
    Unapproved {
        /// Whether it has changed since an earlier decision.
        changed: bool,
    },
    /// It came with the project and the user rejected it.
    Rejected,
    /// Another entry with the same name takes precedence.
    Shadowed(Rival),
    /// Another entry for the same server with a different name takes precedence.
    Duplicate(Rival, Signature),
    /// Policy refuses it.
    Refused(Refusal),
    /// An enterprise document excludes its whole scope.
    Withheld(Exclusivity),
}

/// The entry that takes precedence over another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rival {
    /// The entry.
    pub entry: Arc<Entry>,
    /// Its scope.
    pub scope: Scope,
}

/// An entry with its verdict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The entry.
    pub entry: Arc<Entry>,
    /// Its scope.
    pub scope: Scope,
    /// Its verdict.
    pub verdict: Verdict,
}

impl Candidate {
    /// Whether the user trusts it. Trust settings of a repository or a provider are ignored.
    pub fn is_trusted(&self) -> bool {
        self.entry.config.trust && !matches!(self.scope, Scope::Project | Scope::Cloud)
    }

    /// The disclosure to show before approving this candidate, even if another entry has its name.
    pub fn disclosure(&self, env: &Environment, project: &Path) -> Disclosure {
        Disclosure::of(&self.entry.config, env, project)
    }

    pub(super) fn rival(&self) -> Rival {
        Rival { entry: Arc::clone(&self.entry), scope: self.scope }
    }

    pub(super) fn name(&self) -> &str {
        self.entry.config.name.as_str()
    }
}

/// The result: every entry with its verdict, highest precedence first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resolution {
    /// Every entry of every document.
    pub candidates: Vec<Candidate>,
    /// Every custom tool of every document.
    pub custom_tools: Vec<CustomCandidate>,
    /// The policy that was applied; check it again after expansion.
    pub policy: Policy,
    /// Settings for the host. A repository's settings apply only where they are stricter than the user's.
    pub host: HostSettings,
    /// Inputs that the servers may use.
    pub inputs: Vec<Input>,
    /// All diagnostics of the documents, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// The order that was applied.
    pub precedence: Precedence,
}

impl Resolution {
    /// The servers to use, highest precedence first, each name once.
    pub fn servers(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.verdict == Verdict::Active)
    }

    /// The active server called `name`.
    pub fn get(&self, name: &str) -> Option<&Candidate> {
        self.servers().find(|candidate| candidate.name() == name)
    }

    /// Project servers that the user has not decided about.
    pub fn unapproved(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates
            .iter()
            .filter(|candidate| matches!(candidate.verdict, Verdict::Unapproved { .. }))
    }

    /// The custom tools to use, each name once.
    pub fn active_tools(&self) -> impl Iterator<Item = &CustomTool> {
        let active = self.custom_tools.iter().filter(|tool| tool.verdict == CustomVerdict::Active);
        active.map(|tool| &tool.entry.tool)
    }

    /// Custom tools of the project that the user has not decided about.
    pub fn unapproved_tools(&self) -> impl Iterator<Item = &CustomCandidate> {
        let waits =
            |tool: &&CustomCandidate| matches!(tool.verdict, CustomVerdict::Unapproved { .. });
        self.custom_tools.iter().filter(waits)
    }
}
