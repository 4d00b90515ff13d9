//! Tools that users make of other tools: what a file says of one, and which of them count.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use serde_json::{Map, Value as Json};

use crate::{
    approve::Approval,
    diagnostic::{Diagnostic, Place, Severity, escaped},
    dialect::read_custom_tool,
    policy::{Exclusivity, Policy},
    resolve::{Layers, Resolution},
    scope::Scope,
};

/// The most steps a tool may have.
pub(crate) const MOST_STEPS: usize = 8;

/// A tool made of others: renamed, narrowed, with fixed arguments, one after another.
///
/// In our own files it stands under `customTools`:
///
/// ```
/// # let text = r#"
/// {
///   "mcpServers": { "github": { "url": "https://example.com/mcp" } },
///   "customTools": {
///     "my_open_issues": {
///       "description": "The issues that are assigned to me.",
///       "parameters": { "type": "object", "properties": { "label": { "type": "string" } } },
///       "readOnly": true,
///       "steps": [{ "tool": "github/list_issues", "fixed": { "assignee": "me" } }]
///     }
///   }
/// }
/// # "#;
/// # let document = mcp_config::read(text.as_bytes(), &mcp_config::ReadOptions::new(".mcp.json"));
/// # assert_eq!(document.custom_tools[0].tool.steps[0].tool, "github/list_issues");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CustomTool {
    /// What the model calls it by: letters, digits, `_` and `-`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it takes, as a JSON Schema. Default: nothing.
    pub parameters: Option<Json>,
    /// Whether it changes nothing, for plan mode. Default no.
    pub read_only: bool,
    /// What it does, in order. What the last step gives is its result; the first that fails ends it.
    pub steps: Vec<CustomStep>,
}

/// One call of another tool.
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct CustomStep {
    /// The other tool: `server/tool`, or the name that models call it by.
    pub tool: String,
    /// Arguments that are always the same. They win over those of the call.
    pub fixed: Map<String, Json>,
    /// Other names for the call's arguments: from ours to the other tool's.
    pub rename: BTreeMap<String, String>,
    /// The argument that gets the text of the step before.
    pub result_as: Option<String>,
}

impl CustomTool {
    /// Reads one tool from JSON that is not in a file: the members of an entry, and its `name`.
    ///
    /// ```
    /// use mcp_config::CustomTool;
    /// let tool = CustomTool::parse(r#"{"name": "now", "steps": [{"tool": "time/now"}]}"#)?;
    /// assert_eq!(tool.steps.len(), 1);
    /// # Ok::<(), Box<mcp_config::Diagnostic>>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn parse(json: &str) -> Result<Self, Box<Diagnostic>> {
        let (tool, findings) = read_custom_tool(json);
        let error = findings.into_iter().find(|finding| finding.severity == Severity::Error);
        match (error, tool) {
            (None, Some(tool)) => Ok(tool),
            (Some(error), _) => Err(Box::new(error)),
            (None, None) => Err(Box::new(Diagnostic::nothing_there("a custom tool"))),
        }
    }
}

impl CustomTool {
    /// Everything it says, under the names that files have for it.
    pub fn to_json(&self) -> Json {
        let step = |step: &CustomStep| {
            let mut all = Map::new();
            all.insert("tool".to_owned(), step.tool.as_str().into());
            if !step.fixed.is_empty() {
                all.insert("fixed".to_owned(), step.fixed.clone().into());
            }
            if !step.rename.is_empty() {
                let names = step.rename.iter().map(|(a, b)| (a.clone(), b.as_str().into()));
                all.insert("rename".to_owned(), Json::Object(names.collect()));
            }
            if let Some(name) = &step.result_as {
                all.insert("resultAs".to_owned(), name.as_str().into());
            }
            Json::Object(all)
        };
        let mut all = Map::new();
        all.insert("name".to_owned(), self.name.as_str().into());
        all.insert("description".to_owned(), self.description.as_str().into());
        if let Some(parameters) = &self.parameters {
            all.insert("parameters".to_owned(), parameters.clone());
        }
        all.insert("readOnly".to_owned(), self.read_only.into());
        all.insert("steps".to_owned(), self.steps.iter().map(step).collect());
        Json::Object(all)
    }
}

/// One custom tool as one file has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CustomEntry {
    /// The tool.
    pub tool: CustomTool,
    /// Where it stands.
    pub place: Place,
}

/// One custom tool with what became of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CustomCandidate {
    /// The entry.
    pub entry: Arc<CustomEntry>,
    /// Its scope.
    pub scope: Scope,
    /// What became of it.
    pub verdict: CustomVerdict,
}

/// In words: whether it is used, where it stands, and everything it says.
impl fmt::Display for CustomCandidate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, scope, verdict } = self;
        write!(out, "`{}` is a custom tool, and ", entry.tool.name)?;
        match verdict {
            CustomVerdict::Active => writeln!(out, "active")?,
            CustomVerdict::Unapproved { changed: false } => {
                writeln!(out, "waits for your approval: it came with the project")?;
            }
            CustomVerdict::Unapproved { changed: true } => writeln!(
                out,
                "waits for your approval: it came with the project and has changed since you decided"
            )?,
            CustomVerdict::Rejected => writeln!(out, "not used: you turned it down")?,
            CustomVerdict::Shadowed(place) => {
                writeln!(out, "not used: the one at {place} has precedence")?;
            }
            CustomVerdict::Withheld(_) => {
                writeln!(
                    out,
                    "not used: an enterprise document is present, and only its own load"
                )?;
            }
        }
        writeln!(out, "  from  {scope} scope, {}", entry.place)?;
        // All of it, since all of it is approved: what is passed on from step to step, and words for a model.
        let text = format!("{:#}", entry.tool.to_json());
        let lines: Vec<String> = text.lines().map(|l| format!("  {}", escaped(l))).collect();
        out.write_str(&lines.join("\n"))
    }
}

/// What became of one custom tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CustomVerdict {
    /// It is one of the tools.
    Active,
    /// It came with the project and waits for the user.
    Unapproved {
        /// Whether it was decided before and has changed.
        changed: bool,
    },
    /// It came with the project and the user turned it down.
    Rejected,
    /// The one of the same name at this place has precedence.
    Shadowed(Place),
    /// An enterprise document keeps its scope from being used.
    Withheld(Exclusivity),
}

impl Resolution {
    /// The custom tools to use, each name once.
    pub fn active_tools(&self) -> impl Iterator<Item = &CustomTool> {
        let active = self.custom_tools.iter().filter(|tool| tool.verdict == CustomVerdict::Active);
        active.map(|tool| &tool.entry.tool)
    }

    /// Custom tools of the project that the user has yet to decide about.
    pub fn unapproved_tools(&self) -> impl Iterator<Item = &CustomCandidate> {
        let waits =
            |tool: &&CustomCandidate| matches!(tool.verdict, CustomVerdict::Unapproved { .. });
        self.custom_tools.iter().filter(waits)
    }
}

/// Every custom tool with its verdict, highest precedence first.
pub(crate) fn resolve(layers: &Layers, policy: &Policy) -> Vec<CustomCandidate> {
    let mut all: Vec<(usize, i32, CustomCandidate)> = Vec::new();
    for layer in &layers.layers {
        for entry in &layer.document.custom_tools {
            let verdict = standing(layers, policy, layer.scope, &entry.tool);
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

/// How a tool stands by itself. A description is text in a prompt, so one from a repository waits for the
/// user like a repository's server does.
fn standing(layers: &Layers, policy: &Policy, scope: Scope, tool: &CustomTool) -> CustomVerdict {
    match policy.exclusivity {
        Some(Exclusivity::All) if scope != Scope::Enterprise => {
            return CustomVerdict::Withheld(Exclusivity::All);
        }
        Some(Exclusivity::Cloud) if scope == Scope::Cloud => {
            return CustomVerdict::Withheld(Exclusivity::Cloud);
        }
        _ => {}
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
