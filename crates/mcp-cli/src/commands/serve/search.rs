//! Flags that decide which tools the gateway lists, what a search returns, and how calls are retried.

use clap::{Arg, ArgAction, ArgMatches, parser::ValueSource, value_parser};
use mcp_bridge::BridgeOptions;
use mcp_config::model::HostSettings;
use mcp_gateway::ToolMode;

use super::super::{text, texts};

pub(super) fn arguments() -> [Arg; 6] {
    [
        Arg::new("mode")
            .long("mode")
            .value_parser(["auto", "all", "search"])
            .default_value("auto")
            .help("Which tools are offered; auto: search above --search-threshold; search: lazy loading"),
        Arg::new("search-threshold")
            .long("search-threshold")
            .value_name("TOOLS")
            .value_parser(value_parser!(usize))
            .conflicts_with("mode")
            .help("Above this number, tools are searched instead of listed [default: 20]"),
        Arg::new("max-matches")
            .long("max-matches")
            .value_name("TOOLS")
            .value_parser(from_one)
            .help("Maximum number of tools per search, also if the model asks for more [default: 10]"),
        Arg::new("summary-limit")
            .long("summary-limit")
            .value_name("CHARACTERS")
            .value_parser(from_one)
            .help("Length of descriptions in the lists of tool_list [default: 200]"),
        Arg::new("retry")
            .long("retry")
            .value_name("ATTEMPTS")
            .value_parser(from_one)
            .help("How often a call with a temporary failure is tried, including the first time [default: 3]"),
        Arg::new("always-load")
            .long("always-load")
            .value_name("GLOB")
            .action(ArgAction::Append)
            .help("List these in search mode too, such as mcp__files__*"),
    ]
}

fn from_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a number from 1".to_owned())
}

/// Returns the mode from the flag, or from the files if the flag is `auto`.
pub(super) fn mode(matches: &ArgMatches, host: &HostSettings) -> ToolMode {
    let is_default = matches.value_source("mode") == Some(ValueSource::DefaultValue);
    match text(matches, "mode") {
        _ if is_default && host.tool_search == Some(false) => ToolMode::All,
        "all" => ToolMode::All,
        "search" => ToolMode::Search,
        _ => ToolMode::Auto,
    }
}

/// Applies the flags, which take precedence over the settings of files.
pub(super) fn apply(matches: &ArgMatches, host: &HostSettings, options: &mut BridgeOptions) {
    let flag = |name: &str| matches.get_one(name).copied();
    if let Some(threshold) = flag("search-threshold").or(host.search_threshold) {
        options.search_threshold = threshold;
    }
    if let Some(most) = flag("max-matches").or(host.max_matches) {
        options.max_matches = most;
    }
    let mut given = HostSettings::default();
    given.summary_limit = flag("summary-limit");
    if let Some(attempts) = flag("retry") {
        given.retry = host.retry;
        given.retry.attempts = Some(attempts);
    }
    options.apply(&given);
    options.always_load.extend(texts(matches, "always-load"));
}
