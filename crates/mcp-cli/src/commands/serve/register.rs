//! Makes a gateway visible to `mcp status`, whether it shares its servers or not.

use mcp_gateway::Gateway;

use super::journal::Journal;
use crate::host::app::App;

/// Answers `mcp status` for as long as the gateway runs. Never ends by itself.
#[cfg(unix)]
pub(super) async fn run(app: &App, gateway: &Gateway, journal: &Journal) {
    use crate::host::background::gateways;
    if let Some(state) = &app.config.places.state {
        match gateways::register(state) {
            Ok(socket) => gateways::answer(socket, || journal.status(gateway)).await,
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
