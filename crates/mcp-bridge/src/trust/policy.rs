//! Policies, which decide on calls before the user is asked.

use serde_json::Value;

use super::rules::{Action, Rules, strings_of};
use mcp_config::model::glob_matches;
use mcp_tool::{Offer, Origin, ToolSpec};

use crate::setters::{setters, texts};

/// Decides whether a call is allowed, denied or needs a question. [`TrustPolicy`] is the default.
pub trait Policy: Send + Sync {
    /// Decides on this call.
    fn decide(&self, call: &PolicyCall<'_>) -> Decision;
}

/// A closure is a policy.
///
/// ```
/// use mcp_bridge::{BridgeOptions, trust::{Decision, PolicyCall}};
///
/// let options = BridgeOptions::default().with_policy(|call: &PolicyCall<'_>| {
///     let reads = call.spec.hints.trusted && call.spec.hints.is_read_only();
///     if reads { Decision::Allow } else { Decision::Ask("it may change something".into()) }
/// });
/// ```
impl<F: Fn(&PolicyCall<'_>) -> Decision + Send + Sync> Policy for F {
    fn decide(&self, call: &PolicyCall<'_>) -> Decision {
        self(call)
    }
}

/// A call to decide on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyCall<'a> {
    /// The tool.
    pub spec: &'a ToolSpec,
    /// The arguments of the call.
    pub arguments: &'a Value,
}

impl<'a> PolicyCall<'a> {
    /// A call of this tool with these arguments.
    pub fn new(spec: &'a ToolSpec, arguments: &'a Value) -> Self {
        Self { spec, arguments }
    }
}

/// The decision of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "all possible decisions")]
pub enum Decision {
    /// Allow the call. The user is still asked about a tool that is annotated as destructive.
    Allow,
    /// Allow the call without a question, even if the tool is annotated as destructive.
    AllowDestructive,
    /// Ask the user, for this reason.
    Ask(String),
    /// Deny the call, for this reason.
    Deny(String),
}

/// The default policy: servers are not trusted by default, and annotations of untrusted servers can only make
/// it stricter.
///
/// Clients must not rely on annotations of untrusted servers, see
/// <https://modelcontextprotocol.io/specification/2025-11-25/server/tools>.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TrustPolicy {
    /// The rules of the user and the administrator.
    pub rules: Rules,
    /// Hosts that tools of untrusted servers may access without a question: globs over host names. Applies if
    /// the arguments of a call contain URLs and all of them are on such hosts.
    pub allowed_hosts: Vec<String>,
}

setters! {
    TrustPolicy {
        with_rules => rules(rules: Rules) = rules;
        with_allowed_hosts => allowed_hosts(globs: impl IntoIterator<Item = impl Into<String>>) = texts(globs);
    }
}

impl TrustPolicy {
    /// Creates a policy with these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    fn by_default(&self, call: &PolicyCall<'_>) -> Decision {
        let PolicyCall { spec, arguments } = *call;
        if spec.hints.trusted {
            return Decision::Allow;
        }
        let server = spec.server().unwrap_or("the host");
        if let Origin::Offer { offer, .. } = &spec.origin {
            return offered(offer, server);
        }
        if spec.hints.destructive != Some(true) && self.reaches_only_allowed(arguments) {
            return Decision::Allow;
        }
        Decision::Ask(format!("server {server} is not trusted"))
    }

    fn reaches_only_allowed(&self, arguments: &Value) -> bool {
        if self.allowed_hosts.is_empty() {
            return false;
        }
        let mut urls =
            strings_of(arguments).into_iter().filter(|text| is_url_like(text)).peekable();
        urls.peek().is_some() && urls.all(|text| self.is_allowed_url(text))
    }

    fn is_allowed_url(&self, text: &str) -> bool {
        // The URL parser escapes spaces, so a second URL after the first one would pass as its path.
        let is_one_url = text.matches("://").count() == 1 && !text.contains(char::is_whitespace);
        is_one_url
            && url::Url::parse(text).is_ok_and(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.username().is_empty()
                    && url.host_str().is_some_and(|host| {
                        self.allowed_hosts.iter().any(|allowed| glob_matches(allowed, host))
                    })
            })
    }
}

/// Whether a text is a URL or contains one. Clients accept a URL with one slash too, such as `https:/host`.
fn is_url_like(text: &str) -> bool {
    text.contains("://") || url::Url::parse(text).is_ok_and(|url| url.has_host())
}

/// Decides on a resource, prompt, login or the instructions of an untrusted server.
fn offered(offer: &Offer, server: &str) -> Decision {
    match offer {
        // The URI of an unlisted resource may carry data to the server.
        Offer::Resource { listed: false, .. } => Decision::Ask(format!(
            "server {server} is not trusted and does not list this resource: its URI is sent to the server"
        )),
        Offer::Login => {
            Decision::Ask(format!("server {server} is not trusted and asks for a login"))
        }
        _ => Decision::Allow,
    }
}

impl Policy for TrustPolicy {
    fn decide(&self, call: &PolicyCall<'_>) -> Decision {
        let permission = call.spec.permission();
        match self.rules.decide(&permission, call.arguments) {
            Some(Action::Deny) => Decision::Deny(format!("a rule denies {permission}")),
            Some(Action::Ask) => Decision::Ask(format!("a rule asks before {permission}")),
            Some(Action::Allow) => Decision::Allow,
            None => self.by_default(call),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mcp_tool::{Hints, Origin};

    use crate::trust::Rule;

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
        let mut hints = Hints::default();
        (hints.read_only, hints.destructive, hints.trusted) = (read_only, destructive, trusted);
        hints
    }

    fn judge(policy: &TrustPolicy, offer: Offer, trusted: bool) -> Decision {
        let mut spec = spec(claims(None, None, trusted));
        spec.origin = Origin::Offer { server: "web".into(), offer };
        policy.decide(&PolicyCall { spec: &spec, arguments: &Value::Null })
    }

    #[test]
    fn unlisted_resources_and_logins_of_untrusted_servers_need_approval() {
        let policy = TrustPolicy::default();
        let read = |listed| Offer::Resource { uri: "a:b".into(), listed };
        assert_eq!(judge(&policy, read(true), false), Decision::Allow);
        assert!(matches!(judge(&policy, read(false), false), Decision::Ask(_)));
        assert!(matches!(judge(&policy, Offer::Login, false), Decision::Ask(_)));
        assert_eq!(judge(&policy, read(false), true), Decision::Allow);
        let deny = TrustPolicy::new(Rules::new([vec![Rule::new("mcp:web:*", Action::Deny)]]));
        for offer in
            [read(true), Offer::Login, Offer::Instructions, Offer::Prompt { name: "p".into() }]
        {
            assert!(matches!(judge(&deny, offer, true), Decision::Deny(_)));
        }
    }

    #[test]
    fn hints_of_untrusted_servers_cannot_relax_the_policy() {
        let policy = TrustPolicy::default();
        let ask = |decision| matches!(decision, Decision::Ask(_));
        assert!(ask(decide(&policy, claims(Some(true), None, false), &json!({}))));
        assert_eq!(decide(&policy, claims(None, None, true), &json!({})), Decision::Allow);
        let allow = TrustPolicy::new(Rules::new([vec![Rule::new("mcp:web:*", Action::Allow)]]));
        assert_eq!(decide(&allow, claims(None, None, false), &json!({})), Decision::Allow);
    }

    /// A text below a hundred arrays.
    fn nested(text: &str) -> Value {
        (0..100).fold(json!(text), |value, _| json!([value]))
    }

    #[test]
    fn allowed_hosts_apply_to_urls_in_arguments() {
        let allowed_hosts = vec!["*.example.com".into()];
        let policy = TrustPolicy { allowed_hosts, ..TrustPolicy::default() };
        for (arguments, allowed) in [
            (json!({"url": "https://docs.example.com/x"}), true),
            (json!({"url": "https://evil.test/docs.example.com"}), false),
            (json!({"url": "https://docs.example.com", "method": "GET", "retries": 3}), true),
            (json!({"url": "https://docs.example.com", "also": ["https://evil.test/"]}), false),
            (
                json!({"url": "https://docs.example.com", "note": "then see https://evil.test/"}),
                false,
            ),
            (json!({"url": "https://docs.example.com/ then https://evil.test/"}), false),
            (json!({"url": "https://docs.example.com/ evil.test"}), false),
            (json!({"url": "https://docs.example.com", "also": "https:/evil.test/"}), false),
            (
                json!({"url": "https://docs.example.com", "deep": nested("https://evil.test/")}),
                false,
            ),
            (json!({"path": "docs.example.com"}), false),
            (json!({"url": "https://docs.example.com@evil.test/"}), false),
            (json!({"url": "file://docs.example.com/x"}), false),
            (json!({}), false),
        ] {
            let decision = decide(&policy, claims(None, None, false), &arguments);
            assert_eq!(decision == Decision::Allow, allowed, "{arguments}");
        }
    }
}
