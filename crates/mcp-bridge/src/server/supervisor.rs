//! The task that runs one server: it executes the actions of the lifecycle and reports facts to it.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use futures_core::future::BoxFuture;
use mcp_audit::Kind;
use mcp_client::{
    CallError, Client,
    diagnostics::{CloseReport, ErrorClass},
    rpc::Failure,
};
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep},
};

use super::{
    Server,
    failure::{CONNECTED, FailureRecord},
    milestones::Milestones,
    open::{self, Lists, Opened},
    publication::ListingSource,
};
use crate::{
    events::Event,
    hub::Hub,
    lifecycle::{Action, Fact, Lifecycle, ServerState},
};

/// Runs `server` until its bridge is dropped.
pub(super) async fn run(server: Arc<Server>, life: Lifecycle, inbox: mpsc::Receiver<Fact>) {
    let mut supervisor = Supervisor {
        hub: server.hub.clone(),
        changed: changed(server.clone()),
        server,
        life,
        inbox,
        opening: None,
        open: None,
        closed: None,
        refreshing: None,
        pinging: None,
        done: Milestones::default(),
        timer: Box::pin(tokio::time::sleep_until(Instant::now())),
    };
    while let Some(wake) = poll_fn(|cx| supervisor.poll(cx)).await {
        let before = supervisor.life.shown();
        let action = supervisor.wake(wake);
        supervisor.act(action);
        supervisor.show(before);
        // After the state is published, because waiting tasks read it next.
        supervisor.publish_milestones();
    }
}

/// The reason for a wake-up.
enum Wake {
    Fact(Fact),
    Opened(Box<Result<Opened, FailureRecord>>),
    Closed(Arc<CloseReport>),
    Refreshed(Result<Lists, CallError>),
    Timer,
}

struct Supervisor {
    server: Arc<Server>,
    hub: Weak<Hub>,
    life: Lifecycle,
    inbox: mpsc::Receiver<Fact>,
    opening: Option<BoxFuture<'static, Result<Opened, FailureRecord>>>,
    open: Option<Opened>,
    closed: Option<BoxFuture<'static, Arc<CloseReport>>>,
    refreshing: Option<BoxFuture<'static, Result<Lists, CallError>>>,
    pinging: Option<BoxFuture<'static, bool>>,
    changed: BoxFuture<'static, ()>,
    done: Milestones,
    timer: Pin<Box<Sleep>>,
}

impl Supervisor {
    /// The next wake-up, or `None` once the bridge is dropped.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Wake>> {
        if let Poll::Ready(fact) = self.inbox.poll_recv(cx) {
            return Poll::Ready(fact.map(Wake::Fact));
        }
        if let Some(opened) = poll_slot(&mut self.opening, cx) {
            return Poll::Ready(Some(Wake::Opened(Box::new(opened))));
        }
        if let Some(report) = poll_slot(&mut self.closed, cx) {
            return Poll::Ready(Some(Wake::Closed(report)));
        }
        if let Some(lists) = poll_slot(&mut self.refreshing, cx) {
            return Poll::Ready(Some(Wake::Refreshed(lists)));
        }
        if let Some(alive) = poll_slot(&mut self.pinging, cx) {
            return Poll::Ready(Some(Wake::Fact(Fact::Pinged { alive })));
        }
        if self.changed.as_mut().poll(cx).is_ready() {
            self.changed = changed(self.server.clone());
            return Poll::Ready(Some(Wake::Fact(Fact::ListChanged)));
        }
        if let Some(due) = self.life.next_deadline() {
            let due = Instant::from_std(due);
            if self.timer.deadline() != due {
                self.timer.as_mut().reset(due);
            }
            if self.timer.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Some(Wake::Timer));
            }
        }
        Poll::Pending
    }

    fn wake(&mut self, wake: Wake) -> Option<Action> {
        let now = Instant::now().into_std();
        let (busy, used) = self.server.activity.observed();
        self.life.observe(busy, used);
        match wake {
            Wake::Fact(fact) => {
                self.note(fact);
                self.server.accepted(fact);
                self.life.on(fact, now)
            }
            Wake::Timer => self.life.tick(now),
            Wake::Opened(opened) => match *opened {
                Ok(opened) => {
                    // Before `opened`, because it increments the connection number.
                    let action = self.life.on(Fact::Opened, now);
                    self.opened(opened);
                    action
                }
                Err(failure) => {
                    let (class, retry_after) = (failure.class, failure.retry_after);
                    self.failed(failure);
                    self.life.on(Fact::OpenFailed { class, retry_after }, now)
                }
            },
            Wake::Closed(report) => {
                let failure = FailureRecord::closed(&report);
                let class = failure.class;
                self.forget();
                self.tell(Event::ServerDisconnected { server: self.server.name.clone() });
                let action = self.life.on(Fact::Closed { class }, now);
                // A lost session that is replaced without a delay is not a failure.
                if action.is_none() {
                    self.failed(failure);
                }
                action
            }
            Wake::Refreshed(Ok(lists)) => {
                self.done.refreshes += 1;
                self.publish(lists);
                self.tell(Event::ListsFetched { server: self.server.name.clone() });
                None
            }
            Wake::Refreshed(Err(error)) => {
                self.done.refreshes += 1;
                tracing::debug!(server = %self.server.name, %error, "a list could not be fetched again");
                None
            }
        }
    }

    fn act(&mut self, action: Option<Action>) {
        match action {
            None => {}
            Some(Action::Open) => self.start_opening(),
            Some(Action::Close) => {
                self.opening = None;
                if let Some(opened) = self.forget() {
                    // Close gracefully in the background. Only a new start of the same server waits for it.
                    tokio::spawn(async move {
                        let opened = opened;
                        opened.client.close().await;
                    });
                    self.tell(Event::ServerDisconnected { server: self.server.name.clone() });
                }
                if matches!(self.life.shown(), ServerState::Connecting { .. }) {
                    self.start_opening();
                }
            }
            Some(Action::Refresh) => {
                if let Some(client) = self.client() {
                    let endpoint = self.server.endpoint.clone();
                    self.refreshing =
                        Some(Box::pin(async move { open::list(&endpoint, &client).await }));
                }
            }
            Some(Action::Ping) => {
                if let Some(client) = self.client() {
                    // Any response counts, even an error. A ping that the transport lost does not.
                    // https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping
                    self.pinging = Some(Box::pin(async move {
                        !matches!(
                            client.ping().await,
                            Err(CallError::Failed {
                                failure: Failure::TimedOut(_)
                                    | Failure::Closed(_)
                                    | Failure::Lost(_)
                                    | Failure::Refused(_),
                                ..
                            })
                        )
                    }));
                }
            }
        }
    }

    fn start_opening(&mut self) {
        if let ServerState::Connecting { attempt } = self.life.shown() {
            self.tell(Event::ServerConnecting { server: self.server.name.clone(), attempt });
        }
        self.done.openings += 1;
        let server = self.server.clone();
        self.opening = Some(Box::pin(async move { open::open(&server).await }));
    }

    fn opened(&mut self, opened: Opened) {
        let client = opened.client.clone();
        {
            let mut live = self.server.live();
            live.client = Some(client.clone());
            live.connection = self.life.connection();
            live.profile = Some(client.server().clone());
            live.failure = None;
        }
        self.closed = Some(Box::pin(async move { client.closed().await }));
        let mut opened = opened;
        let lists = std::mem::take(&mut opened.lists);
        self.open = Some(opened);
        let tools = self.publish(lists);
        let generation = self.server.live().generation;
        self.server.record(Kind::ServerStart);
        let server = self.server.name.clone();
        self.tell(Event::ServerConnected { server, tools, generation });
    }

    /// Publishes the lists of a server. Returns the number of tools.
    fn publish(&mut self, lists: Lists) -> usize {
        let Some(hub) = self.hub.upgrade() else { return 0 };
        let prompts = Arc::new(lists.prompts);
        let (has_resources, instructions) = {
            let mut live = self.server.live();
            live.prompts = prompts.clone();
            let profile = live.profile.as_ref();
            (
                profile.is_some_and(|profile| profile.capabilities.resources.is_some()),
                profile
                    .and_then(|profile| profile.instructions.as_deref().map(super::offers::kept)),
            )
        };
        self.server.update_offers(&hub, |offers| {
            offers.prompts = Some(prompts);
            offers.instructions = instructions;
            if !has_resources {
                (offers.resources, offers.templates) = (Some(Arc::default()), Some(Arc::default()));
            }
        });
        hub.registry.has_resources(&self.server.name, has_resources);
        self.server.publish(&hub, &lists.tools, ListingSource::Live)
    }

    fn failed(&mut self, failure: FailureRecord) {
        let server = self.server.name.clone();
        if open::is_auth(failure.class) {
            self.tell(Event::NeedsAuth { server });
        } else {
            let (problem, class) = (failure.text.clone(), failure.class);
            self.tell(Event::ServerError { server, problem, class });
        }
        self.server.live().failure = Some(Arc::new(failure));
    }

    /// Sends the event of a fact and records its failure.
    fn note(&mut self, fact: Fact) {
        match fact {
            Fact::LoginRefused if self.open.is_some() && !self.life.wants_login() => {
                self.tell(Event::NeedsAuth { server: self.server.name.clone() });
            }
            Fact::Pinged { alive: false } if self.open.is_some() => {
                let text = "it does not respond to pings";
                self.failed(FailureRecord::new(CONNECTED, ErrorClass::Transient, text));
            }
            _ => {}
        }
    }

    /// Discards the state of the connection.
    fn forget(&mut self) -> Option<Opened> {
        (self.closed, self.refreshing, self.pinging) = (None, None, None);
        let mut live = self.server.live();
        let was_open = live.client.take().is_some();
        live.prompts = Arc::default();
        live.profile = None;
        live.asked_for.clear();
        drop(live);
        if was_open {
            self.server.record(Kind::ServerStop);
        }
        self.open.take()
    }

    fn client(&self) -> Option<Client> {
        self.open.as_ref().map(|opened| opened.client.clone())
    }

    fn tell(&self, event: Event) {
        if let Some(hub) = self.hub.upgrade() {
            hub.bus.tell(event);
        }
    }

    fn publish_milestones(&self) {
        self.server.milestones.send_if_modified(|known| {
            let is_news = *known != self.done;
            *known = self.done;
            is_news
        });
    }

    fn show(&self, before: ServerState) {
        if let Some(hub) = self.hub.upgrade() {
            self.server.publish_state(&hub, &self.life, Some(before));
        }
    }
}

fn changed(server: Arc<Server>) -> BoxFuture<'static, ()> {
    Box::pin(async move { server.router.changed.notified().await })
}

/// Polls a future and removes it once it is ready.
fn poll_slot<T>(slot: &mut Option<BoxFuture<'static, T>>, cx: &mut Context<'_>) -> Option<T> {
    match slot.as_mut()?.as_mut().poll(cx) {
        Poll::Ready(done) => {
            *slot = None;
            Some(done)
        }
        Poll::Pending => None,
    }
}
