//! Makes a gateway visible to `mcp status` and `mcp logs`, whether it shares its servers or not.

use mcp_gateway::Gateway;

use super::journal::Journal;
use crate::host::app::App;

/// Answers `mcp status` and `mcp logs` for as long as the gateway runs. Never ends by itself.
#[cfg(unix)]
pub(super) async fn run(app: &App, gateway: &Gateway, journal: &Journal) {
    use serde_json::Value;

    use crate::host::background::gateways;
    if let Some(state) = &app.config.places.state {
        match gateways::register(state) {
            Ok(socket) => {
                let place = app.host_place().ok();
                let answer = |request: &Value| {
                    if request["status"] == true {
                        return Some(journal.status(gateway));
                    }
                    let name = request["logs"].as_str()?;
                    let is_here = request["configuration"] == place.as_ref()?.key();
                    app.diagnostics(name).filter(|_| is_here).map(|said| journal.logs(name, &said))
                };
                gateways::answer(socket, answer).await;
            }
            Err(error) => {
                app.out.remark(format!("`mcp status` will not show this gateway: {error}"));
            }
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(not(unix))]
pub(super) async fn run(_: &App, _: &Gateway, _: &Journal) {
    std::future::pending::<()>().await;
}
