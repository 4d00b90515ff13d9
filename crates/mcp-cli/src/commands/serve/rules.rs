//! Rules from the command line.

use clap::ArgMatches;
use mcp_bridge::{Action, Rule, Rules};

use crate::commands::texts;

/// What may run without a question, and what never may. Denials are in a scope of their own, so that no
/// permission lifts them.
pub(super) fn rules(matches: &ArgMatches) -> Rules {
    let of = |name: &str, action: Action| -> Vec<Rule> {
        texts(matches, name).into_iter().map(|glob| Rule::new(glob, action)).collect()
    };
    Rules::new([of("deny-tool", Action::Deny), of("allow-tool", Action::Allow)])
}
