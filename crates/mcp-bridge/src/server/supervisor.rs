//! The task that keeps one server going: it does what the lifecycle says, and has no opinions.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use futures_core::future::BoxFuture;
use mcp_client::{CallError, Client, CloseReport, ErrorClass};
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep},
};

use super::{
    Server,
    failure::FailureRecord,
    open::{self, Lists, Opened},
};
use crate::{
    bridge::{Core, Whence},
    events::Event,
    lifecycle::{Action, Fact, Lifecycle},
    status::{Detail, ServerState},
};

/// Looks after `server` until its bridge is gone.
pub(super) async fn run(server: Arc<Server>, life: Lifecycle, inbox: mpsc::Receiver<Fact>) {
    let mut supervisor = Supervisor {
        core: server.core.clone(),
        changed: changed(server.clone()),
        server,
        life,
        inbox,
        opening: None,
        open: None,
        closed: None,
        refreshing: None,
        pinging: None,
        timer: Box::pin(tokio::time::sleep_until(Instant::now())),
    };
    while let Some(wake) = poll_fn(|cx| supervisor.poll(cx)).await {
        let before = supervisor.life.shown().0;
        let action = supervisor.wake(wake);
        supervisor.act(action);
        supervisor.show(before);
    }
}

/// What the task woke up for.
enum Wake {
    Fact(Fact),
    Opened(Box<Result<Opened, FailureRecord>>),
    Closed(Arc<CloseReport>),
    Refreshed(Result<Lists, CallError>),
    Timer,
}

struct Supervisor {
    server: Arc<Server>,
    core: Weak<Core>,
    life: Lifecycle,
    inbox: mpsc::Receiver<Fact>,
    opening: Option<BoxFuture<'static, Result<Opened, FailureRecord>>>,
    open: Option<Opened>,
    closed: Option<BoxFuture<'static, Arc<CloseReport>>>,
    refreshing: Option<BoxFuture<'static, Result<Lists, CallError>>>,
    pinging: Option<BoxFuture<'static, bool>>,
    changed: BoxFuture<'static, ()>,
    timer: Pin<Box<Sleep>>,
}

impl Supervisor {
    /// The next thing to wake up for; `None` when there is no bridge left to do it for.
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
                self.server.heard(fact);
                self.life.on(fact, now)
            }
            Wake::Timer => self.life.tick(now),
            Wake::Opened(opened) => match *opened {
                Ok(opened) => {
                    // First, for it counts connections.
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
                self.failed(failure);
                self.life.on(Fact::Closed { class }, now)
            }
            Wake::Refreshed(Ok(lists)) => {
                self.publish(lists);
                self.tell(Event::ListsFetched { server: self.server.name.clone() });
                None
            }
            Wake::Refreshed(Err(error)) => {
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
                    // In good order, but nobody waits for it, except whoever would start the same server again.
                    tokio::spawn(async move {
                        let opened = opened;
                        opened.client.close().await;
                    });
                    self.tell(Event::ServerDisconnected { server: self.server.name.clone() });
                }
                if matches!(self.life.shown().1, Detail::Connecting { .. }) {
                    self.start_opening();
                }
            }
            Some(Action::Refresh) => {
                if let Some(client) = self.client() {
                    self.refreshing = Some(Box::pin(async move { open::list(&client).await }));
                }
            }
            Some(Action::Ping) => {
                if let Some(client) = self.client() {
                    // Whatever it answers, it answers.
                    self.pinging = Some(Box::pin(async move {
                        !matches!(
                            client.ping().await,
                            Err(CallError::TimedOut { .. } | CallError::Closed { .. })
                        )
                    }));
                }
            }
        }
    }

    fn start_opening(&mut self) {
        if let Detail::Connecting { attempt } = self.life.shown().1 {
            self.tell(Event::ServerConnecting { server: self.server.name.clone(), attempt });
        }
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
        let server = self.server.name.clone();
        self.tell(Event::ServerConnected { server, tools, generation });
    }

    /// Makes known what a server lists. Returns how many tools it has.
    fn publish(&mut self, lists: Lists) -> usize {
        let Some(core) = self.core.upgrade() else { return 0 };
        let prompts = Arc::new(lists.prompts);
        let has_resources = {
            let mut live = self.server.live();
            live.prompts = prompts.clone();
            live.profile.as_ref().is_some_and(|profile| profile.capabilities.resources.is_some())
        };
        core.note_offers(&self.server, |offers| {
            offers.prompts = Some(prompts);
            if !has_resources {
                (offers.resources, offers.templates) = (Some(Arc::default()), Some(Arc::default()));
            }
        });
        core.registry.has_resources(&self.server.name, has_resources);
        core.publish(&self.server, &lists.tools, Whence::Server)
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

    /// Tells and keeps what a fact means to those who ask later.
    fn note(&mut self, fact: Fact) {
        match fact {
            Fact::LoginRefused if self.open.is_some() && !self.life.wants_login() => {
                self.tell(Event::NeedsAuth { server: self.server.name.clone() });
            }
            Fact::Pinged { alive: false } if self.open.is_some() => {
                let text = "it no longer answers, not even when asked whether it is there";
                self.failed(FailureRecord::new("connected", ErrorClass::Transient, text));
            }
            _ => {}
        }
    }

    /// Drops everything learnt from the connection.
    fn forget(&mut self) -> Option<Opened> {
        (self.closed, self.refreshing, self.pinging) = (None, None, None);
        let mut live = self.server.live();
        live.client = None;
        live.prompts = Arc::default();
        live.profile = None;
        drop(live);
        self.open.take()
    }

    fn client(&self) -> Option<Client> {
        self.open.as_ref().map(|opened| opened.client.clone())
    }

    fn tell(&self, event: Event) {
        if let Some(core) = self.core.upgrade() {
            core.bus.tell(event);
        }
    }

    fn show(&self, before: ServerState) {
        if let Some(core) = self.core.upgrade() {
            core.show(&self.server, &self.life, Some(before));
        }
    }
}

fn changed(server: Arc<Server>) -> BoxFuture<'static, ()> {
    Box::pin(async move { server.router.changed.notified().await })
}

/// Polls what is there, and takes it away when it is done.
fn poll_slot<T>(slot: &mut Option<BoxFuture<'static, T>>, cx: &mut Context<'_>) -> Option<T> {
    match slot.as_mut()?.as_mut().poll(cx) {
        Poll::Ready(done) => {
            *slot = None;
            Some(done)
        }
        Poll::Pending => None,
    }
}
