//! What holds for a call before anybody is asked.

use serde_json::Value;

use super::rules::{Action, Rules, collect};
use mcp_config::glob_matches;

use crate::tool::ToolSpec;

/// Decides over calls. [`TrustPolicy`] is the one that comes with the bridge.
pub trait Policy: Send + Sync {
    /// What holds for this call.
    fn decide(&self, call: &PolicyCall<'_>) -> Decision;
}

/// A call to decide over.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyCall<'a> {
    /// The tool.
    pub spec: &'a ToolSpec,
    /// What it is called with.
    pub arguments: &'a Value,
}

impl<'a> PolicyCall<'a> {
    /// A call of this tool with these arguments.
    pub fn new(spec: &'a ToolSpec, arguments: &'a Value) -> Self {
        Self { spec, arguments }
    }
}

/// What holds for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the three there are")]
pub enum Decision {
    /// Go ahead.
    Allow,
    /// Ask the user, for this reason.
    Ask(String),
    /// No, for this reason.
    Deny(String),
}

/// Nobody is trusted by default, and hints of those who are not can only make things stricter.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TrustPolicy {
    /// What a person wrote down.
    pub rules: Rules,
    /// Hosts that tools of servers nobody vouches for may reach without a question: globs over host
    /// names. Counts where all a call names is addresses of such hosts.
    pub allowed_hosts: Vec<String>,
}

impl TrustPolicy {
    /// A policy of these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    fn by_default(&self, call: &PolicyCall<'_>) -> Decision {
        let PolicyCall { spec, arguments } = *call;
        if spec.hints.trusted {
            return Decision::Allow;
        }
        let server = spec.server().unwrap_or("the host");
        if spec.hints.destructive != Some(true) && self.reaches_only_allowed(arguments) {
            return Decision::Allow;
        }
        Decision::Ask(format!("nobody vouches for the server {server}"))
    }

    fn reaches_only_allowed(&self, arguments: &Value) -> bool {
        let mut texts = Vec::new();
        collect(arguments, &mut texts, 0);
        let is_allowed = |text: &&str| {
            url::Url::parse(text).is_ok_and(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.username().is_empty()
                    && url.host_str().is_some_and(|host| {
                        self.allowed_hosts.iter().any(|allowed| glob_matches(allowed, host))
                    })
            })
        };
        !self.allowed_hosts.is_empty() && !texts.is_empty() && texts.iter().all(is_allowed)
    }
}

impl Policy for TrustPolicy {
    fn decide(&self, call: &PolicyCall<'_>) -> Decision {
        let permission = call.spec.permission();
        let decision = match self.rules.decide(&permission, call.arguments) {
            Some(Action::Deny) => return Decision::Deny(format!("a rule denies {permission}")),
            Some(Action::Ask) => Decision::Ask(format!("a rule asks before {permission}")),
            Some(Action::Allow) => Decision::Allow,
            None => self.by_default(call),
        };
        // Whatever else holds: what says of itself that it destroys is asked about every time.
        match decision {
            Decision::Allow if call.spec.hints.destructive == Some(true) => {
                Decision::Ask("it may destroy something".into())
            }
            decision => decision,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        tool::{Hints, Origin},
        trust::Rule,
    };

    fn spec(hints: Hints) -> ToolSpec {
        let mut spec = ToolSpec::new("mcp__web__get", "");
        spec.origin = Origin::Server { server: "web".into(), tool: "get".into() };
        spec.hints = hints;
        spec
    }

    fn decide(policy: &TrustPolicy, hints: Hints, arguments: &Value) -> Decision {
        policy.decide(&PolicyCall { spec: &spec(hints), arguments })
    }

    fn claims(read_only: Option<bool>, destructive: Option<bool>, trusted: bool) -> Hints {
        Hints { read_only, destructive, trusted, ..Hints::default() }
    }

    #[test]
    fn hints_of_the_untrusted_only_tighten() {
        let policy = TrustPolicy::default();
        let ask = |decision| matches!(decision, Decision::Ask(_));
        assert!(ask(decide(&policy, claims(Some(true), None, false), &json!({}))));
        assert_eq!(decide(&policy, claims(None, None, true), &json!({})), Decision::Allow);
        assert!(ask(decide(&policy, claims(None, Some(true), true), &json!({}))));
        let allow = TrustPolicy::new(Rules::new([vec![Rule::new("mcp:web:*", Action::Allow)]]));
        assert_eq!(decide(&allow, claims(None, None, false), &json!({})), Decision::Allow);
        assert!(ask(decide(&allow, claims(None, Some(true), false), &json!({}))), "always");
    }

    #[test]
    fn allowed_hosts_are_reached_without_a_question_and_no_others_are() {
        let allowed_hosts = vec!["*.example.com".into()];
        let policy = TrustPolicy { allowed_hosts, ..TrustPolicy::default() };
        for (arguments, allowed) in [
            (json!({"url": "https://docs.example.com/x"}), true),
            (json!({"url": "https://evil.test/docs.example.com"}), false),
            (json!({"url": "https://docs.example.com", "body": "secret"}), false),
            (json!({"url": "https://docs.example.com@evil.test/"}), false),
            (json!({"url": "file://docs.example.com/x"}), false),
            (json!({}), false),
        ] {
            let decision = decide(&policy, claims(None, None, false), &arguments);
            assert_eq!(decision == Decision::Allow, allowed, "{arguments}");
        }
    }
}
