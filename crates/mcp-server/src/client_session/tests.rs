//! Tests that drive a client session by hand: messages in, messages and jobs out.

mod spans;

use std::sync::Arc;

use mcp_jsonrpc::{
    Message, RawJson,
    wire::{Decoded, decode},
};
use mcp_tool::{ToolOutcome, ToolSpec};
use mcp_types::{BoxFuture, ElicitRequest};

use super::state::{ClientSession, Outgoing};
use crate::{
    Question,
    call::{
        Call,
        inbox::{Change, Inbox},
    },
    error::ServeError,
    options::ServeOptions,
    provide::{Nothing, ServedTool, tools::Entry},
    request::{Facts, Headers},
    shared::Shared,
};
/// A tool that does what its name says.
struct Does(ToolSpec);

impl ServedTool for Does {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: RawJson, call: Call) -> BoxFuture<'_, Result<ToolOutcome, ServeError>> {
        Box::pin(async move {
            match self.0.name.as_str() {
                "ask" => {
                    let form = ElicitRequest::form("who?", RawJson::empty_object());
                    let answer = call.ask("who", Question::elicit(&form)?).await?;
                    Ok(ToolOutcome::text(answer.as_str()))
                }
                "twice" => {
                    let form = || Question::elicit(&ElicitRequest::form("?", RawJson::null()));
                    let one = call.ask("same", form()?);
                    let two = call.ask("same", form()?);
                    let (one, two) = futures::future::join(one, two).await;
                    Ok(ToolOutcome::text(format!("{} {}", one.is_ok(), two.is_ok())))
                }
                "back" => {
                    for progress in [1.0, 0.5, 2.0] {
                        call.progress(progress, None, None);
                    }
                    Ok(ToolOutcome::text("done"))
                }
                "fail" => Ok(ToolOutcome::error("it broke")),
                "panic" => panic!("requested by the test"),
                _ => std::future::pending().await,
            }
        })
    }
}

/// A session, with its output rendered as text.
struct Play {
    client_session: ClientSession,
    inbox: Arc<Inbox>,
    facts: Facts,
}

impl Play {
    fn new() -> Self {
        let mut options = ServeOptions::new("s", "1");
        options.max_calls = 2;
        options.max_subscriptions = 1;
        options.resources = Some(Arc::new(Nothing));
        let shared = Arc::new(Shared::new(options, None));
        for name in ["ask", "twice", "back", "fail", "panic", "endless"] {
            let tool = Arc::new(Does(ToolSpec::new(name, "?")));
            shared.change_tools(|tools| Some(tools.with(Entry::new(tool))));
        }
        Self::of(shared)
    }

    fn of(shared: Arc<Shared>) -> Self {
        let inbox = shared.open_inbox();
        let client_session = ClientSession::new(shared, inbox.clone());
        Self { client_session, inbox, facts: Facts::default() }
    }

    /// An initialized session of a client that supports elicitation.
    async fn initialized() -> Self {
        let mut play = Self::new();
        let hello = r#"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}}}}"#;
        let answer = play.say(hello).await;
        assert!(answer[0].contains(r#""protocolVersion":"2025-06-18""#), "{answer:?}");
        play
    }

    /// Receives one message (without its `jsonrpc`), waits until no call makes progress, and returns the output.
    async fn say(&mut self, text: &str) -> Vec<String> {
        let text = format!(r#"{{"jsonrpc":"2.0",{}"#, &text[1..]);
        let Ok(Decoded::One(message)) = decode(&text.into()) else { panic!("no message") };
        self.client_session.receive(message, &self.facts);
        self.rest().await
    }

    async fn rest(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        for _ in 0..20 {
            self.client_session.start_jobs();
            tokio::task::yield_now().await;
            while let Some(item) = self.inbox.try_next() {
                self.client_session.take(item);
            }
            while let Some(outgoing) = self.client_session.next_outgoing() {
                said.push(match outgoing {
                    Outgoing::Message { message, .. } => line(&message),
                    Outgoing::Answer { message, status, .. } => {
                        format!("{status} {}", line(&message))
                    }
                    Outgoing::HangUp { .. } => "hang up".to_owned(),
                });
            }
        }
        said
    }
}

fn line(message: &Message) -> String {
    let mut text = Vec::new();
    message.write(&mut text);
    String::from_utf8(text).unwrap().replace(r#"{"jsonrpc":"2.0","#, "{")
}

fn modern(id: u32, method: &str, rest: &str) -> String {
    format!(
        r#"{{"id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}{rest}}}}}"#
    )
}

#[tokio::test]
async fn legacy_client_must_initialize_first() {
    let mut play = Play::new();
    let early = play.say(r#"{"id":1,"method":"tools/list"}"#).await;
    assert!(early[0].starts_with("400") && early[0].contains("-32600"), "{early:?}");
    assert_eq!(play.say(r#"{"id":2,"method":"ping"}"#).await, [r#"200 {"id":2,"result":{}}"#]);
    let mut play = Play::initialized().await;
    let again = r#"{"id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    assert!(play.say(again).await[0].contains("already"));
}

#[tokio::test]
async fn unknown_revision_negotiates_the_newest_legacy_one() {
    for wanted in ["1999-01-01", "2026-07-28", "2099-01-01"] {
        let hello = format!(
            r#"{{"id":0,"method":"initialize","params":{{"protocolVersion":"{wanted}"}}}}"#
        );
        let answer = Play::new().say(&hello).await;
        assert!(answer[0].contains(r#""protocolVersion":"2025-11-25""#), "{answer:?}");
    }
}

#[tokio::test]
async fn cancelled_call_withdraws_its_requests_to_the_client() {
    let mut play = Play::initialized().await;
    let asked = play.say(r#"{"id":7,"method":"tools/call","params":{"name":"ask"}}"#).await;
    assert!(asked[0].contains(r#""id":1,"method":"elicitation/create""#), "{asked:?}");
    let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#;
    assert_eq!(
        play.say(cancel).await,
        [r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#]
    );
    assert!(play.say(r#"{"id":1,"result":{"action":"accept"}}"#).await.is_empty(), "too late");
}

#[tokio::test]
async fn error_response_to_elicitation_fails_only_that_call() {
    let mut play = Play::initialized().await;
    play.say(r#"{"id":7,"method":"tools/call","params":{"name":"ask"}}"#).await;
    let refused = play.say(r#"{"id":1,"error":{"code":-1,"message":"no"}}"#).await;
    assert!(refused[0].contains("did not answer: no"), "{refused:?}");
    assert_eq!(play.say(r#"{"id":8,"method":"ping"}"#).await.len(), 1);
}

#[tokio::test]
async fn concurrent_calls_are_bounded_and_duplicate_ids_rejected() {
    let mut play = Play::initialized().await;
    let endless =
        |id: u32| format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"endless"}}}}"#);
    assert!(play.say(&endless(1)).await.is_empty());
    assert!(play.say(&endless(1)).await[0].contains("in use"));
    assert!(play.say(&endless(2)).await.is_empty());
    assert!(play.say(&endless(3)).await[0].contains("too many requests"));
    play.say(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    assert!(play.say(&endless(3)).await.is_empty());
}

#[tokio::test]
async fn panicking_tool_returns_an_internal_error() {
    let mut play = Play::initialized().await;
    let call = r#"{"id":7,"method":"tools/call","params":{"name":"panic"}}"#;
    let broken = play.say(call).await;
    assert!(broken[0].contains("-32603"), "{broken:?}");
}

#[tokio::test]
async fn progress_is_monotonic_and_needs_a_token() {
    let mut play = Play::initialized().await;
    let call = r#"{"id":7,"method":"tools/call","params":{"name":"back"}}"#;
    assert_eq!(play.say(call).await.len(), 1);
    let call =
        r#"{"id":8,"method":"tools/call","params":{"name":"back","_meta":{"progressToken":"t"}}}"#;
    let said = play.say(call).await;
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[1].contains(r#""progressToken":"t","progress":2.0"#), "{said:?}");
}

#[tokio::test]
async fn subscriptions_are_bounded_and_can_be_cancelled() {
    let mut play = Play::initialized().await;
    let subscribe = |id: u32, method: &str, uri: &str| {
        format!(r#"{{"id":{id},"method":"resources/{method}","params":{{"uri":"{uri}"}}}}"#)
    };
    assert!(play.say(&subscribe(1, "subscribe", "a:1")).await[0].contains(r#""result":{}"#));
    assert!(play.say(&subscribe(2, "subscribe", "a:2")).await[0].contains("-32000"));
    let updated = Change::Resource("a:1".into());
    play.inbox.change(&updated);
    assert!(play.rest().await[0].contains("notifications/resources/updated"));
    play.say(&subscribe(3, "unsubscribe", "a:1")).await;
    play.inbox.change(&updated);
    assert!(play.rest().await.is_empty());
}

#[tokio::test]
async fn modern_request_without_required_meta_is_rejected() {
    let mut play = Play::new();
    let bare = play.say(r#"{"id":1,"method":"server/discover"}"#).await;
    assert!(bare[0].starts_with("400") && bare[0].contains("-32602"), "{bare:?}");
    let future = modern(2, "tools/list", "").replace("2026-07-28", "2099-01-01");
    let future = play.say(&future).await;
    assert!(future[0].contains("-32022") && future[0].contains(r#""requested":"2099-01-01""#));
    let gone = play.say(&modern(3, "ping", "")).await;
    assert!(gone[0].starts_with("404") && gone[0].contains("-32601"), "{gone:?}");
    let headers = Headers { version: Some("2026-07-28".into()), ..Headers::default() };
    play.facts = Facts { headers: Some(headers) };
    let silent = play.say(&modern(4, "tools/list", "")).await;
    assert!(silent[0].starts_with("400") && silent[0].contains("-32020"), "{silent:?}");
}

#[tokio::test]
async fn modern_client_resumes_a_call_from_another_session() {
    let mut play = Play::new();
    let asked = play.say(&modern(1, "tools/call", r#","name":"ask""#)).await;
    assert!(asked[0].contains(r#""resultType":"input_required""#), "{asked:?}");
    let state = asked[0].split(r#""requestState":""#).nth(1).unwrap().split('"').next().unwrap();
    let answer = |answer: &str| {
        let rest = r#","name":"ask","inputResponses":{"who":ANSWER},"requestState":"STATE""#;
        let rest = rest.replace("ANSWER", answer).replace("STATE", state);
        modern(2, "tools/call", &rest)
    };
    let mut other = Play::of(play.client_session.shared.clone());
    drop(play);
    let said = other.say(&answer(r#"{"action":"decline"}"#)).await;
    assert!(said[0].contains(r#"\"decline\""#), "{said:?}");
}

#[tokio::test]
async fn invalid_input_response_is_requested_again() {
    let mut play = Play::new();
    let asked = play.say(&modern(1, "tools/call", r#","name":"ask""#)).await;
    let state = |said: &str| {
        said.split(r#""requestState":""#).nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let first = state(&asked[0]);
    let wrong = format!(r#","name":"ask","inputResponses":{{"who":7}},"requestState":"{first}""#);
    let again = play.say(&modern(2, "tools/call", &wrong)).await;
    assert!(again[0].contains("input_required"), "{again:?}");
    assert_ne!(state(&again[0]), first, "each state works once");
    let null = play.say(&modern(3, "tools/call", r#","name":"ask","inputResponses":null"#)).await;
    assert!(null[0].contains("-32602"), "{null:?}");
}

#[tokio::test]
async fn duplicate_question_key_fails_without_hanging() {
    let mut play = Play::new();
    let asked = play.say(&modern(1, "tools/call", r#","name":"twice""#)).await;
    assert!(asked[0].contains("input_required"), "{asked:?}");
    let state = asked[0].split(r#""requestState":""#).nth(1).unwrap().split('"').next().unwrap();
    let rest = format!(
        r#","name":"twice","inputResponses":{{"same":{{"action":"cancel"}}}},"requestState":"{state}""#
    );
    let said = play.say(&modern(2, "tools/call", &rest)).await;
    assert!(said[0].contains("true false"), "{said:?}");
}

#[tokio::test]
async fn listen_delivers_requested_changes_until_cancelled() {
    let mut play = Play::new();
    let wanted = r#","notifications":{"toolsListChanged":true,"promptsListChanged":true}"#;
    let said = play.say(&modern(5, "subscriptions/listen", wanted)).await;
    assert!(said[0].contains("acknowledged") && !said[0].contains("prompts"), "{said:?}");
    assert!(said[0].contains(r#""io.modelcontextprotocol/subscriptionId":5"#), "{said:?}");
    play.inbox.change(&Change::Resources);
    play.inbox.change(&Change::Tools);
    let heard = play.rest().await;
    assert!(heard.len() == 1 && heard[0].contains("tools/list_changed"), "{heard:?}");
    play.say(r#"{"method":"notifications/cancelled","params":{"requestId":5}}"#).await;
    play.inbox.change(&Change::Tools);
    assert!(play.rest().await.is_empty());
}
