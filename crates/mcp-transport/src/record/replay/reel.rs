//! One recorded session, and the position of its replay. Plain state, no I/O.

use std::collections::VecDeque;

use mcp_jsonrpc::{ErrorObject, Message, Notification, Request, RequestId, Response};
use mcp_types::{meta, method};
use serde_json::Value;

use super::{
    super::cassette::Event,
    key::{Key, rewritten},
};
use crate::{diagnostics::CloseReason, link::Inbound};

/// A session to replay. Messages from the host go in, the server's messages come out.
#[derive(Debug, Default)]
pub(super) struct Reel {
    events: VecDeque<Played>,
    ids: Vec<(RequestId, RequestId)>,
    tokens: Vec<(Value, Value)>,
    /// Error responses to requests that were not recorded.
    refusals: VecDeque<Message>,
}

#[derive(Debug)]
enum Played {
    /// The host must have sent this request.
    Asks {
        key: Key,
        id: RequestId,
        token: Option<Value>,
        made: bool,
    },
    /// The host must have responded to this request of the server.
    Answers {
        id: RequestId,
        given: bool,
    },
    Hears(Inbound),
    Ends(CloseReason),
}

impl Reel {
    pub(super) fn new(events: Vec<Event>) -> Self {
        let events = events.into_iter().filter_map(|event| match event {
            Event::Out(Message::Request(request)) => {
                let (key, token) = Key::of(&request);
                Some(Played::Asks { key, id: request.id, token, made: false })
            }
            Event::Out(Message::Response(Response { id: Some(id), .. })) => {
                Some(Played::Answers { id, given: false })
            }
            // The time of a notification from the host varies, so nothing waits for it.
            Event::Out(_) => None,
            Event::In(inbound) => Some(Played::Hears(inbound)),
            Event::End(reason) => Some(Played::Ends(reason)),
        });
        Self { events: events.collect(), ..Self::default() }
    }

    /// Accepts a message from the host.
    pub(super) fn receive(&mut self, message: Message) {
        match message {
            Message::Request(request) => self.asked(request),
            Message::Response(response) => {
                let waiting = self.events.iter_mut().find_map(|event| match event {
                    Played::Answers { id, given }
                        if !*given && Some(&*id) == response.id.as_ref() =>
                    {
                        Some(given)
                    }
                    _ => None,
                });
                if let Some(given) = waiting {
                    *given = true;
                }
            }
            Message::Notification(_) => {}
        }
    }

    fn asked(&mut self, request: Request) {
        let (asked, own_token) = Key::of(&request);
        let recorded = self.events.iter_mut().find_map(|event| match event {
            Played::Asks { key, id, token, made } if !*made && *key == asked => {
                *made = true;
                Some((id.clone(), token.clone()))
            }
            _ => None,
        });
        let Some((id, token)) = recorded else {
            let expected = match self.expected() {
                Some(method) => format!("it goes on with `{method}`"),
                None => "nothing more is to be asked".to_owned(),
            };
            let problem = format!(
                "no request for `{}` with these params is left on the cassette; {expected}",
                request.method
            );
            let error = ErrorObject::new(ErrorObject::INTERNAL_ERROR, problem);
            self.refusals.push_back(request.answer(Err(error)));
            return;
        };
        self.ids.push((id, request.id));
        self.tokens.extend(token.zip(own_token));
    }

    fn expected(&self) -> Option<&str> {
        self.events.iter().find_map(|event| match event {
            Played::Asks { key, made: false, .. } => Some(key.method()),
            _ => None,
        })
    }

    /// Returns the next message of the server, if it is due.
    pub(super) fn next(&mut self) -> Option<Inbound> {
        if let Some(refusal) = self.refusals.pop_front() {
            return Some(Inbound::Message(refusal));
        }
        self.skip_done();
        match self.events.pop_front()? {
            Played::Hears(inbound) => Some(self.mapped(inbound)),
            other => {
                self.events.push_front(other);
                None
            }
        }
    }

    /// Returns how the session ends, once all other events are replayed.
    pub(super) fn end(&mut self) -> Option<CloseReason> {
        self.skip_done();
        match self.events.front() {
            // The recorded host closed the link, and this host has not done so yet.
            Some(Played::Ends(CloseReason::Requested)) => None,
            Some(Played::Ends(reason)) => Some(reason.clone()),
            _ => None,
        }
    }

    fn skip_done(&mut self) {
        while let Some(Played::Asks { made: true, .. } | Played::Answers { given: true, .. }) =
            self.events.front()
        {
            self.events.pop_front();
        }
    }

    /// Replaces recorded ids and tokens by those of this run.
    fn mapped(&self, inbound: Inbound) -> Inbound {
        match inbound {
            Inbound::Lost { id, failure } => Inbound::Lost { id: self.id(&id), failure },
            Inbound::Message(Message::Response(Response { id, outcome })) => {
                let id = id.map(|id| self.id(&id));
                Inbound::Message(Message::Response(Response { id, outcome }))
            }
            Inbound::Message(Message::Notification(notification)) => {
                Inbound::Message(Message::Notification(self.mapped_notification(notification)))
            }
            other => other,
        }
    }

    fn mapped_notification(&self, mut notification: Notification) -> Notification {
        let params = notification.params.as_ref();
        let params = match &*notification.method {
            method::PROGRESS => rewritten(params, meta::PROGRESS_TOKEN, |token| {
                latest(&self.tokens, token).cloned()
            }),
            method::CANCELLED => rewritten(params, "requestId", |id| {
                let id: RequestId = serde_json::from_value(id.clone()).ok()?;
                serde_json::to_value(latest(&self.ids, &id)?).ok()
            }),
            _ => None,
        };
        notification.params = params.or(notification.params);
        notification
    }

    fn id(&self, recorded: &RequestId) -> RequestId {
        latest(&self.ids, recorded).unwrap_or(recorded).clone()
    }
}

/// Returns the latest pair, since an id may be reused.
fn latest<'a, T: PartialEq>(pairs: &'a [(T, T)], recorded: &T) -> Option<&'a T> {
    pairs.iter().rev().find(|(known, _)| known == recorded).map(|(_, own)| own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Cassette;

    fn reel(cassette: &str) -> Reel {
        Reel::new(cassette.parse::<Cassette>().unwrap().link(1))
    }

    fn message(text: &'static str) -> Message {
        match mcp_jsonrpc::wire::decode(&text.into()) {
            Ok(mcp_jsonrpc::wire::Decoded::One(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn said(reel: &mut Reel) -> Vec<String> {
        let said = std::iter::from_fn(|| reel.next());
        said.map(|inbound| match inbound {
            Inbound::Reply(reply) => format!("unread {}", reply.id()),
            Inbound::Message(message) => {
                let mut text = Vec::new();
                message.write(&mut text);
                String::from_utf8(text).unwrap()
            }
            Inbound::Lost { id, failure } => format!("lost {id}: {failure}"),
        })
        .collect()
    }

    #[test]
    fn ids_and_progress_tokens_are_those_of_this_run() {
        let mut reel = reel(
            r#"
            {"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"go","params":{"_meta":{"progressToken":1}}}}
            {"link":1,"in":{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}}
            {"link":1,"in":{"jsonrpc":"2.0","id":1,"result":{}}}
            "#,
        );
        assert_eq!(said(&mut reel), [""; 0]);
        reel.receive(message(
            r#"{"jsonrpc":"2.0","id":"x","method":"go","params":{"_meta":{"progressToken":"t"}}}"#,
        ));
        assert_eq!(
            said(&mut reel),
            [
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t"}}"#,
                r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
            ]
        );
    }

    #[test]
    fn requests_may_come_in_another_order_but_answers_do_not() {
        let mut reel = reel(
            r#"
            {"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"a"}}
            {"link":1,"out":{"jsonrpc":"2.0","id":2,"method":"b"}}
            {"link":1,"in":{"jsonrpc":"2.0","id":1,"result":"a"}}
            {"link":1,"in":{"jsonrpc":"2.0","id":2,"result":"b"}}
            "#,
        );
        reel.receive(message(r#"{"jsonrpc":"2.0","id":8,"method":"b"}"#));
        assert_eq!(said(&mut reel), [""; 0]);
        reel.receive(message(r#"{"jsonrpc":"2.0","id":9,"method":"a"}"#));
        assert_eq!(
            said(&mut reel),
            [
                r#"{"jsonrpc":"2.0","id":9,"result":"a"}"#,
                r#"{"jsonrpc":"2.0","id":8,"result":"b"}"#
            ]
        );
    }

    #[test]
    fn request_missing_from_the_recording_is_refused_by_name() {
        let mut reel = reel(r#"{"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"a"}}"#);
        reel.receive(message(r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#));
        let said = said(&mut reel).join("");
        assert!(said.contains("no request for `b`") && said.contains("goes on with `a`"), "{said}");
    }

    #[test]
    fn the_servers_own_questions_are_waited_for() {
        let mut reel = reel(
            r#"
            {"link":1,"in":{"jsonrpc":"2.0","id":5,"method":"q"}}
            {"link":1,"out":{"jsonrpc":"2.0","id":5,"result":1}}
            {"link":1,"in":{"jsonrpc":"2.0","method":"thanks"}}
            {"link":1,"end":"ended"}
            "#,
        );
        assert_eq!(said(&mut reel).len(), 1);
        assert_eq!(reel.end(), None);
        reel.receive(message(r#"{"jsonrpc":"2.0","id":5,"result":2}"#));
        assert_eq!(said(&mut reel), [r#"{"jsonrpc":"2.0","method":"thanks"}"#]);
        assert_eq!(reel.end(), Some(CloseReason::Ended));
    }
}
