//! Plan mode: calls that would change something are queued for review.

use mcp_client::RawJson;
use mcp_config::model::glob_matches;
use mcp_tool::{Origin, ToolSpec};

/// The maximum number of queued calls.
const MOST: usize = 256;

/// Words in the names of tools that write.
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

/// Words in the names of tools that only read.
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

/// A call that is queued for review.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Planned {
    /// The number of the call in the plan.
    pub id: u64,
    /// The tool's name.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: RawJson,
    /// The hash of the tool's definition when the call was planned.
    pub hash: String,
}

/// The calls queued for review.
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

    /// Queues a call. Returns `None` if too many are queued.
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

/// Whether a tool may change something: by its annotations or by its name, whichever is stricter.
pub(crate) fn writes(spec: &ToolSpec, patterns: &[String]) -> bool {
    let name = match &spec.origin {
        Origin::Host | Origin::Custom => spec.name.as_str(),
        Origin::Server { tool, .. } => tool,
        // Offers are read, and the user performs a login.
        Origin::Offer { .. } => return false,
    };
    if spec.hints.destructive == Some(true)
        || patterns.iter().any(|pattern| glob_matches(pattern, name))
    {
        return true;
    }
    let words = words(name);
    // The host declares its own tools correctly, so their names are not checked.
    let is_host = spec.server().is_none();
    if !is_host && words.iter().any(|word| WRITES.contains(&word.as_str())) {
        return true;
    }
    match spec.hints.read_only {
        Some(read_only) => !read_only,
        None => !words.iter().any(|word| READS.contains(&word.as_str())),
    }
}

/// The words of an identifier, such as `createIssue`, `create_issue` or `create-issue`.
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

    #[test]
    fn stricter_of_name_and_hint_decides_whether_a_tool_writes() {
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
            spec.hints.read_only = read_only;
            assert_eq!(writes(&spec, &[]), expected, "{name} {read_only:?}");
        }
        let mut spec = ToolSpec::new("x", "");
        spec.origin = Origin::Server { server: "s".into(), tool: "get_secret".into() };
        assert!(writes(&spec, &["*secret*".into()]));
    }

    #[test]
    fn plan_is_limited_and_a_call_is_taken_once() {
        let (spec, arguments) = (ToolSpec::new("x", ""), RawJson::empty_object());
        let mut plan = Plan::new(true);
        let numbers: Vec<_> = (0..MOST).filter_map(|_| plan.queue(&spec, &arguments)).collect();
        assert_eq!(numbers, (1..=256).collect::<Vec<u64>>());
        assert_eq!(plan.queue(&spec, &arguments), None);
        assert_eq!(plan.take(2).map(|planned| (planned.id, planned.tool)), Some((2, "x".into())));
        assert!(plan.take(2).is_none() && plan.take(1_000).is_none());
        assert_eq!(plan.waiting().len(), 255);
        assert_eq!(plan.queue(&spec, &arguments), Some(257), "a number is not used again");
        assert!(plan.is_on && !Plan::new(false).is_on);
    }

    #[test]
    fn annotations_of_the_host_count_and_destructive_tools_write() {
        let host = |name: &str, read_only: Option<bool>| {
            let mut spec = ToolSpec::new(name, "");
            spec.origin = Origin::Host;
            spec.hints.read_only = read_only;
            spec
        };
        assert!(!writes(&host("delete_draft", Some(true)), &[]));
        assert!(writes(&host("delete_draft", None), &[]) && !writes(&host("get_draft", None), &[]));
        assert!(writes(&host("get_draft", None), &["get_*".into()]));
        let mut destructive = host("get_draft", Some(true));
        destructive.hints.destructive = Some(true);
        assert!(writes(&destructive, &[]));
        destructive.hints.destructive = Some(false);
        assert!(!writes(&destructive, &[]));
    }

    #[test]
    fn identifiers_are_split_at_marks_and_changes_of_case() {
        let of = |name: &str| words(name).into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>();
        assert_eq!(of("createIssue"), ["create", "issue"]);
        assert_eq!(of("create_issue-now.v2"), ["create", "issue", "now", "v2"]);
        assert_eq!(of("getHTTPPage"), ["get", "httppage"]);
        assert_eq!(of("Ünder_Straße"), ["ünder", "straße"]);
    }
}
