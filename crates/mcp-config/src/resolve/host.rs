//! Combines the host settings of all documents: a higher scope takes precedence, and a repository may only
//! tighten.

use super::layers::{Layer, Layers};
use crate::{
    model::{HostSettings, RuleAction, TrustRule},
    policy::PolicyPart,
};

/// The combined settings of all documents.
pub(super) fn settings(layers: &Layers) -> HostSettings {
    let mut ordered: Vec<&Layer> = layers.layers.iter().collect();
    ordered.sort_by_key(|layer| {
        (layers.precedence.rank(layer.scope), layer.rank, layer.document.file.clone())
    });
    let mut all = HostSettings::default();
    for layer in ordered.iter().filter(|layer| !PolicyPart::only_binds(layer.scope)) {
        fill(&mut all, &layer.document.host);
    }
    for layer in ordered.iter().filter(|layer| PolicyPart::only_binds(layer.scope)) {
        tighten(&mut all, &layer.document.host, &layers.host);
    }
    all
}

/// Copies the settings of `more` that `all` does not have.
fn fill(all: &mut HostSettings, more: &HostSettings) {
    let HostSettings {
        tool_search,
        search_threshold,
        max_matches,
        summary_limit,
        always_load,
        sandbox_minimum,
        retry,
        rules,
    } = more;
    all.tool_search = all.tool_search.or(*tool_search);
    all.search_threshold = all.search_threshold.or(*search_threshold);
    all.max_matches = all.max_matches.or(*max_matches);
    all.summary_limit = all.summary_limit.or(*summary_limit);
    if all.always_load.is_empty() {
        all.always_load.clone_from(always_load);
    }
    // Not only the highest scope's: a minimum is a restriction, and no scope may lower that of another.
    all.sandbox_minimum = all.sandbox_minimum.max(*sandbox_minimum);
    all.retry.attempts = all.retry.attempts.or(retry.attempts);
    all.retry.initial_delay = all.retry.initial_delay.or(retry.initial_delay);
    all.retry.max_delay = all.retry.max_delay.or(retry.max_delay);
    all.rules.extend(rules.iter().cloned());
}

/// Copies the settings that are stricter than those of `all`, and than the host's own: fewer tools in the prompt, fewer matches,
/// shorter summaries, a stricter sandbox, fewer attempts, and rules that ask or deny.
fn tighten(all: &mut HostSettings, more: &HostSettings, own: &HostSettings) {
    let own = Numbers::of_host(own);
    let least = |now: Option<usize>, default: usize, wanted: Option<usize>| match wanted {
        Some(wanted) if wanted < now.unwrap_or(default) => Some(wanted),
        _ => now,
    };
    if more.tool_search == Some(true) {
        all.tool_search = Some(true);
    }
    all.search_threshold = least(all.search_threshold, own.threshold, more.search_threshold);
    all.max_matches = least(all.max_matches, own.matches, more.max_matches);
    all.summary_limit = least(all.summary_limit, own.summary, more.summary_limit);
    all.sandbox_minimum = all.sandbox_minimum.max(more.sandbox_minimum);
    all.retry.attempts = least(all.retry.attempts, own.attempts, more.retry.attempts);
    let stricter = |rule: &&TrustRule| rule.action != RuleAction::Allow;
    let rules = more.rules.iter().map(|list| list.iter().filter(stricter).cloned().collect());
    all.rules.extend(rules.filter(|list: &Vec<_>| !list.is_empty()));
}

/// The numbers that count where no document has one.
struct Numbers {
    threshold: usize,
    matches: usize,
    summary: usize,
    attempts: usize,
}

impl Numbers {
    fn of_host(own: &HostSettings) -> Self {
        Self {
            threshold: own.search_threshold.unwrap_or(HostSettings::DEFAULT_THRESHOLD),
            matches: own.max_matches.unwrap_or(HostSettings::DEFAULT_MATCHES),
            summary: own.summary_limit.unwrap_or(HostSettings::DEFAULT_SUMMARY),
            attempts: own.retry.attempts.unwrap_or(HostSettings::DEFAULT_ATTEMPTS),
        }
    }
}

/// The keys of the settings that are ignored because the document may not apply them to others.
pub(super) fn refused(layer: &Layer, layers: &Layers) -> Vec<&'static str> {
    if !PolicyPart::only_binds(layer.scope) {
        return Vec::new();
    }
    let (host, all, own) = (&layer.document.host, settings(layers), Numbers::of_host(&layers.host));
    let more = |wanted: Option<usize>, now: Option<usize>, default| {
        wanted.is_some_and(|wanted| wanted > now.unwrap_or(default))
    };
    let allows = |rule: &TrustRule| rule.action == RuleAction::Allow;
    let keys = [
        ("tool_search.enabled", host.tool_search == Some(false)),
        ("tool_search.threshold", more(host.search_threshold, all.search_threshold, own.threshold)),
        ("tool_search.max_matches", more(host.max_matches, all.max_matches, own.matches)),
        ("summaryDescriptionLimit", more(host.summary_limit, all.summary_limit, own.summary)),
        ("alwaysLoadTools", !host.always_load.is_empty()),
        (
            "retry",
            more(host.retry.attempts, all.retry.attempts, own.attempts)
                || host.retry.initial_delay.is_some()
                || host.retry.max_delay.is_some(),
        ),
        ("trustRules that allow", host.rules.iter().flatten().any(allows)),
    ];
    keys.into_iter().filter(|(_, refused)| *refused).map(|(key, _)| key).collect()
}
