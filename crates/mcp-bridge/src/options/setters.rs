//! Builder-style setters for the options of a bridge.

use std::{path::PathBuf, sync::Arc, time::Duration};

use mcp_audit::Auditor;
use mcp_client::{ClientOptions, Handler};
use mcp_config::ServerConfig;
use mcp_types::Implementation;

use super::{BridgeOptions, Retry};
use crate::{
    connect::Connector,
    hooks::Hook,
    lifecycle::Backoff,
    output::OutputLimits,
    setters::{setters, texts},
    tools::name::NameScheme,
    trust::{Approver, Policy, ToolApprovals},
};

setters! {
    BridgeOptions {
        with_connector => connector(connector: impl Connector + 'static) = Arc::new(connector);
        with_handler => handler(handler: Arc<dyn Handler>) = handler;
        with_client => client(client: ClientOptions) = client;
        with_names => names(names: NameScheme) = names;
        with_keep_hyphens => keep_hyphens(keep: bool) = keep;
        with_project => project(folder: impl Into<PathBuf>) = Some(folder.into());
        with_from_project => from_project(is_from: impl Fn(&ServerConfig) -> bool + Send + Sync + 'static) =
            Some(Arc::new(is_from));
        with_untrusted_sampling => untrusted_sampling(may: bool) = may;
        with_untrusted_roots => untrusted_roots(may: bool) = may;
        with_backoff => backoff(backoff: Backoff) = backoff;
        with_lazy_start => lazy_start(lazy: bool) = lazy;
        with_local_batch => local_batch(most: usize) = most;
        with_remote_batch => remote_batch(most: usize) = most;
        with_max_processes => max_processes(most: usize) = Some(most);
        with_idle_stop => idle_stop(after: Duration) = Some(after);
        with_ping_every => ping_every(every: Duration) = Some(every);
        with_ping_remote_every => ping_remote_every(every: impl Into<Option<Duration>>) = every.into();
        with_list_debounce => list_debounce(within: Duration) = within;
        with_start_limit => start_limit(limit: Duration) = limit;
        with_retry => retry(retry: Retry) = retry;
        with_queue_while_down => queue_while_down(limit: Duration) = Some(limit);
        with_output => output(limits: OutputLimits) = limits;
        with_policy => policy(policy: impl Policy + 'static) = Arc::new(policy);
        with_approver => approver(approver: impl Approver + 'static) = Arc::new(approver);
        with_approvals => approvals(approvals: ToolApprovals) = Arc::new(approvals);
        with_ask_on_change => ask_on_change(ask: bool) = ask;
        with_write_patterns => write_patterns(globs: impl IntoIterator<Item = impl Into<String>>) = texts(globs);
        with_audit => audit(auditor: impl Auditor + 'static) = Some(Arc::new(auditor));
        with_tool_search => tool_search(search: bool) = search;
        with_search_threshold => search_threshold(most: usize) = most;
        with_token_budget => token_budget(tokens: usize) = Some(tokens);
        with_max_matches => max_matches(most: usize) = most;
        with_summary_limit => summary_limit(chars: usize) = chars;
        with_always_load => always_load(globs: impl IntoIterator<Item = impl Into<String>>) = texts(globs);
        with_catalogue => catalogue(folder: impl Into<PathBuf>) = Some(folder.into());
        with_keep_stubs => keep_stubs(keep: bool) = keep;
        with_event_capacity => event_capacity(events: usize) = events;
        with_max_failed_calls => max_failed_calls(most: usize) = most;
    }
}

impl BridgeOptions {
    /// Adds a hook after the existing ones.
    #[must_use]
    pub fn with_hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Sets the name and version that this host sends to servers, in [`client`](Self::client).
    #[must_use]
    pub fn with_client_info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.client.client_info = Implementation::new(name, version);
        self
    }
}

setters! {
    Retry {
        with_delays => delays(delays: Vec<Duration>) = delays;
        with_timeouts => timeouts(retry: bool) = retry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_can_be_built_in_one_expression() {
        let options = BridgeOptions::default()
            .with_client_info("agent", "2.0")
            .with_lazy_start(true)
            .with_always_load(["mcp__files__*"])
            .with_retry(Retry::default().with_timeouts(false))
            .with_output(OutputLimits::default().with_max_chars(5_000))
            .with_ping_remote_every(None);
        assert_eq!(options.client.client_info.name, "agent");
        assert!(options.lazy_start && !options.retry.timeouts);
        assert_eq!((options.output.max_chars, options.always_load.len()), (5_000, 1));
        assert_eq!(options.ping_remote_every, None);
    }
}
