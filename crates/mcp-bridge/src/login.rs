//! The one tool that a server offers which needs a login.

use std::sync::{Arc, Mutex, Weak};

use futures_core::future::BoxFuture;
use mcp_client::{Delivery, OnProgress, Progress, RawJson};

use crate::{
    connector::{Login, TellUser},
    context::CallContext,
    hygiene::clean,
    lifecycle::Fact,
    outcome::{FailureKind, ToolOutcome},
    server::{Server, lock},
    tool::{Hints, Tool, ToolSpec},
};

/// Logs the user in to one server.
pub(crate) struct LoginTool {
    spec: ToolSpec,
    server: Weak<Server>,
}

impl LoginTool {
    pub(crate) fn new(name: String, server: &Arc<Server>) -> Self {
        let description =
            format!("Logs the user in to the MCP server {}, whose tools then appear.", server.name);
        let mut spec = ToolSpec::new(name, description);
        // It changes nothing but who we are, and the user decides in the browser.
        spec.hints = Hints { open_world: Some(true), ..Hints::reading() };
        Self { spec, server: Arc::downgrade(server) }
    }
}

impl Tool for LoginTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let Some(server) = self.server.upgrade() else {
                return ToolOutcome::error("this server was removed");
            };
            let shown = Arc::new(Mutex::new(Vec::new()));
            match server.login(teller(shown.clone(), context.on_progress)).await {
                Ok(()) => {
                    let mut lines = std::mem::take(&mut *lock(&shown));
                    lines.push(format!("logged in to {}", server.name));
                    ToolOutcome::text(lines.join("\n"))
                }
                Err(text) => ToolOutcome::failed(FailureKind::Auth, Delivery::NotSent, text),
            }
        })
    }
}

/// Shows an address while it is of use, as progress, and keeps it for the outcome.
fn teller(shown: Arc<Mutex<Vec<String>>>, on_progress: Option<OnProgress>) -> TellUser {
    Arc::new(move |text: String| {
        let text = clean(&text, 2_000).text;
        let mut shown = lock(&shown);
        shown.push(text.clone());
        if let Some(on_progress) = &on_progress {
            #[expect(clippy::cast_precision_loss, reason = "nobody is told so many things")]
            let mut progress = Progress::new(shown.len() as f64);
            progress.message = Some(text);
            on_progress(progress);
        }
    })
}

impl Server {
    /// Logs the user in and connects again.
    pub(crate) async fn login(&self, tell: TellUser) -> Result<(), String> {
        self.way_in()?.login(tell).await.map_err(|problem| failed(&problem))?;
        self.tell(Fact::LoggedIn);
        Ok(())
    }

    /// Logs the user out and ends the connection.
    pub(crate) async fn logout(&self) -> Result<(), String> {
        self.way_in()?.logout().await.map_err(|problem| failed(&problem))?;
        self.tell(Fact::LoggedOut);
        Ok(())
    }

    fn way_in(&self) -> Result<Arc<dyn Login>, String> {
        let login = self.live().login.clone();
        // Known to need a login from last time: nobody has looked for the way yet.
        login.or_else(|| self.way_to_log_in()).ok_or_else(|| {
            format!(
                "authentication failed: mcp server {} offers no login here; set its credentials in the configuration",
                self.name
            )
        })
    }
}

fn failed(problem: &str) -> String {
    format!("authentication failed: {}", clean(problem, 500).text)
}
