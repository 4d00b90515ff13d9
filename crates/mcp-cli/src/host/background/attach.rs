//! Connects a command to a server of the background host.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use mcp_bridge::{
    ServerConfig,
    connect::{Connector, Login, ServerRoute},
    tool::BoxFuture,
};
use mcp_config::{Environment, Transport, expand, expand::AskInput};
use mcp_transport::{
    Connect, ConnectError, InProcess, Inbound, Inlet, Link, Locality, diagnostics::CloseReport,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::wire::{self, ServerEnd};
use crate::{
    host::secrets::StoredSecrets,
    terminal::out::{Out, brief},
};

/// A connector that uses the background host for local servers, and `inner` for all others.
pub(crate) struct AttachingConnector {
    pub(crate) inner: Arc<dyn Connector>,
    pub(crate) socket: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) secrets: Arc<StoredSecrets>,
    pub(crate) out: Out,
    /// The servers whose refusal was reported.
    pub(crate) refused: Arc<Mutex<BTreeSet<String>>>,
}

impl Connector for AttachingConnector {
    fn open(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        let mut way = self.inner.open(config)?;
        let folder = env::current_dir().unwrap_or_default();
        if let Some(digest) = digest(config, &self.environment, &*self.secrets, &folder) {
            way.connect = Arc::new(AttachOrStart {
                socket: self.socket.clone(),
                server: config.name.to_string(),
                digest,
                folder,
                direct: way.connect,
                out: self.out,
                refused: self.refused.clone(),
            });
        }
        Ok(way)
    }

    fn login(&self, config: &ServerConfig) -> Option<Arc<dyn Login>> {
        self.inner.login(config)
    }

    fn is_refused(&self, config: &ServerConfig) -> bool {
        self.inner.is_refused(config)
    }
}

/// Hashes everything that identifies a local server: its entry, the values of its variables, and its default working
/// directory. `None` for servers that are not local programs.
pub(super) fn digest(
    config: &ServerConfig,
    environment: &Environment,
    inputs: &dyn AskInput,
    folder: &Path,
) -> Option<String> {
    let expanded = expand(config, environment, inputs).ok()?;
    let Transport::Stdio(program) = &expanded.transport else { return None };
    let mut hash = Sha256::new();
    let mut feed = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    feed(&mcp_config::approval::Fingerprint::of(config).to_string());
    feed(program.command.expose());
    program.args.iter().for_each(|word| feed(word.expose()));
    match &program.cwd {
        Some(folder) => feed(folder.expose()),
        None => feed(&folder.to_string_lossy()),
    }
    for (name, value) in program.env.iter() {
        feed(name);
        feed(value.expose());
    }
    for name in &program.env_pass {
        feed(name);
        feed(environment.get(name).unwrap_or_default());
    }
    Some(format!("{:x}", hash.finalize()))
}

/// Attaches to the host's server. If no host is running, or its server of that name is a different one, starts the
/// server for this command only.
struct AttachOrStart {
    socket: PathBuf,
    server: String,
    digest: String,
    folder: PathBuf,
    direct: Arc<dyn Connect>,
    out: Out,
    refused: Arc<Mutex<BTreeSet<String>>>,
}

impl Connect for AttachOrStart {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            match self.attach().await {
                Some(link) => Ok(link),
                None => self.direct.connect().await,
            }
        })
    }

    fn locality(&self) -> Locality {
        self.direct.locality()
    }
}

impl AttachOrStart {
    async fn attach(&self) -> Option<Link> {
        let mut stream = wire::open(&self.socket).await.ok()?;
        let request = json!({"attach": self.server, "digest": self.digest, "folder": self.folder});
        let answer = wire::greet(&mut stream, &request).await.ok()?;
        if answer["attached"] != true {
            self.report_refusal(answer["reason"].as_str().unwrap_or("it gave no reason"));
            return None;
        }
        let end = Arc::new(Mutex::default());
        let stream = Mutex::new(Some((stream, end.clone())));
        let served = InProcess::new(move |link| {
            let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
            Box::pin(async move {
                if let Some((stream, end)) = stream {
                    wire::carry(link, stream, &end).await;
                }
            })
        });
        let link = served.connect().await.ok()?;
        Some(Link {
            outlet: link.outlet,
            inlet: Box::new(AttachedInlet { inner: link.inlet, end }),
        })
    }
}

impl AttachOrStart {
    /// Tells the user once why the state of the running server is not used.
    fn report_refusal(&self, reason: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.insert(self.server.clone()) {
            self.out.remark(format!(
                "{} is started for this command only; the background host refused it: {}",
                self.server,
                brief(reason, 300)
            ));
        }
    }
}

/// Reports how the server's process ended, as told by the host.
struct AttachedInlet {
    inner: Box<dyn Inlet>,
    end: Arc<Mutex<Option<ServerEnd>>>,
}

impl Inlet for AttachedInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        self.inner.poll_recv(cx, batch).map_err(|mut report| {
            if let Some(end) = self.end.lock().unwrap_or_else(PoisonError::into_inner).take() {
                end.apply(&mut report.diagnostics);
            }
            report
        })
    }
}
