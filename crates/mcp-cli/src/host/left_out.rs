//! Servers that a list or a search left out, because their tools, prompts and resources are unknown.

use mcp_bridge::Bridge;
use serde_json::{Value, json};

use crate::{
    host::{app::App, tools},
    terminal::out::brief,
};

/// A server without a catalogue that could not be asked for one.
struct LeftOut {
    server: String,
    state: &'static str,
    reason: String,
    /// Whether it was not tried, because it failed in the last minutes. A remark has named it already.
    is_remembered: bool,
}

/// Names on stderr the servers that were left out, and returns them for `--json`.
pub(crate) fn report(app: &App, bridge: &Bridge) -> Vec<Value> {
    let all = left_out(app, bridge);
    let named = |state: &str| -> Vec<&str> {
        let now = all.iter().filter(|one| one.state == state && !one.is_remembered);
        now.map(|one| one.server.as_str()).collect()
    };
    let failed = named(FAILED);
    if let Some(first) = failed.first() {
        app.out.remark(format!(
            "not searched, because they are unavailable: {} (`mcp explain {first}` shows why)",
            failed.join(", ")
        ));
    }
    let locked = named(NEEDS_LOGIN);
    if let Some(first) = locked.first() {
        app.out.remark(format!(
            "not searched, because they require a login: {} ({})",
            locked.join(", "),
            app.config.login_hint(first)
        ));
    }
    let described =
        |one: &LeftOut| json!({"server": one.server, "state": one.state, "reason": one.reason});
    all.iter().map(described).collect()
}

/// The words of `mcp list`.
const FAILED: &str = "failed";
const NEEDS_LOGIN: &str = "needs-auth";

fn left_out(app: &App, bridge: &Bridge) -> Vec<LeftOut> {
    let failures = app.failures();
    let mut all = Vec::new();
    for status in bridge.status() {
        if tools::known(bridge, &status.name).is_some() {
            continue;
        }
        let remembered = failures.of(&status.name).filter(|_| status.state.is_idle());
        let now = || tools::unreachable(app, bridge, &status.name).map(|problem| problem.message);
        let Some(reason) = remembered.map(str::to_owned).or_else(now) else { continue };
        let state = if status.state.needs_login() { NEEDS_LOGIN } else { FAILED };
        all.push(LeftOut {
            server: status.name.to_string(),
            state,
            reason: brief(&reason, 500),
            is_remembered: remembered.is_some(),
        });
    }
    all
}
