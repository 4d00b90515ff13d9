//! Requests and their responses.

use std::{collections::HashSet, future::poll_fn};

use mcp_jsonrpc::{Message, RawJson, Request, RequestId, Response};
use serde_json::json;

use super::super::{
    Violation,
    probe::{Probe, ensure, tick},
    server::raw,
};
use crate::link::{CancelBy, Connect, Inbound};

pub(super) async fn echo_comes_back(connect: &dyn Connect) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let awkward = json!({
        "empty": {}, "null": null, "deep": [[[{"a": [1, 2.5, -3]}]]],
        "text": "line\nbreak \r \"quotes\" \\ \u{0} \u{2028} 日本語 🦀",
        "large": "x".repeat(300_000),
    });
    let echoed = probe.call("parity/echo", &awkward).await?;
    ensure!(echoed == raw(&awkward), "params came back changed");

    for id in [RequestId::from("a string"), RequestId::from(0), RequestId::from(i64::MAX)] {
        let request = Request::new(id.clone(), "parity/echo", None);
        let sent = probe.outlet.send(Message::Request(request));
        ensure!(sent.is_ok(), "a request with id {id} was not taken");
        let response = probe.answer().await?;
        ensure!(response.id == Some(id.clone()), "id {id} came back as {:?}", response.id);
        ensure!(response.outcome == Ok(RawJson::null()), "no params came back as {response:?}");
    }
    Ok(())
}

pub(super) async fn responses_match_their_requests(connect: &dyn Connect) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let mut waiting = HashSet::new();
    for n in 1..=200 {
        waiting.insert(probe.request("parity/echo", &json!({ "n": n }))?.id);
    }
    while !waiting.is_empty() {
        let response = probe.answer().await?;
        let id = response.id.clone().unwrap_or(0.into());
        ensure!(waiting.remove(&id), "an answer to {id}, which no request waits for");
        let n = response.outcome.ok().and_then(|result| result.get("n")?.decode::<i64>().ok());
        ensure!(n == id.as_integer(), "call {id} got the answer of call {n:?}");
    }
    Ok(())
}

pub(super) async fn duplicate_responses_are_delivered(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let sent = probe.request("parity/twice", &json!({}))?;
    for _ in 0..2 {
        let response = probe.answer().await?;
        ensure!(response.id.as_ref() == Some(&sent.id), "an answer to {:?}", response.id);
    }
    probe.is_alive().await
}

pub(super) async fn responses_without_a_request_are_delivered(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let sent = probe.request("parity/wrong-id", &json!({}))?;
    // A transport may deliver or drop a response without a request, but must deliver the real one.
    while probe.answer().await?.id.as_ref() != Some(&sent.id) {}
    probe.is_alive().await
}

pub(super) async fn batches_are_taken_apart(connect: &dyn Connect) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let sent = probe.request("parity/batch", &json!({}))?;
    for n in 0..2 {
        let next = probe.next().await?;
        ensure!(tick(&next) == Some(n), "expected tick {n}, got {next:?}");
    }
    let response = probe.answer().await?;
    ensure!(response.id == Some(sent.id), "the answer did not follow");
    probe.is_alive().await
}

pub(super) async fn responses_may_arrive_out_of_order(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let first = probe.request("parity/hold", &json!({}))?;
    let second = probe.request("parity/hold", &json!({}))?;
    let release = probe.request("parity/release", &json!({}))?;
    for expected in [second.id, first.id, release.id] {
        let response = probe.answer().await?;
        ensure!(
            response.id.as_ref() == Some(&expected),
            "expected the answer to {expected}, got one to {:?}",
            response.id
        );
    }
    Ok(())
}

pub(super) async fn cancelled_call_frees_its_id(connect: &dyn Connect) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let held = probe.request("parity/hold", &json!({}))?;
    probe.is_alive().await?;
    if probe.outlet.cancel(&held.id) == CancelBy::Notification {
        let id = held.id.as_integer();
        probe.notify("notifications/cancelled", &json!({ "requestId": id }))?;
        let report = probe.call("parity/report", &json!({})).await?;
        let seen = report.get("cancelled").and_then(|ids| ids.decode::<Vec<Option<i64>>>().ok());
        ensure!(seen == Some(vec![id]), "the server saw {} cancelled", report.as_str());
    }
    // The late response may arrive or not.
    let release = probe.request("parity/release", &json!({}))?;
    loop {
        match probe.next().await? {
            Inbound::Message(Message::Response(response))
                if response.id.as_ref() == Some(&release.id) =>
            {
                break;
            }
            Inbound::Message(Message::Response(Response { id: Some(id), .. }))
            | Inbound::Lost { id, .. }
                if id == held.id => {}
            other => return Err(Violation::new(format!("unexpected: {other:?}"))),
        }
    }
    let again = Request::new(held.id.clone(), "parity/echo", None);
    ensure!(probe.outlet.send(Message::Request(again)).is_ok(), "the id is not free");
    let response = probe.answer().await?;
    ensure!(response.id == Some(held.id), "the id's next call got no answer");
    Ok(())
}

pub(super) async fn server_requests_are_delivered(connect: &dyn Connect) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let sent = probe.request("parity/ask", &json!({ "topic": "life" }))?;
    let Inbound::Message(Message::Request(question)) = probe.next().await? else {
        return Err(Violation::new("the server's question did not arrive"));
    };
    ensure!(question.method == "parity/question", "it asks {}", question.method);
    let answer = question.answer(Ok(raw(&json!(42))));
    ensure!(probe.outlet.send(answer).is_ok(), "our answer was not taken");
    let response = probe.answer().await?;
    ensure!(response.id == Some(sent.id), "an answer to another call");
    ensure!(response.outcome == Ok(raw(&json!(42))), "our answer did not reach the server");
    Ok(())
}

pub(super) async fn many_tasks_share_a_link(connect: &dyn Connect) -> Result<(), Violation> {
    const TASKS: i64 = 8;
    const CALLS: i64 = 50;
    let mut probe = Probe::open(connect).await?;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let outlet = probe.outlet.clone();
            tokio::spawn(async move {
                for call in 0..CALLS {
                    poll_fn(|cx| outlet.poll_ready(cx)).await;
                    let id = task * CALLS + call;
                    let request = Request::new(id, "parity/echo", Some(raw(&json!({ "n": id }))));
                    if outlet.send(Message::Request(request)).is_err() {
                        return false;
                    }
                }
                true
            })
        })
        .collect();
    let mut answered = HashSet::new();
    while answered.len() < usize::try_from(TASKS * CALLS).unwrap_or(0) {
        let response = probe.answer().await?;
        let n = response.outcome.ok().and_then(|result| result.get("n")?.decode::<i64>().ok());
        let id = response.id.and_then(|id| id.as_integer());
        ensure!(n.is_some() && n == id, "call {id:?} got the answer of call {n:?}");
        ensure!(answered.insert(id), "call {id:?} was answered twice");
    }
    for task in tasks {
        ensure!(task.await.unwrap_or(false), "a task could not send");
    }
    Ok(())
}
