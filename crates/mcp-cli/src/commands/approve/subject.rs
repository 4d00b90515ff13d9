//! A server or custom tool of the project, with the details shown before a decision.

use std::fmt;

use mcp_config::{
    Scope,
    approval::{Approvals, Disclosure},
    custom::{CustomCandidate, CustomVerdict},
    resolve::{Candidate, Verdict},
};

use crate::host::config::Config;

/// The entry that a decision is about. The decision covers exactly the entry that was shown.
pub(super) enum Subject<'a> {
    Server { candidate: &'a Candidate, shown: Disclosure, rival: Option<&'a Candidate> },
    Tool(&'a CustomCandidate),
}

/// The user's decision about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Approve,
    Reject,
    /// Makes the entry undecided again.
    Reset,
}

impl Decision {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Reset => "reset",
        }
    }

    /// The past participle of the decision, for messages.
    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Reject => "rejected",
            Self::Reset => "reset",
        }
    }
}

impl<'a> Subject<'a> {
    /// Returns every server and custom tool of the project, including those overridden by an entry of another scope.
    pub(super) fn all(config: &'a Config) -> Vec<Self> {
        let resolution = &config.resolution;
        let servers = resolution.candidates.iter().filter(|c| c.scope == Scope::Project);
        let servers = servers.map(|candidate| {
            let shown = candidate.disclosure(&config.environment, &config.project);
            let rival = resolution.get(candidate.entry.config.name.as_str());
            Self::Server { candidate, shown, rival: rival.filter(|r| r.scope != candidate.scope) }
        });
        let tools = resolution.custom_tools.iter().filter(|c| c.scope == Scope::Project);
        servers.chain(tools.map(Self::Tool)).collect()
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Server { candidate, .. } => candidate.entry.config.name.as_str(),
            Self::Tool(candidate) => &candidate.entry.tool.name,
        }
    }

    /// Whether the user has not decided about the entry in its present form.
    pub(super) fn is_undecided(&self) -> bool {
        match self {
            Self::Server { candidate, .. } => {
                matches!(candidate.verdict, Verdict::Unapproved { .. })
            }
            Self::Tool(candidate) => matches!(candidate.verdict, CustomVerdict::Unapproved { .. }),
        }
    }

    /// Stores the decision.
    pub(super) fn decide(&self, approvals: &mut Approvals, config: &Config, decision: Decision) {
        let project = &config.project;
        match (self, decision) {
            (Self::Server { shown, .. }, Decision::Approve) => approvals.approve(project, shown),
            (Self::Server { shown, .. }, Decision::Reject) => approvals.reject(project, shown),
            (Self::Server { .. }, Decision::Reset) => drop(approvals.forget(project, self.name())),
            (Self::Tool(_), Decision::Reset) => drop(approvals.forget_tool(project, self.name())),
            (Self::Tool(candidate), decision) => {
                let is_approved = decision == Decision::Approve;
                approvals.decide_tool(project, &candidate.entry.tool, is_approved);
            }
        }
    }
}

/// Shows the full entry, its file, and its consequences.
impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (candidate, shown, rival) = match self {
            Self::Tool(candidate) => return write!(f, "\n{candidate}"),
            Self::Server { candidate, shown, rival } => (candidate, shown, rival),
        };
        writeln!(f, "\nserver `{}` of this project, {}", self.name(), candidate.entry.place)?;
        write!(f, "{shown}")?;
        if candidate.verdict == (Verdict::Unapproved { changed: true }) {
            writeln!(f, "  * has changed since you decided about it")?;
        }
        let Some(rival) = rival else { return Ok(()) };
        let (scope, place) = (rival.scope, &rival.entry.place);
        writeln!(f, "  * not used while the {scope} scope has a server of this name ({place})")
    }
}
