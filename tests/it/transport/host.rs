//! The helper through which these tests use a link.

use std::{collections::VecDeque, future::poll_fn, sync::Arc, time::Duration};

use mcp_jsonrpc::{Message, Notification, RawJson, Request};
use mcp_transport::{Connect, Inbound, Inlet, Link, Outlet, SendError, diagnostics::CloseReport};
use serde_json::Value;

/// Reaching this limit means a deadlock, not a slow machine.
const TOO_LONG: Duration = Duration::from_secs(60);

/// A host that is driven by hand.
pub(super) struct Host {
    pub(super) outlet: Arc<dyn Outlet>,
    inlet: Box<dyn Inlet>,
    arrived: VecDeque<Inbound>,
}

impl Host {
    pub(super) async fn open(connect: &dyn Connect) -> Self {
        Self::over(connect.connect().await.unwrap())
    }

    pub(super) fn over(link: Link) -> Self {
        Self { outlet: link.outlet, inlet: link.inlet, arrived: VecDeque::new() }
    }

    pub(super) fn try_ask(
        &self,
        id: i64,
        method: &'static str,
        params: &Value,
    ) -> Result<u64, SendError> {
        let params = RawJson::encode(params).unwrap();
        self.outlet.send(Message::Request(Request::new(id, method, Some(params))))
    }

    pub(super) fn ask(&self, id: i64, method: &'static str, params: &Value) -> u64 {
        self.try_ask(id, method, params).unwrap()
    }

    /// Sends a request whose id and method are strings of any length.
    pub(super) fn ask_as(&self, id: &str, method: &str) {
        let request = Request::new(id, method.to_owned(), None);
        self.outlet.send(Message::Request(request)).unwrap();
    }

    pub(super) fn tell(&self, method: &'static str, params: &Value) -> u64 {
        let params = RawJson::encode(params).unwrap();
        self.outlet.send(Message::Notification(Notification::new(method, Some(params)))).unwrap()
    }

    /// The next message as a word: the id of a response, or the method.
    pub(super) async fn next(&mut self) -> String {
        match self.next_or_end().await {
            Ok(inbound) => word(&inbound),
            Err(report) => panic!("ended too early: {report}"),
        }
    }

    pub(super) async fn next_or_end(&mut self) -> Result<Inbound, Box<CloseReport>> {
        while self.arrived.is_empty() {
            let mut batch = Vec::new();
            let poll = poll_fn(|cx| self.inlet.poll_recv(cx, &mut batch));
            tokio::time::timeout(TOO_LONG, poll).await.expect("something happens in time")?;
            self.arrived.extend(batch.into_iter().map(Inbound::read));
        }
        Ok(self.arrived.pop_front().expect("something arrived"))
    }

    pub(super) async fn words(&mut self, count: usize) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..count {
            words.push(self.next().await);
        }
        words
    }

    /// Whether no message arrives for `time` of the paused clock.
    pub(super) async fn is_quiet(&mut self, time: Duration) -> bool {
        assert!(self.arrived.is_empty());
        let mut batch = Vec::new();
        let poll = poll_fn(|cx| self.inlet.poll_recv(cx, &mut batch));
        tokio::time::timeout(time, poll).await.is_err() && batch.is_empty()
    }

    /// The close report, and the words of the messages before it.
    pub(super) async fn end(&mut self) -> (Vec<String>, Box<CloseReport>) {
        let mut words = Vec::new();
        loop {
            match self.next_or_end().await {
                Ok(inbound) => words.push(word(&inbound)),
                Err(report) => return (words, report),
            }
        }
    }

    pub(super) async fn close(&mut self) -> Box<CloseReport> {
        self.outlet.close();
        self.end().await.1
    }
}

fn word(inbound: &Inbound) -> String {
    match inbound {
        Inbound::Message(Message::Request(request)) => request.method.to_string(),
        Inbound::Message(Message::Notification(notification)) => notification.method.to_string(),
        Inbound::Message(Message::Response(response)) => match (&response.id, &response.outcome) {
            (Some(id), Ok(_)) => id.to_string(),
            (id, outcome) => format!("{id:?} {outcome:?}"),
        },
        other => format!("{other:?}"),
    }
}
