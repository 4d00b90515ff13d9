//! The permission rules of a gateway, from flags and files. The rules of files are replaced when a file changes.

use std::sync::{Arc, PoisonError, RwLock};

use clap::{Arg, ArgAction, ArgMatches};
use mcp_bridge::trust::{Action, Decision, Policy, PolicyCall, Rule, Rules, TrustPolicy};
use mcp_config::model::HostSettings;

use super::super::texts;

pub(super) fn arguments() -> [Arg; 3] {
    let globs = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("GLOB").action(ArgAction::Append).help(help)
    };
    [
        globs("allow-tool", "Run these without asking, such as mcp:files:read_*"),
        globs("ask-tool", "Ask about these, even if a file allows them or their server is trusted"),
        globs(
            "deny-tool",
            "Never run these; mcp:NAME:* also hides a server's resources, prompts and completions",
        ),
    ]
}

/// The current policy.
#[derive(Debug)]
pub(super) struct CurrentPolicy {
    /// Denials and permissions, each in a scope of its own: no permission overrides a denial.
    first: [Vec<Rule>; 2],
    /// Questions. The last matching rule wins, so that these override permissions of flags and files.
    last: Vec<Rule>,
    policy: RwLock<TrustPolicy>,
}

impl CurrentPolicy {
    pub(super) fn new(matches: &ArgMatches, host: &HostSettings) -> Arc<Self> {
        let of = |name: &str, action: Action| -> Vec<Rule> {
            texts(matches, name).into_iter().map(|glob| Rule::new(glob, action)).collect()
        };
        let first = [of("deny-tool", Action::Deny), of("allow-tool", Action::Allow)];
        let last = of("ask-tool", Action::Ask);
        let policy = RwLock::new(policy(&first, &last, host));
        Arc::new(Self { first, last, policy })
    }

    /// Replaces the rules of files. Calls that run already are not affected.
    pub(super) fn replace(&self, host: &HostSettings) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) =
            policy(&self.first, &self.last, host);
    }
}

impl Policy for CurrentPolicy {
    fn decide(&self, call: &PolicyCall<'_>) -> Decision {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).decide(call)
    }
}

fn policy(first: &[Vec<Rule>], last: &[Rule], host: &HostSettings) -> TrustPolicy {
    let files = host.rules.iter().map(|file| file.iter().map(Rule::from).collect());
    let scopes = first.iter().cloned().chain(files).chain([last.to_vec()]);
    TrustPolicy::new(Rules::new(scopes))
}
