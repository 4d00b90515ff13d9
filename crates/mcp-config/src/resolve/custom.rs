//! Resolves the custom tools of all documents.

use std::{borrow::Cow, collections::HashMap, fmt, sync::Arc};

use mcp_safe::text::escape;

use super::{approval::Approval, layers::Layers};
use crate::{
    diagnostic::Place,
    dialect::{CustomEntry, CustomTool},
    model::Scope,
    policy::{Exclusivity, Policy},
};

/// A custom tool with its verdict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CustomCandidate {
    /// The entry.
    pub entry: Arc<CustomEntry>,
    /// Its scope.
    pub scope: Scope,
    /// Its verdict.
    pub verdict: CustomVerdict,
}

/// Prints whether it is used, its location and its complete definition.
impl fmt::Display for CustomCandidate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, scope, verdict } = self;
        let became: Cow<'_, str> = match verdict {
            CustomVerdict::Active => "active".into(),
            CustomVerdict::Unapproved { changed: false } => {
                "waits for your approval: it came with the project".into()
            }
            CustomVerdict::Unapproved { changed: true } => {
                "waits for your approval: it came with the project and has changed since you decided"
                    .into()
            }
            CustomVerdict::Rejected => "not used: you rejected it".into(),
            CustomVerdict::Shadowed(place) => {
                format!("not used: the one at {place} has precedence").into()
            }
            CustomVerdict::Withheld(_) => {
                "not used: an enterprise document is present, and only its own load".into()
            }
        };
        writeln!(out, "`{}` is a custom tool, and {became}", entry.tool.name)?;
        writeln!(out, "  from  {scope} scope, {}", entry.place)?;
        // Print the complete tool, because the approval covers all of it, including text for the model.
        let text = format!("{:#}", entry.tool.to_json());
        let lines: Vec<String> = text.lines().map(|l| format!("  {}", escape(l))).collect();
        out.write_str(&lines.join("\n"))
    }
}

/// The verdict on one custom tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CustomVerdict {
    /// It is used.
    Active,
    /// It came with the project and needs approval.
    Unapproved {
        /// Whether it has changed since an earlier decision.
        changed: bool,
    },
    /// It came with the project and the user rejected it.
    Rejected,
    /// A tool with the same name, at this place, takes precedence.
    Shadowed(Place),
    /// An enterprise document excludes its scope.
    Withheld(Exclusivity),
}

/// All custom tools with their verdicts, highest precedence first.
pub(crate) fn resolve(layers: &Layers, policy: &Policy) -> Vec<CustomCandidate> {
    let mut all: Vec<(usize, i32, CustomCandidate)> = Vec::new();
    for layer in &layers.layers {
        for entry in &layer.document.custom_tools {
            let verdict = initial_verdict(layers, policy, layer.scope, &entry.tool);
            let entry = Arc::clone(entry);
            let candidate = CustomCandidate { entry, scope: layer.scope, verdict };
            all.push((layers.precedence.rank(layer.scope), layer.rank, candidate));
        }
    }
    all.sort_by(|(scope_a, rank_a, a), (scope_b, rank_b, b)| {
        (scope_a, rank_a, &a.entry.place).cmp(&(scope_b, rank_b, &b.entry.place))
    });
    let mut winners: HashMap<String, Place> = HashMap::new();
    let settle = |(_, _, mut candidate): (usize, i32, CustomCandidate)| {
        if candidate.verdict == CustomVerdict::Active {
            let name = &candidate.entry.tool.name;
            match winners.get(name) {
                Some(place) => candidate.verdict = CustomVerdict::Shadowed(place.clone()),
                None => drop(winners.insert(name.clone(), candidate.entry.place.clone())),
            }
        }
        candidate
    };
    all.into_iter().map(settle).collect()
}

/// The verdict on a single tool. Its description is text in a prompt, so a tool of a repository needs
/// approval like a server.
fn initial_verdict(
    layers: &Layers,
    policy: &Policy,
    scope: Scope,
    tool: &CustomTool,
) -> CustomVerdict {
    if let Some(exclusivity) = policy.exclusivity.filter(|it| it.withholds(scope)) {
        return CustomVerdict::Withheld(exclusivity);
    }
    if scope != Scope::Project || !layers.require_approval {
        return CustomVerdict::Active;
    }
    match layers.approvals.of_tool(&layers.project, tool) {
        Approval::Approved => CustomVerdict::Active,
        Approval::Rejected => CustomVerdict::Rejected,
        Approval::Unknown => CustomVerdict::Unapproved { changed: false },
        Approval::Changed => CustomVerdict::Unapproved { changed: true },
    }
}
