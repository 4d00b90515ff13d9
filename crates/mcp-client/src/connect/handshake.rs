//! Runs a [`Negotiation`] over a link.

use std::{sync::Arc, time::Duration};

use mcp_jsonrpc::{CallLimits, Failure, ObjectWriter, RawJson, wire::Reply};
use mcp_transport::Connect;
use mcp_types::{
    ClientCapabilities, Era, Implementation, ProtocolVersion, ServerCapabilities,
    handshake::{DiscoverResult, InitializeResult},
    meta, method,
};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::{
    negotiation::{Disagreement, Negotiation, Observed, Step},
    profile::ServerProfile,
};
use crate::{
    engine::Engine,
    era::EraChoice,
    error::HandshakeError,
    host::dispatch::Dispatch,
    options::ClientOptions,
    telemetry::{handshake_span, record_failure, record_handshake, record_id, request_span},
};

/// Thirty years, in place of a timeout beyond the clock's range.
const FAR_AWAY: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// A newly opened session.
pub(crate) struct Opened {
    pub(crate) engine: Engine,
    pub(crate) dispatch: Arc<Dispatch>,
    pub(crate) profile: ServerProfile,
    /// The `_meta` of every request in the modern era.
    pub(crate) meta: Option<RawJson>,
}

pub(crate) async fn open(
    connector: &dyn Connect,
    options: &ClientOptions,
) -> Result<Opened, HandshakeError> {
    let span = handshake_span();
    let opened = shake_hands(connector, options).instrument(span.clone()).await;
    record_handshake(&span, opened.as_ref().map(|opened| opened.profile.version));
    opened
}

async fn shake_hands(
    connector: &dyn Connect,
    options: &ClientOptions,
) -> Result<Opened, HandshakeError> {
    let mut handshake = Handshake::start(connector, options).await?;
    let (mut negotiation, mut step) = Negotiation::start(options.era, options.remembered.get());
    loop {
        step = match step {
            Step::Probe(version) => negotiation.next(handshake.probe(version).await),
            Step::Initialize(version) => negotiation.next(handshake.initialize(version).await),
            Step::Restart(version) => {
                handshake.restart(connector).await?;
                negotiation.next(handshake.initialize(version).await)
            }
            Step::Agreed(version) => {
                options.remembered.set(Some(version.era()));
                return Ok(handshake.finish(version));
            }
            Step::Failed(why) => {
                // The remembered era did not help. The next attempt probes again.
                options.remembered.set(None);
                return Err(handshake.explain(why).await);
            }
        };
    }
}

struct Handshake<'a> {
    options: &'a ClientOptions,
    deadline: Instant,
    phase: &'static str,
    engine: Engine,
    dispatch: Arc<Dispatch>,
    discovered: Option<DiscoverResult>,
    initialized: Option<InitializeResult>,
}

impl<'a> Handshake<'a> {
    async fn start(
        connector: &dyn Connect,
        options: &'a ClientOptions,
    ) -> Result<Self, HandshakeError> {
        // A timeout beyond the clock's range means no timeout.
        let now = Instant::now();
        let deadline = now.checked_add(options.handshake_timeout).unwrap_or(now + FAR_AWAY);
        let (engine, dispatch) = connect(connector, options, deadline).await?;
        Ok(Self {
            options,
            deadline,
            phase: "connect",
            engine,
            dispatch,
            discovered: None,
            initialized: None,
        })
    }

    async fn restart(&mut self, connector: &dyn Connect) -> Result<(), HandshakeError> {
        tracing::debug!("the server exited after the probe; restarting it");
        (self.engine, self.dispatch) = connect(connector, self.options, self.deadline).await?;
        Ok(())
    }

    async fn probe(&mut self, version: ProtocolVersion) -> Observed {
        self.phase = method::SERVER_DISCOVER;
        let mut params = ObjectWriter::new();
        // Every modern request carries the revision, the client's name and its capabilities:
        // <https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta>
        params.raw("_meta", &meta(self.options, &self.dispatch.offered, version));
        match self.call(params.finish(), self.patience()).await {
            Ok(raw) => match raw.decode::<DiscoverResult>() {
                Ok(result) => {
                    let versions = result.supported_versions.clone();
                    self.discovered = Some(result);
                    Observed::Discovered(versions)
                }
                // Only modern servers send this member, so this is a modern server with an invalid result.
                Err(error) if raw.get("supportedVersions").is_some() => Observed::Unreadable(error),
                Err(_) => Observed::Nonsense,
            },
            Err(Observed::Unreadable(_)) => Observed::Nonsense,
            Err(observed) => observed,
        }
    }

    /// How long to wait for the response to a probe.
    fn patience(&self) -> Duration {
        let Self { options, .. } = self;
        match options.era {
            // A fallback to the legacy era is not allowed.
            EraChoice::Modern => Duration::MAX,
            // Each request gets a response, as over HTTP, so a slow server is not mistaken for a legacy one.
            _ if self.engine.outlet().answers_each_request() => Duration::MAX,
            // It was modern last time and may only start slowly. It may also have been replaced, so
            // leave time for a fallback.
            _ if options.remembered.get() == Some(Era::Modern) => {
                options.probe_timeout.max(options.handshake_timeout / 2)
            }
            _ => options.probe_timeout,
        }
    }

    async fn initialize(&mut self, version: ProtocolVersion) -> Observed {
        self.phase = method::INITIALIZE;
        let mut params = ObjectWriter::new();
        params.string("protocolVersion", version.as_str());
        params.raw("capabilities", &self.dispatch.offered.to_json(Era::Legacy));
        if params.member("clientInfo", &self.options.client_info).is_err() {
            return Observed::Nonsense;
        }
        match self.call(params.finish(), Duration::MAX).await {
            Ok(raw) => match raw.decode::<InitializeResult>() {
                Ok(result) => {
                    let version = result.protocol_version.clone();
                    self.initialized = Some(result);
                    Observed::Initialized(version)
                }
                Err(error) => Observed::Unreadable(error),
            },
            Err(observed) => observed,
        }
    }

    async fn call(&self, params: RawJson, limit: Duration) -> Result<RawJson, Observed> {
        let mut limits = CallLimits::default();
        limits.total = Some(limit.min(self.deadline.saturating_duration_since(Instant::now())));
        // `initialize` must not be cancelled, and a server that ignores a probe gains nothing from
        // its cancellation.
        // <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements>
        limits.silent = true;
        let span = request_span(self.phase, None);
        let params = |id| {
            record_id(&span, id);
            Some(params)
        };
        let call = self.engine.shared().call(self.phase, limits, None, params);
        let answer = call.instrument(span.clone()).await.and_then(Reply::into_raw);
        answer.inspect_err(|failure| record_failure(&span, failure)).map_err(
            |failure| match failure {
                Failure::Rejected(error) => Observed::Refused(error),
                Failure::Closed(_) => Observed::Closed,
                Failure::TimedOut(_) => Observed::Silent,
                Failure::Lost(loss) => Observed::Lost(loss),
                Failure::Malformed(error) => Observed::Unreadable(error),
                _ => Observed::Nonsense,
            },
        )
    }

    fn finish(self, version: ProtocolVersion) -> Opened {
        self.dispatch.set_era(version.era());
        let (meta, profile) = match version.era() {
            Era::Modern => {
                let meta = meta(self.options, &self.dispatch.offered, version);
                (Some(meta), modern_profile(version, self.discovered))
            }
            Era::Legacy => {
                self.engine.shared().notify(method::INITIALIZED, None);
                (None, legacy_profile(version, self.initialized))
            }
        };
        Opened { engine: self.engine, dispatch: self.dispatch, profile, meta }
    }

    async fn explain(self, why: Disagreement) -> HandshakeError {
        let phase = self.phase;
        match why {
            Disagreement::NoCommonVersion(offered) => HandshakeError::NoCommonVersion { offered },
            Disagreement::Refused(error) => HandshakeError::Rejected { phase, error },
            Disagreement::NotModern => HandshakeError::NotModern,
            Disagreement::Unreadable(error) => HandshakeError::Shape { phase, error },
            Disagreement::Unavailable(loss) => HandshakeError::Unavailable { phase, loss },
            // The server may have stopped reading but take some time to exit.
            Disagreement::Closed => match timeout_at(self.deadline, self.engine.closed()).await {
                Ok(report) => HandshakeError::Closed { phase, report },
                Err(_) => self.timed_out(phase),
            },
            Disagreement::Silent => self.timed_out(phase),
        }
    }

    fn timed_out(&self, phase: &'static str) -> HandshakeError {
        HandshakeError::TimedOut {
            phase,
            limit: self.options.handshake_timeout,
            diagnostics: Box::new(self.engine.outlet().diagnostics()),
        }
    }
}

async fn connect(
    connector: &dyn Connect,
    options: &ClientOptions,
    deadline: Instant,
) -> Result<(Engine, Arc<Dispatch>), HandshakeError> {
    let timed_out = |_| HandshakeError::TimedOut {
        phase: "connect",
        limit: options.handshake_timeout,
        diagnostics: Box::default(),
    };
    let link = timeout_at(deadline, connector.connect()).await.map_err(timed_out)??;
    let dispatch = Dispatch::new(options.handler.clone(), options.max_events);
    Ok((Engine::start(link, dispatch.clone()), dispatch))
}

/// The `_meta` that identifies the client to a modern server, encoded once per session.
fn meta(
    options: &ClientOptions,
    offered: &ClientCapabilities,
    version: ProtocolVersion,
) -> RawJson {
    let mut meta = ObjectWriter::with_capacity(256);
    meta.string(meta::PROTOCOL_VERSION, version.as_str());
    meta.raw(meta::CLIENT_CAPABILITIES, &declaration(options, offered));
    // Only strings, so encoding cannot fail.
    let _ = meta.member(meta::CLIENT_INFO, &options.client_info);
    if let Some(level) = options.log_level {
        meta.string(meta::LOG_LEVEL, level.as_str());
    }
    meta.finish()
}

/// The client capabilities declared to a modern server.
pub(crate) fn declaration(options: &ClientOptions, offered: &ClientCapabilities) -> RawJson {
    let mut offered = offered.clone();
    if options.follow_tasks && !offered.extensions.iter().any(|(id, _)| id == meta::TASKS) {
        offered.extensions.push((meta::TASKS.into(), RawJson::empty_object()));
    }
    offered.to_json(Era::Modern)
}

fn modern_profile(version: ProtocolVersion, discovered: Option<DiscoverResult>) -> ServerProfile {
    let Some(discovered) = discovered else {
        return ServerProfile {
            version,
            info: None,
            capabilities: ServerCapabilities::default(),
            instructions: None,
        };
    };
    let named = discovered.meta.and_then(|meta| meta.get(meta::SERVER_INFO));
    let info = named.and_then(|raw| raw.decode::<Implementation>().ok()).or(discovered.server_info);
    ServerProfile {
        version,
        info,
        capabilities: discovered.capabilities.unwrap_or_default(),
        instructions: discovered.instructions,
    }
}

fn legacy_profile(
    version: ProtocolVersion,
    initialized: Option<InitializeResult>,
) -> ServerProfile {
    let (info, capabilities, instructions) = initialized
        .map(|result| (result.server_info, result.capabilities, result.instructions))
        .unwrap_or_default();
    ServerProfile { version, info, capabilities: capabilities.unwrap_or_default(), instructions }
}
