//! Opening a connection: its turn, the way, the handshake, the lists.

use std::{sync::Arc, time::Duration};

use mcp_client::{
    Client, ClientOptions, EraChoice, ErrorClass, ListenFilter, Listing, Prompt, Subscription,
    Tool as Listed,
};
use mcp_config::{EraPin, ServerConfig, Transport};
use mcp_transport::Locality;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Server, failure::FailureRecord};
use crate::{bridge::BridgeOptions, connector::Connector};

/// Programs that fetch what they run, which takes a while the first time.
const RUNNERS: &[&str] =
    &["npx", "npm", "pnpm", "bunx", "yarn", "uvx", "uv", "pipx", "docker", "deno"];

/// What every start needs, shared by all servers of a bridge.
pub(crate) struct Starts {
    connector: Arc<dyn Connector>,
    client: ClientOptions,
    /// How many may start at once.
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

/// An open connection and what was learnt from it.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) lists: Lists,
    /// Keeps modern servers telling us of changes.
    pub(super) _subscription: Option<Subscription>,
    /// Given back when the connection has ended: one of the processes we may have, and the one this server
    /// may be.
    pub(super) _process: Option<OwnedSemaphorePermit>,
    pub(super) _seat: Option<OwnedSemaphorePermit>,
}

/// What a server offers.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) tools: Listing<Listed>,
    pub(super) prompts: Vec<Prompt>,
}

/// Opens a connection, within its limits.
///
/// # Cancel safety
/// A dropped attempt leaves nothing behind.
pub(super) async fn open(server: &Arc<Server>) -> Result<Opened, FailureRecord> {
    let starts = &server.starts;
    let way =
        starts.connector.open(&server.config).map_err(|error| FailureRecord::connect(&error))?;
    server.live().login.clone_from(&way.login);
    let options = client_options(server);
    let limit = options.handshake_timeout;
    let is_local = way.connect.locality() == Locality::Local;
    // One that is still ending may hold a port, a lock or a file that the next one needs.
    let seat = if is_local { server.seat.clone().acquire_owned().await.ok() } else { None };
    let process = match &starts.processes {
        Some(budget) if is_local => Some(room(budget, limit).await?),
        _ => None,
    };
    let gate = if is_local { &starts.local } else { &starts.remote };
    // Held until the lists are there: that is when a server's start costs something.
    let _turn = gate.acquire().await.ok();
    let client = Client::connect(&*way.connect, options)
        .await
        .map_err(|error| FailureRecord::handshake(&error))?;
    // In all: one that hands out page after page would keep others from their turn.
    let lists = match tokio::time::timeout(limit, list(&client)).await {
        Ok(Ok(lists)) => lists,
        Ok(Err(error)) => {
            let failure = FailureRecord::list(&error, client.diagnostics());
            client.close().await;
            return Err(failure);
        }
        Err(_) => {
            let text =
                format!("the list of its tools was not complete after {} s", limit.as_secs());
            let mut failure = FailureRecord::new("tools/list", ErrorClass::Transient, &text);
            failure.diagnostics = Some(client.diagnostics());
            client.close().await;
            return Err(failure);
        }
    };
    // A server that does not tell of changes is a server all the same.
    let listening = tokio::time::timeout(limit, client.listen(ListenFilter::lists()));
    let subscription = listening.await.ok().and_then(Result::ok);
    Ok(Opened { client, lists, _subscription: subscription, _process: process, _seat: seat })
}

/// One of the processes we may have, once one is free. Nobody waits for that for ever.
async fn room(
    budget: &Arc<Semaphore>,
    limit: Duration,
) -> Result<OwnedSemaphorePermit, FailureRecord> {
    let permit = tokio::time::timeout(limit, budget.clone().acquire_owned()).await;
    permit.ok().and_then(Result::ok).ok_or_else(|| {
        let text = "as many local servers run as this host allows at once";
        FailureRecord::new("start", ErrorClass::Transient, text)
    })
}

/// Everything a server lists, as far as it has such lists.
pub(super) async fn list(client: &Client) -> Result<Lists, mcp_client::CallError> {
    let capabilities = &client.server().capabilities;
    let mut lists = Lists::default();
    if capabilities.tools.is_some() {
        lists.tools = client.list_tools().await?;
    }
    if capabilities.prompts.is_some() {
        // Tools are what it is here for; prompts it cannot list are none.
        lists.prompts = client.list_prompts().await.map(|l| l.items).unwrap_or_default();
    }
    Ok(lists)
}

fn client_options(server: &Arc<Server>) -> ClientOptions {
    let mut options = server.starts.client.clone();
    options.handler = server.router.clone();
    options.handshake_timeout = startup_limit(&server.config, options.handshake_timeout);
    if let Some(call) = server.config.timeouts.call {
        options.call_idle_timeout = call;
        options.call_total_timeout = options.call_total_timeout.max(call);
    }
    if let Some(total) = server.config.timeouts.total {
        options.call_total_timeout = total;
    }
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

/// What a failure of a connection that was open calls for.
pub(super) fn is_auth(class: ErrorClass) -> bool {
    class == ErrorClass::Auth
}

#[cfg(test)]
mod tests {
    use mcp_config::Stdio;

    use super::*;

    #[test]
    fn a_package_runner_gets_more_time_unless_the_configuration_says_otherwise() {
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
