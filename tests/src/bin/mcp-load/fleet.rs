//! Many servers of every kind, some connected through a separate client, the others through one bridge.

use std::{
    io,
    process::{ExitStatus, Stdio as Pipe},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt as _, stream};
use mcp_bridge::{
    Bridge, BridgeOptions, CallContext, FailureKind, RawJson, ServerConfig, Snapshot,
    connect::{Connector as _, DefaultConnector},
};
use mcp_client::{Client, ClientOptions, EraChoice};
use mcp_config::{Remote, Sdk, Stdio, Transport, model::EraPin};
use mcp_jsonrpc::UnmatchedMessages;
use mcp_server::ToolServer;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, Command},
};

use crate::{plan::Kind, serve, serve::Net};

/// Number of connections opened at once.
const AT_ONCE: usize = 16;
/// Time limit for a process to exit.
const ENDING: Duration = Duration::from_secs(20);

/// One server and its connection.
pub(crate) struct Server {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The client of this server; servers without one are in the bridge.
    client: Option<Client>,
    bridge: Arc<Bridge>,
}

/// A call without a response.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    pub(crate) kind: Option<FailureKind>,
    pub(crate) text: String,
}

impl Server {
    pub(crate) fn is_bridged(&self) -> bool {
        self.client.is_none()
    }

    /// The snapshot that one turn holds. Servers with a separate client need none.
    pub(crate) fn turn(&self) -> Option<Snapshot> {
        self.is_bridged().then(|| self.bridge.snapshot())
    }

    pub(crate) async fn call(
        &self,
        turn: Option<&Snapshot>,
        tool: &str,
        arguments: RawJson,
    ) -> Result<String, NoAnswer> {
        if let Some(client) = &self.client {
            return match client.call_tool_raw(tool, arguments).await {
                Ok(result) if !result.is_error => Ok(result.text()),
                Ok(result) => Err(NoAnswer { kind: None, text: result.text() }),
                Err(error) => Err(NoAnswer { kind: None, text: error.to_string() }),
            };
        }
        let name = format!("mcp__{}__{tool}", self.name);
        let context = CallContext::default();
        let outcome = match turn {
            Some(turn) => turn.call(&name, arguments, context).await,
            None => self.bridge.call(&name, arguments, context).await,
        };
        match &outcome.failure {
            None if !outcome.is_error => Ok(outcome.text_content()),
            failure => Err(NoAnswer {
                kind: failure.as_ref().map(|failure| failure.kind),
                text: outcome.text_content(),
            }),
        }
    }

    /// The unmatched messages its client received.
    pub(crate) fn noise(&self) -> Option<UnmatchedMessages> {
        self.client.as_ref().map(|client| client.diagnostics().noise)
    }

    /// Calls a tool without arguments that returns a number.
    pub(crate) async fn number_of(&self, tool: &str) -> Result<u64, String> {
        let text = self.call(None, tool, RawJson::empty_object()).await;
        let text = text.map_err(|none| format!("{} {tool}: {}", self.name, none.text))?;
        text.parse().map_err(|_| format!("{} {tool}: {text}", self.name))
    }
}

/// A process that runs several servers.
pub(crate) struct Host {
    child: Child,
    input: ChildStdin,
    first: u32,
    addresses: Vec<String>,
}

impl Host {
    async fn start(net: Net, first: u32, count: u32) -> io::Result<Self> {
        let word = if net == Net::Http { "serve-http" } else { "serve-ws" };
        let mut child = Command::new(std::env::current_exe()?)
            .args([word, &first.to_string(), &count.to_string()])
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let input = child.stdin.take().ok_or_else(missing)?;
        let mut lines = BufReader::new(child.stdout.take().ok_or_else(missing)?).lines();
        let mut addresses = Vec::new();
        for _ in 0..count {
            let line = lines.next_line().await?;
            addresses.push(line.ok_or_else(|| io::Error::other("the host of servers ended"))?);
        }
        Ok(Self { child, input, first, addresses })
    }

    fn url(&self, scheme: &str, number: u32) -> Option<String> {
        let address = self.addresses.get(usize::try_from(number.checked_sub(self.first)?).ok()?)?;
        Some(format!("{scheme}://{address}/mcp"))
    }

    /// Makes one of its servers drop all connections and sessions.
    pub(crate) async fn restart(&mut self, number: u32) -> io::Result<()> {
        let line = format!("restart {}\n", number - self.first);
        self.input.write_all(line.as_bytes()).await?;
        self.input.flush().await
    }

    async fn end(mut self) -> io::Result<ExitStatus> {
        drop(self.input);
        if let Ok(status) = tokio::time::timeout(ENDING, self.child.wait()).await {
            return status;
        }
        self.child.kill().await?;
        Err(io::Error::other("a host of servers did not end with its input"))
    }
}

/// All servers of a run.
pub(crate) struct Fleet {
    pub(crate) servers: Vec<Arc<Server>>,
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) http: Host,
    pub(crate) ws: Host,
}

impl Fleet {
    /// Starts `counts` servers of each kind and connects to them: one in `bridged` through the bridge.
    pub(crate) async fn start(
        counts: &[(Kind, u32)],
        bridged: u32,
        mut options: BridgeOptions,
    ) -> Result<Self, String> {
        let count = |wanted: &[Kind]| -> u32 {
            counts.iter().filter(|(kind, _)| wanted.contains(kind)).map(|(_, n)| *n).sum()
        };
        let https = count(&[Kind::HttpModern, Kind::HttpLegacy]);
        let broken = |error: io::Error| format!("a host of servers: {error}");
        let http = Host::start(Net::Http, 0, https).await.map_err(broken)?;
        let ws = Host::start(Net::Ws, https, count(&[Kind::Ws])).await.map_err(broken)?;
        let mut order: Vec<Kind> = Vec::new();
        for kind in [Kind::HttpModern, Kind::HttpLegacy, Kind::Ws, Kind::Stdio, Kind::InProcess] {
            order.extend((0..count(&[kind])).map(|_| kind));
        }
        let mut connector = DefaultConnector::new();
        let mut configs = Vec::new();
        for (number, kind) in (0..).zip(order) {
            let name = format!("s{number:03}");
            if kind == Kind::InProcess {
                let server: ToolServer = serve::server(number);
                connector = connector.register(name.as_str(), Arc::new(server.in_process()));
            }
            let url = |host: &Host, scheme| {
                let url = host.url(scheme, number).ok_or("a server without an address")?;
                Ok::<_, String>(Remote::new(url.as_str()))
            };
            let transport = match kind {
                Kind::HttpModern | Kind::HttpLegacy => Transport::Http(url(&http, "http")?),
                Kind::Ws => Transport::Ws(url(&ws, "ws")?),
                Kind::Stdio => {
                    let program = std::env::current_exe().map_err(|error| error.to_string())?;
                    let mut stdio = Stdio::new(program.display().to_string().as_str());
                    stdio.args = vec!["serve-stdio".into(), number.to_string().as_str().into()];
                    Transport::Stdio(stdio)
                }
                Kind::InProcess => Transport::Sdk(Sdk::default()),
            };
            let parsed = name.parse().map_err(|error| format!("{name}: {error}"))?;
            let mut config = ServerConfig::new(parsed, transport);
            config.trust = true;
            config.era = match kind {
                Kind::HttpLegacy => Some(EraPin::Legacy),
                Kind::HttpModern => Some(EraPin::Modern),
                _ => None,
            };
            configs.push((number, name, kind, config));
        }
        let connector = Arc::new(connector);
        options.connector = connector.clone();
        options.tool_search = false;
        options.client = client_options(None);
        options.local_batch = AT_ONCE;
        let bridge = Arc::new(Bridge::new(options));
        for (number, _, _, config) in &configs {
            if number % bridged == 0 {
                bridge.add_server_as_written(config.clone());
            }
        }
        bridge.start().await;
        let connecting = stream::iter(configs).map(|(number, name, kind, config)| {
            let (connector, bridge) = (connector.clone(), bridge.clone());
            async move {
                let client = if number % bridged == 0 {
                    None
                } else {
                    let way =
                        connector.open(&config).map_err(|error| format!("{name}: {error}"))?;
                    let options = client_options(config.era.as_ref());
                    let client = Client::connect(&*way.connect, options).await;
                    Some(client.map_err(|error| format!("{name}: {error}"))?)
                };
                Ok::<_, String>(Arc::new(Server { number, name, kind, client, bridge }))
            }
        });
        let servers: Vec<_> = connecting.buffered(AT_ONCE).collect().await;
        let servers = servers.into_iter().collect::<Result<_, _>>()?;
        Ok(Self { servers, bridge, http, ws })
    }

    /// Shuts everything down. Returns the problems.
    pub(crate) async fn end(self) -> Vec<String> {
        let closing = self.servers.iter().filter_map(|server| server.client.clone());
        stream::iter(closing)
            .for_each_concurrent(None, |client| async move {
                client.close().await;
            })
            .await;
        self.bridge.shutdown().await;
        drop(self.servers);
        let (http, ws) = futures::future::join(self.http.end(), self.ws.end()).await;
        [http, ws].into_iter().filter_map(Result::err).map(|error| error.to_string()).collect()
    }
}

fn client_options(era: Option<&EraPin>) -> ClientOptions {
    let mut options = ClientOptions::default();
    options.era = match era {
        Some(EraPin::Legacy) => EraChoice::Legacy,
        Some(EraPin::Modern) => EraChoice::Modern,
        _ => EraChoice::Auto,
    };
    // Hundreds of processes start at once on a busy machine.
    options.handshake_timeout = Duration::from_secs(60);
    options.probe_timeout = Duration::from_secs(30);
    options.request_timeout = Duration::from_secs(60);
    options
}
