//! Multiplexes many clients over one server connection by rewriting ids, progress tokens and subscription ids. Performs
//! no I/O.

mod rewrite;

use std::collections::{BTreeSet, HashMap};

use mcp_client::types::{meta, method};
use mcp_jsonrpc::{
    ErrorObject, Message, Notification, ObjectWriter, RawJson, Request, RequestId, Response,
};

use self::rewrite::{subscription, with_member, with_subscription, with_token};

/// A client of the exchange.
pub(super) type ClientId = u64;

/// A message to deliver.
#[derive(Debug, PartialEq)]
pub(super) enum Delivery {
    ToServer(Message),
    ToClient(ClientId, Message),
}

/// The requests in flight between the clients and one server, and the shared handshake.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    next_id: i64,
    /// Requests of clients, by the id used towards the server.
    calls: HashMap<i64, Call>,
    /// Requests of the server that a client has to answer.
    questions: HashMap<RequestId, ClientId>,
    clients: BTreeSet<ClientId>,
    /// The server's results of `initialize` and `server/discover`, once received.
    initialized: Option<RawJson>,
    discovered: Option<Result<RawJson, ErrorObject>>,
    /// Further clients waiting for the result of `initialize`.
    waiting: Vec<(ClientId, RequestId)>,
    /// Whether `notifications/initialized` was sent to the server.
    is_settled: bool,
}

#[derive(Debug)]
struct Call {
    client: ClientId,
    /// The id and progress token chosen by the client.
    id: RequestId,
    token: Option<RawJson>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Initialize,
    Discover,
    Other,
}

impl Exchange {
    pub(super) fn join(&mut self, client: ClientId) {
        self.clients.insert(client);
    }

    /// Returns the number of clients and of their requests in flight.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.clients.len(), self.calls.len())
    }

    /// Removes a client: cancels its requests, and rejects the server's requests to it.
    pub(super) fn leave(&mut self, client: ClientId) -> Vec<Delivery> {
        self.clients.remove(&client);
        self.waiting.retain(|(waiting, _)| *waiting != client);
        let gone = |call: &Call| call.client == client && call.kind == Kind::Other;
        let mut ids: Vec<i64> =
            self.calls.iter().filter(|(_, call)| gone(call)).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        let mut out = Vec::new();
        for id in ids {
            self.calls.remove(&id);
            let mut params = ObjectWriter::new();
            params.integer("requestId", id).string("reason", "the client is gone");
            let note = Notification::new(method::CANCELLED, Some(params.finish()));
            out.push(Delivery::ToServer(Message::Notification(note)));
        }
        let asked: Vec<RequestId> = self
            .questions
            .iter()
            .filter(|(_, asked)| **asked == client)
            .map(|(id, _)| id.clone())
            .collect();
        for id in asked {
            self.questions.remove(&id);
            out.push(refuse(id, "the client is gone"));
        }
        out
    }

    /// Handles a message from a client.
    pub(super) fn take_from_client(&mut self, client: ClientId, message: Message) -> Vec<Delivery> {
        match message {
            Message::Request(request) => self.request(client, request),
            Message::Notification(note) => self.notification(client, note).into_iter().collect(),
            // Only the client that received the request may answer it.
            Message::Response(response) => {
                let asked = response.id.as_ref().and_then(|id| self.questions.get(id));
                if asked != Some(&client) {
                    return Vec::new();
                }
                response.id.as_ref().map(|id| self.questions.remove(id));
                vec![Delivery::ToServer(Message::Response(response))]
            }
        }
    }

    fn request(&mut self, client: ClientId, request: Request) -> Vec<Delivery> {
        let kind = match &*request.method {
            method::INITIALIZE => Kind::Initialize,
            method::SERVER_DISCOVER => Kind::Discover,
            _ => Kind::Other,
        };
        let known = match kind {
            Kind::Initialize => self.initialized.clone().map(Ok),
            Kind::Discover => self.discovered.clone(),
            Kind::Other => None,
        };
        if let Some(outcome) = known {
            return vec![Delivery::ToClient(client, request.answer(outcome))];
        }
        // A server is initialized once: clients that join during the handshake get the same result.
        if kind == Kind::Initialize && self.calls.values().any(|call| call.kind == kind) {
            self.waiting.push((client, request.id));
            return Vec::new();
        }
        self.next_id += 1;
        let id = self.next_id;
        let (params, token) = with_token(request.params, id);
        self.calls.insert(id, Call { client, id: request.id, token, kind });
        let request = Request { id: RequestId::from(id), method: request.method, params };
        vec![Delivery::ToServer(Message::Request(request))]
    }

    fn notification(&mut self, client: ClientId, mut note: Notification) -> Option<Delivery> {
        match &*note.method {
            method::INITIALIZED if std::mem::replace(&mut self.is_settled, true) => {
                return None;
            }
            method::CANCELLED => {
                let params = note.params.as_ref()?;
                let theirs: RequestId = params.get("requestId")?.decode().ok()?;
                let is_it = |call: &Call| call.client == client && call.id == theirs;
                let (id, _) = self.calls.iter().find(|(_, call)| is_it(call))?;
                let id = RawJson::encode(id).ok()?;
                note.params = Some(with_member(params, "requestId", &id));
            }
            _ => {}
        }
        Some(Delivery::ToServer(Message::Notification(note)))
    }

    /// Handles a message from the server.
    pub(super) fn take_from_server(&mut self, message: Message) -> Vec<Delivery> {
        match message {
            Message::Response(response) => self.response(&response),
            Message::Request(request) => self.question(request),
            Message::Notification(note) => self.news(note),
        }
    }

    fn response(&mut self, response: &Response) -> Vec<Delivery> {
        let id = response.id.as_ref().and_then(RequestId::as_integer);
        // A response without a pending request answers a cancelled call, and should be ignored:
        // https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
        let Some(call) = id.and_then(|id| self.calls.remove(&id)) else { return Vec::new() };
        let answer = |client: ClientId, id: RequestId| {
            let mut outcome = response.outcome.clone();
            // The result that ends a subscription names it.
            if let Ok(result) = &mut outcome
                && subscription(result).is_some()
            {
                *result = with_subscription(result, &id);
            }
            Delivery::ToClient(client, Message::Response(Response { id: Some(id), outcome }))
        };
        let mut out = Vec::new();
        match call.kind {
            Kind::Initialize => {
                self.initialized = response.outcome.as_ref().ok().map(RawJson::detached);
                let waiting = std::mem::take(&mut self.waiting);
                out.extend(waiting.into_iter().map(|(client, id)| answer(client, id)));
            }
            Kind::Discover => self.discovered = Some(response.outcome.clone()),
            Kind::Other => {}
        }
        if self.clients.contains(&call.client) {
            out.push(answer(call.client, call.id));
        }
        out
    }

    /// Forwards a request of the server to the only client it can belong to.
    fn question(&mut self, request: Request) -> Vec<Delivery> {
        if request.method == method::PING {
            return vec![Delivery::ToServer(request.answer(Ok(RawJson::empty_object())))];
        }
        let busy = self.calls.values().filter(|call| call.kind == Kind::Other);
        let busy: BTreeSet<ClientId> = busy.map(|call| call.client).collect();
        let busy = if busy.is_empty() { self.clients.clone() } else { busy };
        let mut all = busy.into_iter();
        match (all.next(), all.next()) {
            (Some(client), None) => {
                self.questions.insert(request.id.clone(), client);
                vec![Delivery::ToClient(client, Message::Request(request))]
            }
            (None, _) => vec![refuse(request.id, "no client is connected")],
            // No field says which call the request belongs to, and a guess could show one user's elicitation to another
            // program.
            _ => vec![refuse(request.id, "calls of several clients are in flight")],
        }
    }

    fn news(&mut self, mut note: Notification) -> Vec<Delivery> {
        if note.method == method::PROGRESS {
            let Some(params) = &note.params else { return Vec::new() };
            let token =
                params.get(meta::PROGRESS_TOKEN).and_then(|token| token.decode::<i64>().ok());
            let call = token.and_then(|token| self.calls.get(&token));
            let Some((client, token)) = call.and_then(|c| Some((c.client, c.token.as_ref()?)))
            else {
                return Vec::new();
            };
            note.params = Some(with_member(params, meta::PROGRESS_TOKEN, token));
            return vec![Delivery::ToClient(client, Message::Notification(note))];
        }
        // A subscription belongs to the client that requested it, which knows it by another id:
        // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
        if let Some(id) = note.params.as_ref().and_then(subscription) {
            let Some(call) = id.as_integer().and_then(|id| self.calls.get(&id)) else {
                return Vec::new();
            };
            note.params = note.params.map(|params| with_subscription(&params, &call.id));
            return vec![Delivery::ToClient(call.client, Message::Notification(note))];
        }
        // A server ends a subscription by cancelling its request.
        if note.method == method::CANCELLED {
            let Some(params) = &note.params else { return Vec::new() };
            let id = params.get("requestId").and_then(|id| id.decode::<i64>().ok());
            let Some(call) = id.and_then(|id| self.calls.remove(&id)) else { return Vec::new() };
            let Ok(theirs) = RawJson::encode(&call.id) else { return Vec::new() };
            note.params = Some(with_member(params, "requestId", &theirs));
            return vec![Delivery::ToClient(call.client, Message::Notification(note))];
        }
        let everybody = self.clients.iter();
        everybody
            .map(|client| Delivery::ToClient(*client, Message::Notification(note.clone())))
            .collect()
    }
}

fn refuse(id: RequestId, why: &str) -> Delivery {
    let outcome = Err(ErrorObject::new(ErrorObject::INTERNAL_ERROR, why));
    Delivery::ToServer(Message::Response(Response { id: Some(id), outcome }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        match mcp_jsonrpc::wire::decode(&text.to_owned().into()).unwrap() {
            mcp_jsonrpc::wire::Decoded::One(message) => message,
            mcp_jsonrpc::wire::Decoded::Batch(_) => panic!("one message"),
        }
    }

    /// Formats deliveries: `> message` to the server, `1 message` to client 1.
    fn shown(deliveries: Vec<Delivery>) -> Vec<String> {
        let show = |to: String, message: Message| {
            let mut line = Vec::new();
            message.write(&mut line);
            let line = String::from_utf8(line).unwrap().replace(r#""jsonrpc":"2.0","#, "");
            format!("{to} {line}")
        };
        deliveries
            .into_iter()
            .map(|delivery| match delivery {
                Delivery::ToServer(message) => show(">".into(), message),
                Delivery::ToClient(client, message) => show(client.to_string(), message),
            })
            .collect()
    }

    fn said(exchange: &mut Exchange, client: ClientId, text: &str) -> Vec<String> {
        shown(exchange.take_from_client(client, message(text)))
    }

    fn heard(exchange: &mut Exchange, text: &str) -> Vec<String> {
        shown(exchange.take_from_server(message(text)))
    }

    fn two_clients() -> Exchange {
        let mut exchange = Exchange::default();
        exchange.join(1);
        exchange.join(2);
        exchange
    }

    #[test]
    fn clients_with_the_same_ids_get_their_own_responses_and_progress() {
        let mut exchange = two_clients();
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":7}}}"#;
        assert_eq!(
            said(&mut exchange, 1, call),
            [
                r#"> {"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}"#
            ]
        );
        assert_eq!(said(&mut exchange, 2, call).len(), 1);
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#;
        assert_eq!(
            heard(&mut exchange, progress),
            [r#"2 {"method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#]
        );
        assert_eq!(
            heard(&mut exchange, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#),
            [r#"2 {"id":7,"result":{}}"#]
        );
        assert_eq!(
            heard(&mut exchange, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            [r#"1 {"id":7,"result":{}}"#]
        );
        assert!(heard(&mut exchange, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).is_empty());
    }

    #[test]
    fn a_server_is_initialized_once() {
        let mut exchange = two_clients();
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
        let done = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(said(&mut exchange, 1, hello).len(), 1);
        assert!(said(&mut exchange, 2, hello).is_empty(), "it waits for the same answer");
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{}}}"#;
        assert_eq!(
            heard(&mut exchange, answer),
            [
                r#"2 {"id":0,"result":{"serverInfo":{}}}"#,
                r#"1 {"id":0,"result":{"serverInfo":{}}}"#
            ]
        );
        assert_eq!(said(&mut exchange, 1, done).len(), 1);
        assert!(said(&mut exchange, 2, done).is_empty());
        exchange.join(3);
        assert_eq!(said(&mut exchange, 3, hello), [r#"3 {"id":0,"result":{"serverInfo":{}}}"#]);
    }

    #[test]
    fn server_request_goes_to_the_client_with_a_call_in_flight() {
        let mut exchange = two_clients();
        let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}"#;
        let question = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
        let answer = r#"{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}"#;
        said(&mut exchange, 2, call);
        assert_eq!(
            heard(&mut exchange, question),
            [r#"2 {"id":"q","method":"elicitation/create","params":{}}"#]
        );
        assert!(said(&mut exchange, 1, answer).is_empty(), "it was not asked");
        assert_eq!(
            said(&mut exchange, 2, answer),
            [r#"> {"id":"q","result":{"action":"accept"}}"#]
        );
        said(&mut exchange, 1, call);
        let refused = heard(&mut exchange, question);
        assert!(refused[0].starts_with(r#"> {"id":"q","error":"#), "{refused:?}");
    }

    #[test]
    fn calls_of_a_client_that_leaves_are_cancelled() {
        let mut exchange = two_clients();
        said(&mut exchange, 1, r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}"#);
        heard(&mut exchange, r#"{"jsonrpc":"2.0","id":9,"method":"elicitation/create"}"#);
        let left = shown(exchange.leave(1));
        assert!(left[0].contains(r#""method":"notifications/cancelled","params":{"requestId":1"#));
        assert!(left[1].starts_with(r#"> {"id":9,"error""#), "{left:?}");
        assert_eq!(exchange.counts(), (1, 0));
    }

    #[test]
    fn subscription_is_known_to_its_client_by_the_id_of_its_own_request() {
        let mut exchange = two_clients();
        let listen = r#"{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{}}"#;
        said(&mut exchange, 1, listen);
        said(&mut exchange, 2, listen);
        let notice = |id: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            )
        };
        let received = heard(&mut exchange, &notice("2"));
        assert!(received[0].starts_with("2 "), "only the subscriber: {received:?}");
        assert!(received[0].contains(r#"subscriptionId":4}"#) && received.len() == 1);
        assert!(heard(&mut exchange, &notice("9")).is_empty(), "unknown subscription");
        let end = r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
        assert_eq!(
            heard(&mut exchange, end),
            [r#"1 {"id":4,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}"#]
        );
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
        assert_eq!(
            heard(&mut exchange, cancel),
            [r#"2 {"method":"notifications/cancelled","params":{"requestId":4}}"#]
        );
        assert_eq!(exchange.counts(), (2, 0), "both subscriptions have ended");
    }

    #[test]
    fn cancellation_uses_the_id_known_to_the_server() {
        let mut exchange = two_clients();
        said(&mut exchange, 1, r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#);
        said(&mut exchange, 2, r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#);
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        assert_eq!(
            said(&mut exchange, 2, cancel),
            [r#"> {"method":"notifications/cancelled","params":{"requestId":2}}"#]
        );
    }
}
