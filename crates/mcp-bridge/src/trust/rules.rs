//! Rules that allow, ask about or deny calls.

use mcp_config::model::glob_matches;
use serde_json::Value;

/// The action of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "all possible actions")]
pub enum Action {
    /// Allow the call.
    Allow,
    /// Ask the user.
    Ask,
    /// Deny the call.
    Deny,
}

/// One rule: `{ permission: "mcp:github:*", pattern: "*", action: allow }`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "hosts write them out")]
pub struct Rule {
    /// The tools: a glob over `mcp:<server>:<tool>` or `host:<name>`.
    pub permission: String,
    /// The arguments: a glob over the strings in them. An `allow` rule applies if all strings match, any other
    /// rule if one of them matches.
    pub pattern: String,
    /// The action if the rule applies.
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

/// Lists of rules by scope, the highest scope first. The last matching rule wins, also across scopes, except that a
/// lower scope cannot override a denial.
///
/// ```
/// use mcp_bridge::{trust::{Action, Rule, Rules}};
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

    /// The rules of each scope, the highest first.
    pub fn scopes(&self) -> &[Vec<Rule>] {
        &self.0
    }

    /// The action for a call, if a rule applies.
    pub fn decide(&self, permission: &str, arguments: &Value) -> Option<Action> {
        let texts = strings_of(arguments);
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

/// All strings in the arguments, at any depth.
pub(super) fn strings_of(arguments: &Value) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut open = vec![arguments];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(&**text),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn last_matching_rule_wins_and_higher_denial_is_final() {
        let deny_all = Rule::new("mcp:bad:*", Action::Deny);
        let allow = Rule::new("mcp:*", Action::Allow);
        let low_allow = Rules::new([vec![deny_all.clone()], vec![allow.clone()]]);
        assert_eq!(low_allow.decide("mcp:bad:x", &Value::Null), Some(Action::Deny));
        let same_scope = Rules::new([vec![deny_all, allow]]);
        assert_eq!(same_scope.decide("mcp:bad:x", &Value::Null), Some(Action::Allow));
    }

    #[test]
    fn allow_pattern_must_match_every_string() {
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
