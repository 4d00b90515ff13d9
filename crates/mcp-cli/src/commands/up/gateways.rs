//! Running gateways in `mcp status`.

use serde_json::Value;

use super::control::age;
use crate::{
    exit::Problem,
    host::app::App,
    terminal::{
        out::brief,
        paint::Paint,
        table::{Table, plain},
    },
};

/// Shows each gateway with its servers and its last failures.
pub(super) fn print(app: &App, gateways: &[Value]) -> Result<(), Problem> {
    for gateway in gateways {
        let project = brief(gateway["project"].as_str().unwrap_or_default(), 200);
        let title = Paint::Bold.of(format!("gateway {}", gateway["pid"]));
        app.out.line(title.then(format!(
            " for {project}, up {}, clients {}, calls {}, in flight {}",
            age(&gateway["startedMs"]),
            gateway["clients"],
            gateway["calls"],
            gateway["callsInFlight"],
        )))?;
        servers(gateway).print(app.out)?;
        for failure in gateway["failures"].as_array().into_iter().flatten() {
            let text = |key: &str| brief(failure[key].as_str().unwrap_or_default(), 300);
            let line =
                format!("  {} ago: {}: {}", age(&failure["atMs"]), text("of"), text("reason"));
            app.out.line(Paint::Dim.of(line))?;
        }
        if let Some(log) = gateway["log"].as_str() {
            app.out.line(Paint::Dim.of(format!("  log {}", brief(log, 400))))?;
        }
    }
    Ok(())
}

fn servers(gateway: &Value) -> Table {
    let mut table = Table::new(&["SERVER", "STATE", "TOOLS", "PROBLEM"]);
    for server in gateway["servers"].as_array().into_iter().flatten() {
        let text = |key: &str| brief(server[key].as_str().unwrap_or_default(), 200);
        table.row([
            (text("name"), Paint::Bold),
            plain(text("state")),
            plain(server["tools"].to_string()),
            (text("problem"), Paint::Dim),
        ]);
    }
    table
}
