//! Transcripts: a conversation as text, and what a host would see of it.
//!
//! A line says what happens. Calls are numbered from 1 in the order they are made.
//!
//! | line | meaning |
//! | --- | --- |
//! | `--> method` | we make a call; `idle=1s` (5s if not given), `total=9s`, `held`, `silent`, `unsent` may follow |
//! | `--> sent 1` | the link took an unsent call |
//! | `--> "a" {}` | we respond to the request `"a"` of the peer |
//! | `<-- 1 {}`, `<-- 1 !-32601 no` | the peer responds to call 1, with an error if there is a `!` |
//! | `<-- !-32700 what?` | an error without an id |
//! | `<-- request "a" method {}` | they make a request |
//! | `<-- progress 1 0.5`, `<-- cancelled 1` | those two notifications |
//! | `<-- method {}` | any other notification |
//! | `... 6s` | time passes |
//! | `drop 1`, `lose 1`, `close 2` | the caller leaves; the link loses a call, or closes having sent 2 |
//!
//! Each effect is one line of output: `1 {}` for the end of call 1, `1: 0.5` for its progress, `abandon 1` where a
//! cancellation is due, `hear …` for an incoming message, `send …` for an outgoing one, and `noise …` for the counts of
//! unmatched messages at the end.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use mcp_jsonrpc::{
    CallId, CallLimits, Delivery, ErrorClass, ErrorObject, Event, Failure, FailureCause, Loss,
    Message, Notification, Peer, PeerOptions, RawJson, Refused, Request, RequestId, Response,
};

/// Plays `transcript` to a peer with the usual bounds.
pub(crate) fn play(transcript: &str) -> String {
    Stage::new(PeerOptions::default()).play(transcript)
}

/// Checks what a host sees of a transcript, line by line.
#[track_caller]
pub(crate) fn check(transcript: &str, expected: &[&str]) {
    assert_eq!(play(transcript).lines().collect::<Vec<_>>(), expected);
}

/// A peer and everyone around it.
pub(crate) struct Stage {
    pub(crate) peer: Peer,
    now: Instant,
    sent: u64,
    calls: Vec<Caller>,
    seen: String,
}

/// Someone who made a call. Polls only when woken, as an executor would.
struct Caller {
    id: CallId,
    outcome: Arc<Flag>,
    progress: Arc<Flag>,
    gone: bool,
}

/// What a waker raises. Up at first, because a new task is polled once unasked.
pub(crate) struct Flag(AtomicBool);

pub(crate) fn flag() -> Arc<Flag> {
    Arc::new(Flag(AtomicBool::new(true)))
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Flag {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Stage {
    pub(crate) fn new(options: PeerOptions) -> Self {
        let peer = Peer::new(options);
        Self { peer, now: Instant::now(), sent: 0, calls: Vec::new(), seen: String::new() }
    }

    pub(crate) fn play(mut self, transcript: &str) -> String {
        for line in transcript.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.act(line);
            self.look();
        }
        let noise = self.peer.noise();
        for (count, what) in [
            (noise.late, "late"),
            (noise.duplicate, "duplicate"),
            (noise.unknown, "unknown"),
            (noise.unanswered, "unanswered"),
        ] {
            if count > 0 {
                self.see(format_args!("noise: {count} {what}"));
            }
        }
        self.seen.trim_end().to_owned()
    }

    fn act(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap();
        match verb {
            "-->" => self.say(rest),
            "<--" => self.peer.receive(message(rest), self.now),
            "..." => {
                self.now += duration(rest);
                self.peer.expire(self.now);
                assert!(self.peer.next_deadline().is_none_or(|at| at > self.now), "would spin");
            }
            "drop" => {
                let caller = self.caller(rest);
                caller.gone = true;
                let id = caller.id;
                let tell = self.peer.give_up(id);
                self.see(format_args!(
                    "{rest} dropped, {}",
                    if tell { "tell" } else { "say nothing" }
                ));
            }
            "lose" => {
                let lost = Loss::new(
                    Delivery::Unknown,
                    ErrorClass::Transient,
                    FailureCause::CutOff,
                    "the pipe broke",
                );
                self.peer.fail(&id(rest), lost.into());
            }
            "close" => self.peer.close(rest.parse().unwrap()),
            _ => panic!("no such verb: {line}"),
        }
    }

    fn say(&mut self, line: &str) {
        let mut words = line.split(' ');
        let first = words.next().unwrap();
        if first == "sent" {
            self.sent += 1;
            let id = self.caller(words.next().unwrap()).id;
            return self.peer.sent(id, self.sent);
        }
        if first.starts_with(['"', '-']) || first.parse::<u64>().is_ok() {
            let result = RawJson::parse(words.next().unwrap().to_owned()).unwrap();
            return match self.peer.respond(&id(first), Ok(result)) {
                Some(message) => self.see(format_args!("send {}", wire(&message))),
                None => self.see(format_args!("{first} no longer wanted")),
            };
        }
        let mut limits = CallLimits::default();
        limits.idle = Some(Duration::from_secs(5));
        let mut unsent = false;
        for word in words {
            match word.split_once('=') {
                Some(("idle", limit)) => limits.idle = Some(duration(limit)),
                Some(("total", limit)) => limits.total = Some(duration(limit)),
                None if word == "held" => limits.held = true,
                None if word == "silent" => limits.silent = true,
                None if word == "unsent" => unsent = true,
                _ => panic!("no such limit: {word}"),
            }
        }
        match self.peer.open(limits, self.now) {
            Ok(id) => {
                self.calls.push(Caller { id, outcome: flag(), progress: flag(), gone: false });
                if !unsent {
                    self.sent += 1;
                    self.peer.sent(id, self.sent);
                }
            }
            Err(Refused::Closed) => self.see(format_args!("refused: closed")),
            Err(refused) => self.see(format_args!("refused: {refused}")),
        }
    }

    /// Polls every woken caller and records the result.
    fn look(&mut self) {
        while let Some(waker) = self.peer.next_wake() {
            waker.wake();
        }
        let mut seen = Vec::new();
        for caller in self.calls.iter_mut().filter(|caller| !caller.gone) {
            let number = caller.id.get();
            if caller.progress.take() {
                let waker = Waker::from(caller.progress.clone());
                let mut cx = Context::from_waker(&waker);
                while let Poll::Ready(Some(report)) = self.peer.poll_progress(caller.id, &mut cx) {
                    let total =
                        report.total.map(|total| format!(" of {total}")).unwrap_or_default();
                    let text = report.message.map(|text| format!(" {text}")).unwrap_or_default();
                    seen.push(format!("{number}: {}{total}{text}", report.progress));
                }
            }
            if caller.outcome.take() {
                let waker = Waker::from(caller.outcome.clone());
                let mut cx = Context::from_waker(&waker);
                if let Poll::Ready(outcome) = self.peer.poll(caller.id, &mut cx) {
                    caller.gone = true;
                    seen.push(format!("{number} {}", ending(&outcome)));
                }
            }
        }
        while let Some(id) = self.peer.next_abandoned() {
            seen.push(format!("abandon {}", id.get()));
        }
        while let Some(event) = self.peer.next_event() {
            seen.push(format!("hear {}", heard(&event)));
        }
        while let Some(message) = self.peer.next_outgoing() {
            seen.push(format!("send {}", wire(&message)));
        }
        for line in seen {
            self.see(format_args!("{line}"));
        }
    }

    fn see(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.seen, "{line}").unwrap();
    }

    fn caller(&mut self, number: &str) -> &mut Caller {
        let index: usize = number.parse().unwrap();
        &mut self.calls[index - 1]
    }
}

fn ending(outcome: &Result<RawJson, Failure>) -> String {
    match outcome {
        Ok(result) => result.as_str().to_owned(),
        Err(Failure::Rejected(error)) => format!("rejected: {error}"),
        Err(Failure::TimedOut(timeout)) if timeout.in_total => "expired in total".into(),
        Err(Failure::TimedOut(_)) => "expired".into(),
        Err(Failure::Closed(delivery)) => format!("closed, {delivery:?}"),
        Err(failure) => failure.to_string(),
    }
}

fn heard(event: &Event) -> String {
    match event {
        Event::Request(request) => wire(&Message::Request(request.clone())),
        Event::Notification(notification) => wire(&Message::Notification(notification.clone())),
        Event::Cancelled(id) => format!("cancelled {id}"),
        Event::Complaint(error) => format!("complaint: {error}"),
        other => panic!("{other:?}"),
    }
}

/// The message as sent, without the members that all messages share.
fn wire(message: &Message) -> String {
    let mut line = Vec::new();
    message.write(&mut line);
    String::from_utf8(line).unwrap().replacen(r#""jsonrpc":"2.0","#, "", 1)
}

fn duration(text: &str) -> Duration {
    Duration::from_secs(text.strip_suffix('s').unwrap().parse().unwrap())
}

fn id(text: &str) -> RequestId {
    serde_json::from_str(text).unwrap()
}

fn message(line: &str) -> Message {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let raw = |text: &str| Some(RawJson::parse(text.to_owned()).unwrap());
    let payload = |text: &str| if text.is_empty() { None } else { raw(text) };
    let error = |text: &str| {
        let (code, message) = text.split_once(' ').unwrap();
        Err(ErrorObject::new(code.parse().unwrap(), message))
    };
    if let Some(code) = first.strip_prefix('!') {
        return Message::Response(Response { id: None, outcome: error(&format!("{code} {rest}")) });
    }
    if first.starts_with(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
        let outcome = match rest.strip_prefix('!') {
            Some(text) => error(text),
            None => Ok(raw(rest).unwrap()),
        };
        return Message::Response(Response { id: Some(id(first)), outcome });
    }
    let (method, params) = match first {
        "request" => {
            let mut words = rest.splitn(3, ' ');
            let (id, method) = (id(words.next().unwrap()), words.next().unwrap());
            return Message::Request(Request::new(
                id,
                method.to_owned(),
                words.next().and_then(payload),
            ));
        }
        "progress" => {
            let (token, progress) = rest.split_once(' ').unwrap();
            let params = format!(r#"{{"progressToken":{token},"progress":{progress}}}"#);
            ("notifications/progress", raw(&params))
        }
        "cancelled" => {
            ("notifications/cancelled", raw(&format!(r#"{{"requestId":{rest},"reason":"x"}}"#)))
        }
        method => (method, payload(rest)),
    };
    Message::Notification(Notification::new(method.to_owned(), params))
}
