//! Converts settings from configuration files into bridge options.

use std::time::Duration;

use mcp_config::model::{HostSettings, RetrySettings, RuleAction, TrustRule};

use crate::{
    options::{BridgeOptions, Retry},
    trust::{Action, Rule, Rules},
};

/// The delay before the first retry, if a file sets the number of attempts but no delay.
const FIRST_DELAY: Duration = Duration::from_millis(200);

impl BridgeOptions {
    /// Applies the settings of files. Their rules are separate: pass [`Rules::of_files`] to a policy.
    ///
    /// ```
    /// let mut settings = mcp_config::model::HostSettings::default();
    /// settings.max_matches = Some(5);
    /// let mut options = mcp_bridge::BridgeOptions::default();
    /// options.apply(&settings);
    /// assert_eq!((options.max_matches, options.search_threshold), (5, 20));
    /// ```
    pub fn apply(&mut self, settings: &HostSettings) {
        let HostSettings { tool_search, search_threshold, max_matches, summary_limit, .. } =
            settings;
        self.tool_search = tool_search.unwrap_or(self.tool_search);
        self.search_threshold = search_threshold.unwrap_or(self.search_threshold);
        self.max_matches = max_matches.unwrap_or(self.max_matches);
        self.summary_limit = summary_limit.unwrap_or(self.summary_limit);
        self.always_load.extend(settings.always_load.iter().cloned());
        if settings.retry != RetrySettings::default() {
            self.retry.delays = delays(&settings.retry);
        }
    }
}

/// The delays before each retry: doubled each time, up to the maximum.
fn delays(retry: &RetrySettings) -> Vec<Duration> {
    let first = retry.initial_delay.unwrap_or(FIRST_DELAY);
    let longest = retry.max_delay.unwrap_or(Duration::from_secs(30));
    let tries = retry.attempts.unwrap_or(Retry::default().delays.len() + 1).min(100);
    let doubled = std::iter::successors(Some(first), |delay| Some(delay.saturating_mul(2)));
    doubled.take(tries.saturating_sub(1)).map(|delay| delay.min(longest)).collect()
}

impl Rules {
    /// The rules of configuration files, with one scope per file.
    pub fn of_files(settings: &HostSettings) -> Self {
        Self::new(settings.rules.iter().map(|file| file.iter().map(Rule::from).collect()))
    }
}

impl From<&TrustRule> for Rule {
    fn from(written: &TrustRule) -> Self {
        let action = match written.action {
            RuleAction::Allow => Action::Allow,
            RuleAction::Ask => Action::Ask,
            RuleAction::Deny => Action::Deny,
        };
        Self { pattern: written.pattern.clone(), ..Self::new(&written.permission, action) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delays_from_settings_double_up_to_the_maximum() {
        let mut settings = HostSettings::default();
        settings.retry.attempts = Some(5);
        settings.retry.initial_delay = Some(Duration::from_millis(100));
        settings.retry.max_delay = Some(Duration::from_millis(300));
        let mut options = BridgeOptions::default();
        options.apply(&HostSettings::default());
        assert_eq!(options.retry, Retry::default(), "empty settings change nothing");
        options.apply(&settings);
        let delays: Vec<_> = options.retry.delays.iter().map(Duration::as_millis).collect();
        assert_eq!(delays, [100, 200, 300, 300]);
        settings.retry.attempts = Some(1);
        options.apply(&settings);
        assert!(options.retry.delays.is_empty(), "no retries");
    }
}
