//! Recorded sessions can be replayed.

use mcp_jsonrpc::{Message, RawJson, Request};
use mcp_transport::{
    Connect as _, InProcess, Stdio, StdioOptions,
    diagnostics::CloseReason,
    record::{Cassette, Recorder, Replay},
    testing::{Fault, Faulty, Plan, When, parity},
};
use proptest::prelude::*;
use serde_json::json;

use super::host::Host;

fn scenario(name: &str) -> &'static parity::Scenario {
    parity::scenarios().iter().find(|scenario| scenario.name == name).unwrap()
}

/// Records a scenario with a real process, serializes the recording, and runs the scenario against its replay.
async fn check_replay(name: &str) {
    let stdio = Stdio::new(StdioOptions::new(env!("CARGO_BIN_EXE_parity-server")));
    let recorder = Recorder::new(stdio);
    scenario(name).run(&recorder).await.unwrap();
    let cassette = recorder.cassette();
    let read: Cassette = cassette.to_string().parse().unwrap();
    assert_eq!(read, cassette);
    scenario(name).run(&Replay::new(read)).await.unwrap();
}

#[tokio::test]
async fn requests_and_responses_are_replayed() {
    check_replay("echo_comes_back").await;
    check_replay("responses_match_their_requests").await;
}

#[tokio::test]
async fn responses_out_of_order_are_replayed_in_that_order() {
    check_replay("responses_may_arrive_out_of_order").await;
}

#[tokio::test]
async fn server_requests_are_replayed() {
    check_replay("server_requests_are_delivered").await;
}

#[tokio::test]
async fn two_connections_are_replayed() {
    check_replay("two_connections_are_two_servers").await;
}

#[tokio::test]
async fn server_exit_is_replayed() {
    check_replay("a_server_that_closes_its_output_is_reported").await;
}

#[tokio::test]
async fn recorded_close_waits_for_its_request() {
    let replay = Replay::new(r#"{"link":1,"end":"requested"}"#.parse().unwrap());
    let mut host = Host::open(&replay).await;
    host.tell("hello", &json!({}));
    let report = host.close().await;
    assert_eq!(report.reason, CloseReason::Requested);
    assert_eq!(report.flushed, 1);
}

#[tokio::test]
async fn unrecorded_request_is_rejected_and_others_are_answered() {
    let cassette = r#"
        {"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}}
        {"link":1,"in":{"jsonrpc":"2.0","id":1,"result":{}}}
    "#;
    let mut host = Host::open(&Replay::new(cassette.parse().unwrap())).await;
    host.ask(1, "tools/list", &json!({}));
    let refusal = host.next().await;
    assert!(refusal.contains("no request for `tools/list`"), "{refusal}");
    host.ask(2, "ping", &json!({}));
    assert_eq!(host.next().await, "2");
}

#[tokio::test]
async fn connection_beyond_the_recording_is_refused() {
    let replay = Replay::new(r#"{"link":1,"end":"ended"}"#.parse().unwrap());
    replay.connect().await.unwrap();
    let error = replay.connect().await.unwrap_err();
    assert_eq!(error.to_string(), "the cassette holds 1 connections, and this is 2");
}

#[tokio::test]
async fn params_match_in_any_member_order() {
    let cassette = r#"
        {"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"b":[2.0, {}]}}}
        {"link":1,"in":{"jsonrpc":"2.0","id":1,"result":{}}}
    "#;
    let host = Host::open(&Replay::new(cassette.parse().unwrap())).await;
    let params = RawJson::parse(r#"{ "b": [2.0,{}], "a": 1 }"#).unwrap();
    host.outlet.send(Message::Request(Request::new("x", "m", Some(params)))).unwrap();
    let mut host = host;
    assert_eq!(host.next().await, "\"x\"");
}

#[tokio::test]
async fn lost_requests_are_recorded_with_their_reason() {
    let mut options = mcp_transport::InProcessOptions::default();
    options.max_message = 100;
    let recorder = Recorder::new(InProcess::with_options(parity::serve, options));
    let mut host = Host::open(&recorder).await;
    host.ask(1, "parity/size", &json!({ "bytes": 1000 }));
    host.next().await;
    let cassette = recorder.cassette();
    assert!(cassette.to_string().contains(r#""lost":1,"size":1002,"limit":100"#), "{cassette}");
    assert_eq!(cassette.to_string().parse::<Cassette>(), Ok(cassette));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn response_is_not_recorded_before_its_request() {
    const CALLS: i64 = 500;
    let recorder = Recorder::new(InProcess::new(parity::serve));
    let mut host = Host::open(&recorder).await;
    let outlet = host.outlet.clone();
    let answers = tokio::spawn(async move { host.words(500).await });
    for id in 1..=CALLS {
        let request = Request::new(id, "parity/echo", None);
        outlet.send(Message::Request(request)).unwrap();
    }
    answers.await.unwrap();
    let text = recorder.cassette().to_string();
    for id in 1..=CALLS {
        let at = |way: &str| {
            let entry = format!(r#""{way}":{{"jsonrpc":"2.0","id":{id},"#);
            text.find(&entry).unwrap()
        };
        assert!(at("out") < at("in"), "{id}");
    }
}

#[tokio::test]
async fn recorders_and_faults_wrap_each_other() {
    let plan = Plan::new().incoming(When::Nth(1), Fault::Duplicate);
    let recorder = Recorder::new(Faulty::new(InProcess::new(parity::serve), plan));
    let mut host = Host::open(&recorder).await;
    host.ask(1, "parity/echo", &json!({}));
    assert_eq!(host.words(2).await, ["1", "1"]);
    assert_eq!(recorder.cassette().len(), 3);
}

#[test]
fn invalid_recording_names_its_line() {
    let problem = |text: &str| text.parse::<Cassette>().unwrap_err().to_string();
    assert_eq!(problem("\n# a comment\n{"), "line 3 of the cassette: not JSON");
    assert_eq!(
        problem(r#"{"link":0}"#),
        "line 1 of the cassette: `link` must be a number above zero"
    );
    assert_eq!(
        problem(r#"{"link":1,"in":{"jsonrpc":"1.0"}}"#),
        "line 1 of the cassette: not a JSON-RPC message"
    );
    assert_eq!(
        problem(r#"{"link":1}"#),
        "line 1 of the cassette: one of `out`, `in`, `lost`, `end` is missing"
    );
}

#[test]
fn failures_round_trip_through_text() {
    let text = concat!(
        r#"{"link":1,"lost":"a\"b","delivery":"not-sent","reason":"no \"way\""}"#,
        "\n",
        r#"{"link":1,"lost":2,"delivery":"unknown","reason":""}"#,
        "\n",
        r#"{"link":2,"lost":2,"delivery":"executed","reason":"x"}"#,
        "\n",
        r#"{"link":2,"lost":3,"delivery":"not-sent","class":"auth","reason":"x"}"#,
        "\n",
        r#"{"link":2,"end":"failed","reason":"broken \\ pipe"}"#,
        "\n",
        r#"{"link":3,"end":"refused","class":"permanent","reason":"x"}"#,
        "\n",
    );
    let cassette: Cassette = text.parse().unwrap();
    assert_eq!(cassette.to_string(), text);
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in ".{0,200}") {
        let _ = text.parse::<Cassette>();
    }

    #[test]
    fn messages_round_trip_through_a_recording(
        text in ".{0,60}",
        method in "[a-z/]{1,20}",
        number: i64,
    ) {
        let params = RawJson::encode(&json!({ "text": text, "number": number })).unwrap();
        let mut line = br#"{"link":1,"out":"#.to_vec();
        Message::Request(Request::new(number, method, Some(params))).write(&mut line);
        line.push(b'}');
        let line = String::from_utf8(line).unwrap();
        let cassette: Cassette = line.parse().unwrap();
        prop_assert_eq!(cassette.to_string(), line + "\n");
    }
}
