//! The login tool, which a server that needs a login offers in place of its tools.

use std::sync::{Arc, Mutex, Weak};

use futures_core::future::BoxFuture;
use mcp_client::{Delivery, Progress, RawJson, types::OnProgress};
use mcp_tool::{CallContext, FailureKind, Offer, ToolOutcome, ToolSpec};
use serde_json::json;

use super::{Server, offered::Use};
use crate::{
    connect::{ConfirmPage, Login, LoginFailure, LoginPage, LoginUser, UserMessage},
    lifecycle::{Fact, ServerStatus},
    sanitize::clean,
    sync::lock,
    tools::scope::{Scope, ScopedTool},
};

/// The maximum number of tool names in the outcome of a login.
const MOST_NAMED: usize = 30;

/// Logs the user in to one server.
pub(crate) struct LoginTool {
    spec: ToolSpec,
    server: Weak<Server>,
}

impl LoginTool {
    pub(crate) fn new(name: String, server: &Arc<Server>) -> Self {
        let mut spec = server.offered(Offer::Login);
        spec.name = name;
        spec.description = format!(
            "Logs the user in to the MCP server {}. Its tools are available afterwards.",
            server.name
        );
        Self { spec, server: Arc::downgrade(server) }
    }
}

impl ScopedTool for LoginTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _: RawJson, context: CallContext, scope: Scope) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let Some(server) = self.server.upgrade() else {
                return ToolOutcome::error("this server was removed");
            };
            let shown = Arc::new(Mutex::new(Vec::new()));
            let tell = show_and_record(shown.clone(), context.on_progress.clone());
            let refusal = Arc::new(Mutex::new(None));
            let confirm = confirm(&server, scope.clone(), context, refusal.clone());
            let done = server.login(LoginUser { tell, confirm }, true).await;
            if let Some(refused) = lock(&refusal).take() {
                return refused;
            }
            match done {
                Ok(status) => {
                    let mut lines = std::mem::take(&mut *lock(&shown));
                    lines.push(server.login_result(&status, &scope));
                    ToolOutcome::text(lines.join("\n"))
                }
                Err(failure) => {
                    let text = clean(&failure.report(), 600).text;
                    ToolOutcome::failed(FailureKind::Auth, Delivery::NotSent, text)
                }
            }
        })
    }
}

/// Asks for consent to open a page, and records a refusal.
fn confirm(
    server: &Arc<Server>,
    scope: Scope,
    context: CallContext,
    refusal: Arc<Mutex<Option<ToolOutcome>>>,
) -> ConfirmPage {
    let (server, hub) = (Arc::downgrade(server), server.hub.clone());
    Arc::new(move |page: LoginPage| {
        let (server, hub) = (server.upgrade(), hub.upgrade());
        let (scope, context, refusal) = (scope.clone(), context.clone(), refusal.clone());
        Box::pin(async move {
            let (Some(server), Some(hub)) = (server, hub) else { return false };
            let use_of = Use { hub: &hub, scope: &scope, context: &context };
            let question = json!({"login_page": page.page, "token_is_given_to": page.token_for});
            let answer = server.permit(use_of, Offer::Login, question).await;
            let is_yes = answer.is_ok();
            *lock(&refusal) = answer.err();
            is_yes
        })
    })
}

/// Shows each message to the user as progress during the login, and records it for the outcome.
fn show_and_record(shown: Arc<Mutex<Vec<String>>>, on_progress: Option<OnProgress>) -> UserMessage {
    Arc::new(move |text: String| {
        let text = clean(&text, 2_000).text;
        let mut shown = lock(&shown);
        shown.push(text.clone());
        if let Some(on_progress) = &on_progress {
            #[expect(clippy::cast_precision_loss, reason = "a login shows few messages")]
            let mut progress = Progress::new(shown.len() as f64);
            progress.message = Some(text);
            on_progress(progress);
        }
    })
}

impl Server {
    /// Logs the user in, reconnects, and waits until the server is connected or has failed. `must_confirm`: the
    /// user did not request the login and is asked first.
    pub(crate) async fn login(
        &self,
        user: LoginUser,
        must_confirm: bool,
    ) -> Result<ServerStatus, LoginFailure> {
        let login = self.login_handler()?;
        if must_confirm && !login.confirms_page() {
            let page = LoginPage::new("unknown", self.address().unwrap_or_default());
            if !(user.confirm)(page).await {
                return Err(LoginFailure::Cancelled);
            }
        }
        login.login(user).await?;
        self.reopened(Fact::LoggedIn).await;
        Ok(self.status())
    }

    /// Logs the user out and closes the connection.
    pub(crate) async fn logout(&self) -> Result<(), LoginFailure> {
        self.login_handler()?.logout().await?;
        let mut state = self.watch();
        self.tell(Fact::LoggedOut);
        let is_out =
            |status: &ServerStatus| status.state.needs_login() || status.state.is_disabled();
        let _ = tokio::time::timeout(self.start_limit(), state.wait_for(is_out)).await;
        Ok(())
    }

    /// The result of a login for the model: the new tools, or why none are available.
    fn login_result(&self, status: &ServerStatus, scope: &Scope) -> String {
        let name = &self.name;
        if !status.state.is_connected() {
            let problem = status.problem.as_deref().unwrap_or("it is still starting");
            return format!("logged in to {name}, but it is not connected: {problem}");
        }
        let offered = self.hub.upgrade().map(|hub| hub.registry.offered_by(name));
        let offered = offered.unwrap_or_default();
        let specs = offered.iter().map(|tool| tool.tool.spec());
        let mut names: Vec<&str> = specs
            .filter(|spec| scope.caller.filter.admits(spec))
            .map(|spec| spec.name.as_str())
            .collect();
        let more = names.len().saturating_sub(MOST_NAMED);
        names.truncate(MOST_NAMED);
        match (names.as_slice(), more) {
            ([], _) => format!("logged in to {name}, which offers no tools"),
            (names, 0) => format!("logged in to {name}; its tools: {}", names.join(", ")),
            (names, _) => {
                format!("logged in to {name}; its tools: {} and {more} more", names.join(", "))
            }
        }
    }

    /// Whether the server supports login, by its known login or its connector.
    pub(crate) fn can_log_in(&self) -> bool {
        self.login_handler().is_ok()
    }

    fn address(&self) -> Option<&str> {
        self.config.transport.remote().map(|remote| remote.url.unexpanded())
    }

    fn login_handler(&self) -> Result<Arc<dyn Login>, LoginFailure> {
        let login = self.live().login.clone();
        // Before the first connection attempt, only the connector knows the login.
        login
            .or_else(|| self.hub.upgrade()?.options.connector.login(&self.config))
            .ok_or_else(|| LoginFailure::NoLogin(self.name.to_string()))
    }
}
