//! Plan mode: what would change something waits for review.

use mcp_client::RawJson;

use mcp_config::glob_matches;

use crate::tool::ToolSpec;

/// The most calls that may wait.
const MOST: usize = 256;

/// What tools that change something are called like.
const WRITES: &[&str] = &[
    "add",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "attach",
    "cancel",
    "clear",
    "close",
    "commit",
    "copy",
    "create",
    "delete",
    "deploy",
    "destroy",
    "disable",
    "drop",
    "edit",
    "enable",
    "exec",
    "execute",
    "import",
    "insert",
    "install",
    "invite",
    "kill",
    "merge",
    "modify",
    "move",
    "patch",
    "pay",
    "post",
    "publish",
    "purge",
    "push",
    "put",
    "refund",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "revoke",
    "run",
    "save",
    "schedule",
    "send",
    "set",
    "shell",
    "start",
    "stop",
    "submit",
    "sync",
    "terminate",
    "truncate",
    "update",
    "upload",
    "upsert",
    "write",
];

/// What tools that only look are called like.
const READS: &[&str] = &[
    "check",
    "count",
    "describe",
    "diff",
    "exists",
    "explain",
    "fetch",
    "find",
    "get",
    "grep",
    "head",
    "info",
    "inspect",
    "list",
    "lookup",
    "peek",
    "ping",
    "preview",
    "query",
    "read",
    "retrieve",
    "search",
    "show",
    "stat",
    "status",
    "summarize",
    "validate",
    "verify",
    "view",
    "whoami",
];

/// A call that waits for review.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Planned {
    /// What to refer to it by.
    pub id: u64,
    /// The tool's name.
    pub tool: String,
    /// What it would be called with.
    pub arguments: RawJson,
    /// The hash of its definition at the time.
    pub hash: String,
}

/// The calls that wait.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) is_on: bool,
    waiting: Vec<Planned>,
    last: u64,
}

impl Plan {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// Queues a call, unless too many wait already.
    pub(crate) fn queue(&mut self, spec: &ToolSpec, arguments: &RawJson) -> Option<u64> {
        if self.waiting.len() >= MOST {
            return None;
        }
        self.last += 1;
        let (tool, hash) = (spec.name.clone(), spec.hash.clone());
        let arguments = arguments.detached();
        self.waiting.push(Planned { id: self.last, tool, arguments, hash });
        Some(self.last)
    }

    pub(crate) fn waiting(&self) -> Vec<Planned> {
        self.waiting.clone()
    }

    pub(crate) fn take(&mut self, id: u64) -> Option<Planned> {
        let at = self.waiting.iter().position(|planned| planned.id == id)?;
        Some(self.waiting.remove(at))
    }
}

/// Whether a tool may change something: by its hint, and by its name, whichever is stricter.
pub(crate) fn writes(spec: &ToolSpec, patterns: &[String]) -> bool {
    let name = match &spec.origin {
        crate::tool::Origin::Host | crate::tool::Origin::Custom => spec.name.as_str(),
        crate::tool::Origin::Server { tool, .. } => tool,
    };
    if spec.hints.destructive == Some(true)
        || patterns.iter().any(|pattern| glob_matches(pattern, name))
    {
        return true;
    }
    let words = words(name);
    // The host knows its own tools: their names prove nothing against them.
    let is_host = spec.server().is_none();
    if !is_host && words.iter().any(|word| WRITES.contains(&word.as_str())) {
        return true;
    }
    match spec.hints.read_only {
        Some(read_only) => !read_only,
        None => !words.iter().any(|word| READS.contains(&word.as_str())),
    }
}

/// The words of an identifier: `createIssue`, `create_issue`, `create-issue`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_lower = false;
    for c in name.chars().take(256) {
        if !c.is_alphanumeric() || c.is_uppercase() && previous_lower {
            words.push(String::new());
        }
        previous_lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Hints, Origin};

    #[test]
    fn names_and_hints_are_read_strictly() {
        for (name, read_only, expected) in [
            ("create_issue", None, true),
            ("createIssue", Some(true), true),
            ("mcp-delete-thing", Some(true), true),
            ("list_issues", None, false),
            ("list_issues", Some(false), true),
            ("getSettings", None, false),
            ("frobnicate", None, true),
            ("frobnicate", Some(true), false),
            ("read_offset", None, false),
        ] {
            let mut spec = ToolSpec::new("x", "");
            spec.origin = Origin::Server { server: "s".into(), tool: name.into() };
            spec.hints = Hints { read_only, ..Hints::default() };
            assert_eq!(writes(&spec, &[]), expected, "{name} {read_only:?}");
        }
        let mut spec = ToolSpec::new("x", "");
        spec.origin = Origin::Server { server: "s".into(), tool: "get_secret".into() };
        assert!(writes(&spec, &["*secret*".into()]));
    }
}
