//! Opens a connection: waits for a start slot, connects, performs the handshake and fetches the lists.

use std::{sync::Arc, time::Duration};

use mcp_client::{
    Client, ClientOptions, EraChoice, Subscription,
    diagnostics::ErrorClass,
    request::ListenFilter,
    types::{Prompt, Tool as Listed, lists::Listing},
};
use mcp_config::{ServerConfig, Transport, model::EraPin};
use mcp_transport::{Connect, Locality};
use mcp_types::method;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Instrument;

use super::{Server, failure::FailureRecord};
use crate::{
    connect::Connector,
    failure_names::class_name,
    options::BridgeOptions,
    trace::{self, Endpoint},
};

/// Package runners, which download the server on the first start.
const RUNNERS: &[&str] =
    &["npx", "npm", "pnpm", "bunx", "yarn", "uvx", "uv", "pipx", "docker", "deno"];

/// A start that takes longer releases its start slot.
const START_SLOT_LIMIT: Duration = Duration::from_secs(2);

/// Limits on starts, shared by all servers of a bridge.
pub(crate) struct Starts {
    connector: Arc<dyn Connector>,
    client: ClientOptions,
    /// How many servers may start at once.
    local: Semaphore,
    remote: Semaphore,
    /// How many local servers may run at once.
    processes: Option<Arc<Semaphore>>,
}

impl Starts {
    pub(crate) fn new(options: &BridgeOptions) -> Self {
        Self {
            connector: options.connector.clone(),
            client: options.client.clone(),
            local: Semaphore::new(options.local_batch.max(1)),
            remote: Semaphore::new(options.remote_batch.max(1)),
            processes: options.max_processes.map(|most| Arc::new(Semaphore::new(most.max(1)))),
        }
    }
}

/// An open connection and its lists.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) lists: Lists,
    /// Keeps the server sending notifications about list changes.
    pub(super) _subscription: Option<Subscription>,
    /// Released when the connection has ended: a slot of the process limit, and the process slot of this
    /// server.
    pub(super) _process: Option<OwnedSemaphorePermit>,
    pub(super) _own_process: Option<OwnedSemaphorePermit>,
}

/// The lists of a server.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) tools: Listing<Listed>,
    pub(super) prompts: Vec<Prompt>,
}

/// Opens a connection within its time limits.
///
/// # Cancel safety
/// A dropped attempt leaves no process or socket behind.
pub(super) async fn open(server: &Arc<Server>) -> Result<Opened, FailureRecord> {
    let starts = &server.starts;
    let way =
        starts.connector.open(&server.config).map_err(|error| FailureRecord::connect(&error))?;
    server.live().login.clone_from(&way.login);
    let options = client_options(server);
    let limit = options.handshake_timeout;
    let is_local = way.connect.locality() == Locality::Local;
    // A process that is still exiting may hold a port, a lock or a file that the next one needs.
    let own_process =
        if is_local { server.own_process.clone().acquire_owned().await.ok() } else { None };
    let process = match &starts.processes {
        Some(budget) if is_local => Some(process_slot(budget, limit).await?),
        _ => None,
    };
    let gate = if is_local { &starts.local } else { &starts.remote };
    // Held until the lists are fetched, because that is when a start is expensive.
    let turn = gate.acquire().await.ok();
    let (client, lists, subscription) =
        with_start_slot(turn, START_SLOT_LIMIT, connect(&server.endpoint, &*way.connect, options))
            .await?;
    Ok(Opened {
        client,
        lists,
        _subscription: subscription,
        _process: process,
        _own_process: own_process,
    })
}

/// Runs `work` while holding a start slot. After `limit` the slot is released and the work continues.
async fn with_start_slot<P, T>(slot: P, limit: Duration, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(limit, &mut work).await {
        return done;
    }
    drop(slot);
    work.await
}

/// Performs the handshake and fetches all lists.
async fn connect(
    server: &Endpoint,
    way: &dyn Connect,
    options: ClientOptions,
) -> Result<(Client, Lists, Option<Subscription>), FailureRecord> {
    let limit = options.handshake_timeout;
    let span = trace::handshake(server);
    let connected = Client::connect(way, options).instrument(span.clone()).await;
    match &connected {
        Ok(client) => {
            span.record("mcp.protocol.version", tracing::field::display(client.server().version))
        }
        Err(error) => span.record("error.type", class_name(error.class())),
    };
    let client = connected.map_err(|error| FailureRecord::handshake(&error))?;
    // The limit covers all pages, so that endless pages do not block other starts.
    let lists = match tokio::time::timeout(limit, list(server, &client)).await {
        Ok(Ok(lists)) => lists,
        Ok(Err(error)) => {
            let failure = FailureRecord::list(&error, client.diagnostics());
            client.close().await;
            return Err(failure);
        }
        Err(_) => {
            let text = format!("listing its tools took longer than {} s", limit.as_secs());
            let mut failure = FailureRecord::new(method::TOOLS_LIST, ErrorClass::Transient, &text);
            failure.diagnostics = Some(client.diagnostics());
            client.close().await;
            return Err(failure);
        }
    };
    // Subscribing is optional: a server that does not support it is still usable.
    let listening = tokio::time::timeout(limit, client.listen(ListenFilter::lists()));
    let subscription = listening.await.ok().and_then(Result::ok);
    Ok((client, lists, subscription))
}

/// Waits for a free process slot, up to a limit.
async fn process_slot(
    budget: &Arc<Semaphore>,
    limit: Duration,
) -> Result<OwnedSemaphorePermit, FailureRecord> {
    let permit = tokio::time::timeout(limit, budget.clone().acquire_owned()).await;
    permit.ok().and_then(Result::ok).ok_or_else(|| {
        let text = "the maximum number of local servers is already running";
        FailureRecord::new("start", ErrorClass::Transient, text)
    })
}

/// Fetches all lists that the server's capabilities declare.
pub(super) async fn list(
    server: &Endpoint,
    client: &Client,
) -> Result<Lists, mcp_client::CallError> {
    let capabilities = &client.server().capabilities;
    let mut lists = Lists::default();
    if capabilities.tools.is_some() {
        lists.tools = listed(server, method::TOOLS_LIST, client.list_tools()).await?;
    }
    if capabilities.prompts.is_some() {
        // A failure to list prompts is ignored: the tools are usable without them.
        let prompts = listed(server, method::PROMPTS_LIST, client.list_prompts()).await;
        lists.prompts = prompts.map(|list| list.items).unwrap_or_default();
    }
    Ok(lists)
}

/// Fetches one list in its own span.
async fn listed<T>(
    server: &Endpoint,
    method: &'static str,
    list: impl Future<Output = Result<Listing<T>, mcp_client::CallError>>,
) -> Result<Listing<T>, mcp_client::CallError> {
    let span = trace::list(server, method);
    let listed = list.instrument(span.clone()).await;
    match &listed {
        Ok(list) => span.record("mcp.list.items", list.items.len()),
        Err(error) => span.record("error.type", class_name(error.class())),
    };
    listed
}

fn client_options(server: &Arc<Server>) -> ClientOptions {
    let mut options = server.starts.client.clone();
    options.handler = server.router.clone();
    options.handshake_timeout = startup_limit(&server.config, options.handshake_timeout);
    if let Some(call) = server.config.timeouts.call {
        options.call_idle_timeout = call;
    }
    options.call_total_timeout = call_total(server);
    options.era = match &server.config.era {
        Some(EraPin::Legacy) => EraChoice::Legacy,
        Some(EraPin::Modern) => EraChoice::Modern,
        Some(EraPin::Version(version)) => {
            if version.as_str() > "2025-11-25" {
                EraChoice::Modern
            } else {
                EraChoice::Legacy
            }
        }
        _ => options.era,
    };
    options
}

/// The total time limit of a call that does not set its own.
pub(super) fn call_total(server: &Server) -> Duration {
    let timeouts = &server.config.timeouts;
    let default = server.starts.client.call_total_timeout;
    timeouts.total.unwrap_or_else(|| timeouts.call.map_or(default, |call| default.max(call)))
}

fn startup_limit(config: &ServerConfig, default: Duration) -> Duration {
    if let Some(limit) = config.timeouts.startup {
        return limit;
    }
    let Transport::Stdio(program) = &config.transport else { return default };
    let command = program.command.unexpanded();
    let file = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let file = file.strip_suffix(".cmd").or(file.strip_suffix(".exe")).unwrap_or(file);
    if RUNNERS.contains(&file) { default.max(Duration::from_secs(30)) } else { default }
}

/// Whether a failed connection needs a login.
pub(super) fn is_auth(class: ErrorClass) -> bool {
    class == ErrorClass::Auth
}

#[cfg(test)]
mod tests {
    use mcp_config::Stdio;

    use super::*;

    #[test]
    fn package_runner_gets_a_longer_start_limit_unless_configured() {
        let limit = |command: &str, said: Option<u64>| {
            let transport = Transport::Stdio(Stdio::new(command));
            let mut config = ServerConfig::new("s".parse().unwrap(), transport);
            config.timeouts.startup = said.map(Duration::from_secs);
            startup_limit(&config, Duration::from_secs(15)).as_secs()
        };
        assert_eq!(limit("npx", None), 30);
        assert_eq!(limit("C:\\node\\npx.cmd", None), 30);
        assert_eq!(limit("/usr/bin/uvx", Some(5)), 5);
        assert_eq!(limit("mcp-files", None), 15);
    }
}
