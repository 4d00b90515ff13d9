//! The server of the parity suite: messages go in, actions come out.

use mcp_jsonrpc::{ErrorObject, Message, Notification, RawJson, Request, RequestId, Response};
use serde_json::{Value, json};

/// A server that misbehaves on demand: plain state, no I/O.
///
/// The caller performs each [`Action`], in order, before it reads on.
#[derive(Debug, Default)]
pub struct Server {
    held: Vec<Request>,
    /// Requests that wait for a response from the host, in the order they were sent.
    asking: Vec<(RequestId, Request)>,
    questions: i64,
    notes: Vec<Value>,
    cancelled: Vec<Value>,
}

/// An action for the caller of the server to perform.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Action {
    /// Send this message.
    Send(Message),
    /// Send these in one frame, where a frame can contain several.
    SendTogether(Vec<Message>),
    /// Send [`Server::tick`] this many times, without reading meanwhile.
    Flood {
        /// The number of messages.
        count: u64,
        /// The approximate size of each.
        bytes: usize,
    },
    /// Write these bytes, where raw bytes can be written.
    Stray(&'static [u8]),
    /// Never read again, but keep running.
    StopReading,
    /// Close the output, and continue to read.
    CloseOutput,
    /// End immediately.
    Die,
}

/// Output of a misbehaving server: a banner, broken JSON, unrelated JSON, invalid UTF-8, blank lines.
const STRAY: &[u8] =
    b"Server listening on stdio\n{\"jsonrpc\":\"2.0\",\n{\"level\":\"info\"}\n\xff\xfe\xfd\n\r\n\n";
/// How many of these lines are counted as skipped. Blank lines are ignored.
pub(super) const STRAY_LINES: u64 = 4;
pub(super) const STRAY_FIRST: &str = "Server listening on stdio";

impl Server {
    /// Returns the `n`th message of a flood.
    pub fn tick(n: u64, bytes: usize) -> Message {
        let params = json!({ "n": n, "filler": "x".repeat(bytes) });
        Message::Notification(Notification::new("parity/tick", Some(raw(&params))))
    }

    /// Accepts a message from the host.
    pub fn receive(&mut self, message: Message) -> Vec<Action> {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) => {
                self.notification(&notification);
                Vec::new()
            }
            Message::Response(response) => self.response(response),
        }
    }

    fn request(&mut self, request: Request) -> Vec<Action> {
        let answer = |result: &Value| Action::Send(request.answer(Ok(raw(result))));
        let done = || answer(&json!({}));
        match &*request.method {
            "parity/echo" => {
                let params = request.params.clone().unwrap_or_else(RawJson::null);
                vec![Action::Send(request.answer(Ok(params)))]
            }
            "parity/size" => {
                let bytes = usize::try_from(number(&request, "bytes")).unwrap_or(0);
                vec![answer(&Value::String("x".repeat(bytes)))]
            }
            "parity/flood" => {
                let bytes = usize::try_from(number(&request, "bytes")).unwrap_or(0);
                let flood = Action::Flood { count: number(&request, "count"), bytes };
                let dies = number(&request, "die") > 0;
                vec![flood, if dies { Action::Die } else { done() }]
            }
            "parity/stop-reading" => vec![done(), Action::StopReading],
            "parity/stray" => vec![Action::Stray(STRAY), done(), Action::Stray(STRAY)],
            "parity/die" => vec![Action::Die],
            "parity/close-output" => vec![Action::CloseOutput],
            "parity/twice" => vec![answer(&json!(1)), answer(&json!(2))],
            "parity/wrong-id" => {
                let nobodys = Response { id: Some(987_654.into()), outcome: Ok(RawJson::null()) };
                vec![Action::Send(Message::Response(nobodys)), done()]
            }
            "parity/batch" => vec![Action::SendTogether(vec![
                Self::tick(0, 0),
                Self::tick(1, 0),
                request.answer(Ok(RawJson::empty_object())),
            ])],
            "parity/hold" => {
                self.held.push(request);
                Vec::new()
            }
            "parity/release" => {
                let held = std::mem::take(&mut self.held).into_iter().rev();
                let answers = held.map(|held| Action::Send(held.answer(Ok(RawJson::null()))));
                answers.chain([done()]).collect()
            }
            "parity/ask" => {
                self.questions += 1;
                let id = RequestId::from(self.questions);
                let question = Request::new(id.clone(), "parity/question", request.params.clone());
                self.asking.push((id, request));
                vec![Action::Send(Message::Request(question))]
            }
            "parity/report" => {
                vec![answer(&json!({ "notes": self.notes, "cancelled": self.cancelled }))]
            }
            other => {
                let error = ErrorObject::new(
                    ErrorObject::METHOD_NOT_FOUND,
                    format!("a parity server knows no `{other}`"),
                );
                vec![Action::Send(request.answer(Err(error)))]
            }
        }
    }

    fn notification(&mut self, notification: &Notification) {
        let member = |name| {
            let member = notification.params.as_ref().and_then(|params| params.get(name));
            member.and_then(|member| member.decode().ok()).unwrap_or(Value::Null)
        };
        match &*notification.method {
            "parity/note" => self.notes.push(member("n")),
            "notifications/cancelled" => self.cancelled.push(member("requestId")),
            _ => {}
        }
    }

    fn response(&mut self, response: Response) -> Vec<Action> {
        let asked = self.asking.iter().position(|(id, _)| Some(id) == response.id.as_ref());
        let asked = asked.map(|at| self.asking.remove(at));
        asked
            .map(|(_, request)| Action::Send(request.answer(response.outcome)))
            .into_iter()
            .collect()
    }
}

fn number(request: &Request, name: &str) -> u64 {
    let member = request.params.as_ref().and_then(|params| params.get(name));
    member.and_then(|member| member.decode().ok()).unwrap_or(0)
}

pub(super) fn raw(value: &Value) -> RawJson {
    // Encoding a `Value` cannot fail: its keys are strings.
    RawJson::encode(value).unwrap_or_else(|_| RawJson::null())
}
