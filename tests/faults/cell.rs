//! Runs one fault over one transport, once with a client and once with a bridge.

use std::{
    error::Error,
    future::Future,
    time::{Duration, Instant},
};

use futures::future::join;
use mcp_bridge::{
    Bridge, CallContext, Event, Events, RawJson, ServerConfig, ServerState, ToolOutcome,
};
use mcp_client::{CallError, CallToolResult, Client, Delivery, diagnostics::ErrorClass};
use mcp_config::Sdk;
use serde_json::json;

use crate::{
    finding::{Finding, Pace, Seen},
    leaks::{Baseline, Output},
    matrix::{Fault, Transport},
    rig::{self, CANARY, LIMIT, Rig},
};

/// A step that takes longer than this counts as hanging.
const HANG_LIMIT: Duration = Duration::from_secs(30);
/// An hour plus the maximum jitter.
const HOUR: Duration = Duration::from_secs(3_601);
const LOOKUP: &str = "failed to lookup address information";
const NAME: &str = "srv";
const ECHO: &str = "mcp__srv__echo";
const WORK: &str = "mcp__srv__work";

/// Runs one cell. Each cell has a separate process.
pub(crate) fn play(transport: Transport, fault: Fault) -> Finding {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let words = Output::listen();
        let mut rig = Rig::new(transport, fault);
        let kept = usize::from(transport.is_remote());
        // Resources that the first connection creates for good, such as the lifeline pipe, are not leaks.
        if fault != Fault::Dns {
            rig.heal(true);
            Stage { rig: &mut rig, words: &words }.client().await;
            Stage { rig: &mut rig, words: &words }.bridge().await;
            rig.heal(false);
            rig.restore();
        }
        let baseline = Baseline::settled().await;
        let client = Stage { rig: &mut rig, words: &words }.client().await;
        let mut leaks = baseline.leaks(&rig, kept).await;
        rig.restore();
        let (bridge, recovered) = Stage { rig: &mut rig, words: &words }.bridge().await;
        leaks.extend(baseline.leaks(&rig, kept).await);
        leaks.extend(words.holding(CANARY).into_iter().map(|line| format!("words: {line}")));
        if words.count() < 2 {
            leaks.push("no log lines were captured".into());
        }
        Finding { client, bridge, recovered, leaks }
    })
}

struct Stage<'a> {
    rig: &'a mut Rig,
    words: &'a Output,
}

impl Stage<'_> {
    /// The result seen by a caller of `mcp-client`.
    async fn client(&mut self) -> Seen {
        let (way, began) = (self.rig.connect(), Instant::now());
        let connecting = Client::connect(&*way, rig::client_options());
        let client = match timed(connecting).await {
            Some(Ok(client)) => client,
            Some(Err(error)) => {
                self.note_error(&error);
                return self.seen(began, error.class(), None, &sentence(&error));
            }
            None => return Seen::hang(),
        };
        if self.rig.fault == Fault::OtherTools && !self.rig.is_healed() {
            self.rig.replace();
            // A connection that is about to end does so before the next call.
            let _ = tokio::time::timeout(LIMIT / 4, client.closed()).await;
        }
        let began = Instant::now();
        let Some(result) = timed(self.work(&client)).await else { return Seen::hang() };
        let seen = match &result {
            Ok(result) => answered(began, &result.text()),
            Err(error) => {
                self.note_error(error);
                self.seen(began, error.class(), Some(error.delivery()), &sentence(error))
            }
        };
        self.words.add(client.diagnostics());
        seen
    }

    /// Makes the call that triggers the fault. If there are two calls, returns the result of the first.
    async fn work(&self, client: &Client) -> Result<CallToolResult, CallError> {
        let (one, two) = (json!({ "n": 1 }), json!({ "n": 2 }));
        if self.rig.fault != Fault::Reorder {
            return client.call_tool("work", &one).await;
        }
        let calls = join(async { client.call_tool("work", &one).await }, async {
            client.call_tool("work", &two).await
        });
        let (first, second) = calls.await;
        assert_eq!(second?.text(), "work 2", "responses are swapped");
        first
    }

    /// The result seen by a caller of the bridge, and how the server recovers.
    async fn bridge(&mut self) -> (Seen, String) {
        let bridge = Bridge::new(rig::bridge_options(self.rig));
        let mut events = bridge.events();
        let mut config = ServerConfig::new(
            NAME.parse().expect("a name"),
            mcp_config::Transport::Sdk(Sdk::default()),
        );
        config.trust = true;
        bridge.add_server_as_written(config);
        let began = Instant::now();
        if timed(bridge.start()).await.is_none() {
            return (Seen::hang(), "no".into());
        }
        let played = if self.state(&bridge).is_connected() {
            self.call(&bridge, &mut events).await
        } else {
            self.no_connection(&bridge, began).await
        };
        self.words.add(bridge.status());
        self.words.add(bridge.failed_calls());
        self.words.add(bridge.explain(NAME).map(|why| why.to_string()));
        while let Some(event) = events.try_next() {
            self.words.add(event);
        }
        played
    }

    async fn call(&mut self, bridge: &Bridge, events: &mut Events) -> (Seen, String) {
        let turn = bridge.snapshot();
        self.connections(events);
        if self.rig.fault == Fault::OtherTools && !self.rig.is_healed() {
            self.rig.replace();
            let replaced = async {
                while bridge.snapshot().get("mcp__srv__other").is_none() {
                    // An in-process server only ends when it receives a message.
                    let _ = bridge.call(ECHO, number(1), CallContext::default()).await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            if timed(replaced).await.is_none() {
                return (Seen::hang(), "the new tools are never seen".into());
            }
        }
        let began = Instant::now();
        let calls = async {
            let first = turn.call(WORK, number(1), CallContext::default());
            if self.rig.fault == Fault::Reorder {
                join(first, turn.call(WORK, number(2), CallContext::default())).await.0
            } else {
                first.await
            }
        };
        let Some(outcome) = timed(calls).await else { return (Seen::hang(), "no".into()) };
        let seen = self.outcome(began, &outcome);
        if matches!(self.rig.fault, Fault::Kill | Fault::HalfOpen) {
            self.rig.restart();
        }
        let again = async {
            loop {
                let outcome = bridge.call(ECHO, number(7), CallContext::default()).await;
                self.words.add(&outcome);
                if !outcome.is_error {
                    return outcome.text_content();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let Some(text) = timed(again).await else { return (seen, "no".into()) };
        assert_eq!(text, "echo 7", "another call's answer");
        let recovered =
            if self.connections(events) > 0 { "reconnected" } else { "same connection" };
        (seen, recovered.into())
    }

    /// Number of connections since the last call of this function.
    fn connections(&self, events: &mut Events) -> usize {
        let mut count = 0;
        while let Some(event) = events.try_next() {
            count += usize::from(matches!(event, Event::ServerConnected { .. }));
            self.words.add(event);
        }
        count
    }

    /// The state the host sees for an unreachable server, and the step that restores it.
    async fn no_connection(&mut self, bridge: &Bridge, began: Instant) -> (Seen, String) {
        let why = bridge.explain(NAME).expect("it is there");
        let state = self.state(bridge);
        let mut seen = Seen {
            what: state.to_string(),
            class: String::new(),
            delivery: String::new(),
            sentence: self.steady(&why.cause),
            pace: Pace::of(began.elapsed()),
        };
        if let Some(class) = bridge.status().first().and_then(|status| status.class) {
            seen.class = class_name(class);
        }
        let now = Instant::now();
        let soon = match state.next_try() {
            Some(next_try) => next_try < now + LIMIT,
            None => matches!(state, ServerState::Connecting { .. }),
        };
        let within_an_hour = state.next_try().is_some_and(|next_try| next_try < now + HOUR);
        if self.rig.fault == Fault::Dns {
            return (seen, if soon { "tried again" } else { "by hand" }.into());
        }
        self.rig.heal(true);
        let how = match state {
            ServerState::NeedsLogin => "after a login",
            _ if soon => "reconnected",
            _ if within_an_hour => "within an hour",
            _ => "by hand",
        };
        if !soon {
            let _ = bridge.reconnect(NAME);
        }
        let back = bridge.wait_for(NAME, |status| status.state.is_connected());
        let is_back = timed(back).await.is_some();
        self.rig.heal(false);
        (seen, if is_back { how } else { "no" }.into())
    }

    fn state(&self, bridge: &Bridge) -> ServerState {
        let status = bridge.status().into_iter().next().expect("it is there");
        self.words.add(&status);
        status.state
    }

    fn outcome(&self, began: Instant, outcome: &ToolOutcome) -> Seen {
        self.words.add(outcome);
        let text = outcome.text_content();
        let Some(failure) = &outcome.failure else { return answered(began, &text) };
        Seen {
            what: format!("{:?}", failure.kind),
            class: String::new(),
            delivery: delivery_name(failure.delivery),
            sentence: self.steady(&text),
            pace: Pace::of(began.elapsed()),
        }
    }

    fn seen(
        &self,
        began: Instant,
        class: ErrorClass,
        delivery: Option<Delivery>,
        sentence: &str,
    ) -> Seen {
        Seen {
            what: String::new(),
            class: class_name(class),
            delivery: delivery.map(delivery_name).unwrap_or_default(),
            sentence: self.steady(sentence),
            pace: Pace::of(began.elapsed()),
        }
    }

    /// Replaces the parts of an error message that vary between runs.
    fn steady(&self, sentence: &str) -> String {
        let sentence = sentence.replace(&format!(":{}", self.rig.port()), ":PORT");
        // Resolver messages differ between machines.
        match sentence.split_once(LOOKUP) {
            Some((before, _)) => format!("{before}{LOOKUP}: …"),
            None => sentence,
        }
    }

    fn note_error(&self, error: &impl Error) {
        self.words.add(error);
        self.words.add(sentence(error));
    }
}

fn answered(began: Instant, text: &str) -> Seen {
    assert_eq!(text, "work 1", "another call's answer");
    Seen { what: "answered".into(), pace: Pace::of(began.elapsed()), ..Seen::default() }
}

async fn timed<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(HANG_LIMIT, future).await.ok()
}

/// An error with its causes.
fn sentence(error: &dyn Error) -> String {
    let mut all = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Some errors repeat their cause in their own message.
        if !all.contains(&error.to_string()) {
            all = format!("{all}: {error}");
        }
        cause = error.source();
    }
    all
}

fn number(n: u32) -> RawJson {
    RawJson::parse(format!("{{\"n\":{n}}}")).expect("it is written here")
}

fn class_name(class: ErrorClass) -> String {
    format!("{class:?}").to_lowercase()
}

fn delivery_name(delivery: Delivery) -> String {
    match delivery {
        Delivery::NotSent => "not sent",
        Delivery::Executed => "executed",
        Delivery::Unknown => "unknown",
    }
    .into()
}
