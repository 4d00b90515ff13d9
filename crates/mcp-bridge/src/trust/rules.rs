//! Rules: what a person wrote down about tools.

use serde_json::Value;

use mcp_config::glob_matches;

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the three a rule can say")]
pub enum Action {
    /// Go ahead.
    Allow,
    /// Ask the user.
    Ask,
    /// No.
    Deny,
}

/// One rule: `{ permission: "mcp:github:*", pattern: "*", action: allow }`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "hosts write them out")]
pub struct Rule {
    /// Which tools: a glob over `mcp:<server>:<tool>` or `host:<name>`.
    pub permission: String,
    /// Which arguments: a glob over the texts in them. A rule that allows must match every text, one
    /// that asks or denies only one of them.
    pub pattern: String,
    /// What holds then.
    pub action: Action,
}

impl Rule {
    /// A rule for all arguments.
    pub fn new(permission: impl Into<String>, action: Action) -> Self {
        Self { permission: permission.into(), pattern: "*".into(), action }
    }

    fn applies(&self, permission: &str, texts: &[&str]) -> bool {
        if !glob_matches(&self.permission, permission) {
            return false;
        }
        if self.pattern == "*" {
            return true;
        }
        let matches = |text: &&str| glob_matches(&self.pattern, text);
        match self.action {
            Action::Allow => !texts.is_empty() && texts.iter().all(matches),
            Action::Ask | Action::Deny => texts.iter().any(matches),
        }
    }
}

/// Rules in their scopes, the highest first. The last rule that matches wins, and what a higher scope
/// denies no lower one can allow.
///
/// ```
/// use mcp_bridge::{Action, Rule, Rules};
///
/// let rules = Rules::new([
///     vec![Rule::new("mcp:untrusted-*:*", Action::Deny)],                 // an administrator's
///     vec![Rule::new("mcp:*", Action::Allow), Rule::new("mcp:*:shell_*", Action::Ask)], // the user's
/// ]);
/// assert_eq!(rules.decide("mcp:untrusted-x:read", &serde_json::Value::Null), Some(Action::Deny));
/// assert_eq!(rules.decide("mcp:github:shell_run", &serde_json::Value::Null), Some(Action::Ask));
/// assert_eq!(rules.decide("host:bash", &serde_json::Value::Null), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Vec<Rule>>);

impl Rules {
    /// One list of rules per scope, the highest scope first.
    pub fn new(scopes: impl IntoIterator<Item = Vec<Rule>>) -> Self {
        Self(scopes.into_iter().collect())
    }

    /// What the rules say about a call, if anything.
    pub fn decide(&self, permission: &str, arguments: &Value) -> Option<Action> {
        let mut texts = Vec::new();
        collect(arguments, &mut texts, 0);
        let mut decided = None;
        for scope in &self.0 {
            let last = scope.iter().rev().find(|rule| rule.applies(permission, &texts));
            match last.map(|rule| rule.action) {
                Some(Action::Deny) => return Some(Action::Deny),
                Some(action) => decided = Some(action),
                None => {}
            }
        }
        decided
    }
}

/// Every text in the arguments.
pub(super) fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>, depth: usize) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) if depth < 64 => {
            for item in items {
                collect(item, texts, depth + 1);
            }
        }
        Value::Object(members) if depth < 64 => {
            for member in members.values() {
                collect(member, texts, depth + 1);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_match_wins_and_a_higher_denial_stays() {
        let deny_all = Rule::new("mcp:bad:*", Action::Deny);
        let allow = Rule::new("mcp:*", Action::Allow);
        let low_allow = Rules::new([vec![deny_all.clone()], vec![allow.clone()]]);
        assert_eq!(low_allow.decide("mcp:bad:x", &Value::Null), Some(Action::Deny));
        let same_scope = Rules::new([vec![deny_all, allow]]);
        assert_eq!(same_scope.decide("mcp:bad:x", &Value::Null), Some(Action::Allow));
    }

    #[test]
    fn a_pattern_that_allows_must_cover_every_text() {
        let rule = |action| Rule { pattern: "/tmp/*".into(), ..Rule::new("mcp:f:write", action) };
        let allow = Rules::new([vec![rule(Action::Allow)]]);
        let both = json!({"path": "/tmp/x", "also": ["/etc/passwd"]});
        assert_eq!(allow.decide("mcp:f:write", &json!({"path": "/tmp/x"})), Some(Action::Allow));
        assert_eq!(allow.decide("mcp:f:write", &both), None);
        assert_eq!(allow.decide("mcp:f:write", &json!({})), None);
        let deny = Rules::new([vec![rule(Action::Deny)]]);
        assert_eq!(deny.decide("mcp:f:write", &both), Some(Action::Deny));
    }
}
