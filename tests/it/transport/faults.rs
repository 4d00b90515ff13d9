//! Fault injection on links, with an in-process server and a paused clock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_transport::{
    InProcess, Link, SendError,
    diagnostics::CloseReason,
    testing::{Fault, Faulty, Plan, When, parity},
};
use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use super::host::Host;

const SECOND: Duration = Duration::from_secs(1);

async fn host(plan: Plan) -> Host {
    Host::open(&Faulty::new(InProcess::new(parity::serve), plan)).await
}

/// A host with this plan that has sent echo requests 1, 2 and 3.
async fn three_echoes(plan: Plan) -> Host {
    let host = host(plan).await;
    for id in 1..=3 {
        host.ask(id, "parity/echo", &json!({}));
    }
    host
}

#[tokio::test(start_paused = true)]
async fn delayed_message_delays_those_behind_it() {
    let start = Instant::now();
    let mut host = three_echoes(Plan::new().incoming(When::Nth(2), Fault::Delay(SECOND))).await;
    assert_eq!(host.next().await, "1");
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(host.words(2).await, ["2", "3"]);
    assert_eq!(start.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn delayed_request_is_answered_later() {
    let start = Instant::now();
    let method = When::Method("parity/echo".into());
    let mut host = host(Plan::new().outgoing(method, Fault::Delay(SECOND))).await;
    host.ask(1, "parity/echo", &json!({}));
    assert_eq!(host.next().await, "1");
    assert_eq!(start.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn delayed_request_is_still_sent_on_close() {
    let mut host = host(Plan::new().outgoing(When::Nth(1), Fault::Delay(SECOND))).await;
    let ticket = host.ask(1, "parity/echo", &json!({}));
    host.outlet.close();
    let (words, report) = host.end().await;
    assert_eq!(words, ["1"]);
    assert_eq!(report.reason, CloseReason::Requested);
    assert!(report.flushed >= ticket);
}

#[tokio::test(start_paused = true)]
async fn dropped_message_does_not_affect_others() {
    let mut host = three_echoes(Plan::new().outgoing(When::Nth(2), Fault::Drop)).await;
    assert_eq!(host.words(2).await, ["1", "3"]);
    assert!(host.is_quiet(SECOND).await);
    // For the sender, the message was flushed.
    assert_eq!(host.close().await.flushed, 3);
}

#[tokio::test(start_paused = true)]
async fn duplicated_message_arrives_twice() {
    let mut host = three_echoes(Plan::new().incoming(When::Nth(2), Fault::Duplicate)).await;
    assert_eq!(host.words(4).await, ["1", "2", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn duplicated_request_is_answered_twice() {
    let mut host = three_echoes(Plan::new().outgoing(When::Nth(1), Fault::Duplicate)).await;
    assert_eq!(host.words(4).await, ["1", "1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn reordered_message_is_swapped_with_the_next() {
    let mut host = three_echoes(Plan::new().incoming(When::Nth(1), Fault::Reorder)).await;
    assert_eq!(host.words(3).await, ["2", "1", "3"]);
    let mut host = three_echoes(Plan::new().outgoing(When::Nth(2), Fault::Reorder)).await;
    assert_eq!(host.words(3).await, ["1", "3", "2"]);
}

#[tokio::test(start_paused = true)]
async fn close_does_not_wait_for_a_reordered_successor() {
    let mut host = three_echoes(Plan::new().outgoing(When::Nth(3), Fault::Reorder)).await;
    host.outlet.close();
    let (words, report) = host.end().await;
    assert_eq!(words, ["1", "2", "3"]);
    assert_eq!(report.flushed, 3);
}

#[tokio::test(start_paused = true)]
async fn response_has_the_method_of_its_request() {
    let method = When::Method("parity/report".into());
    let mut host = host(Plan::new().incoming(method, Fault::Drop)).await;
    host.ask(1, "parity/report", &json!({}));
    host.ask(2, "parity/echo", &json!({}));
    assert_eq!(host.next().await, "2");
    assert!(host.is_quiet(SECOND).await);
}

#[tokio::test(start_paused = true)]
async fn corrupted_message_is_counted_unless_still_valid() {
    let flips = 8;
    let mut host = three_echoes(Plan::new().incoming(When::Nth(2), Fault::Corrupt(flips))).await;
    assert_eq!(host.words(2).await, ["1", "3"]);
    let report = host.close().await;
    assert!(report.diagnostics.skipped_lines >= 1, "{:?}", report.diagnostics);
}

#[tokio::test(start_paused = true)]
async fn planned_close_looks_like_a_server_exit() {
    let mut host = three_echoes(Plan::new().incoming(When::Nth(2), Fault::Close)).await;
    let (words, report) = host.end().await;
    assert_eq!(words, ["1"]);
    assert_eq!(report.reason, CloseReason::Ended);
    assert_eq!(report.flushed, 3);
    assert_eq!(host.try_ask(4, "parity/echo", &json!({})), Err(SendError::Closed));
}

#[tokio::test(start_paused = true)]
async fn outgoing_close_rejects_later_messages() {
    let mut host = host(Plan::new().outgoing(When::Nth(2), Fault::Close)).await;
    host.ask(1, "parity/echo", &json!({}));
    assert_eq!(host.next().await, "1");
    host.ask(2, "parity/echo", &json!({}));
    assert_eq!(host.try_ask(3, "parity/echo", &json!({})), Err(SendError::Closed));
    assert_eq!(host.end().await.1.reason, CloseReason::Ended);
}

#[tokio::test(start_paused = true)]
async fn half_open_link_accepts_messages_and_delivers_none() {
    let mut host = three_echoes(Plan::new().incoming(When::Nth(2), Fault::HalfOpen)).await;
    assert_eq!(host.next().await, "1");
    host.ask(4, "parity/die", &json!({}));
    assert!(host.is_quiet(3600 * SECOND).await, "not even the end is noticed");
    host.ask(5, "parity/echo", &json!({}));
    assert_eq!(host.close().await.reason, CloseReason::Requested);
}

#[tokio::test(start_paused = true)]
async fn outgoing_half_open_link_still_receives() {
    let mut host = host(Plan::new().outgoing(When::Nth(2), Fault::HalfOpen)).await;
    host.ask(1, "parity/flood", &json!({ "count": 2 }));
    host.ask(2, "parity/echo", &json!({}));
    assert_eq!(host.words(3).await, ["parity/tick", "parity/tick", "1"]);
    assert!(host.is_quiet(SECOND).await);
}

#[tokio::test(start_paused = true)]
async fn stalled_link_applies_back_pressure() {
    let mut host = three_echoes(Plan::new().incoming(When::Nth(2), Fault::Stall)).await;
    assert_eq!(host.next().await, "1");
    assert!(host.is_quiet(SECOND).await);
    let mut id = 3;
    let full = loop {
        id += 1;
        if let Err(error) = host.try_ask(id, "parity/echo", &json!({})) {
            break error;
        }
    };
    assert!(matches!(full, SendError::Full { .. }), "{full}");
    let outlet = host.outlet.clone();
    let room = tokio::spawn(async move {
        std::future::poll_fn(|cx| outlet.poll_ready(cx)).await;
    });
    assert!(host.is_quiet(SECOND).await);
    assert!(!room.is_finished());
    let report = host.close().await;
    room.await.unwrap();
    assert_eq!(report.reason, CloseReason::Requested);
    assert_eq!(report.flushed, 3, "messages accepted while stalled were not flushed");
}

#[tokio::test(start_paused = true)]
async fn sender_to_a_delayed_link_is_blocked() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let flood = InProcess::new(move |link: Link| {
        let counter = counter.clone();
        Box::pin(async move {
            let Link { outlet, inlet: _kept } = link;
            loop {
                std::future::poll_fn(|cx| outlet.poll_ready(cx)).await;
                let tick = parity::Server::tick(0, 0);
                if outlet.send(tick).is_err() {
                    return;
                }
                counter.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let plan = Plan::new().incoming(When::Nth(1), Fault::Delay(3600 * SECOND));
    let mut host = Host::open(&Faulty::new(flood, plan)).await;
    assert!(host.is_quiet(SECOND).await);
    let sent = sent.load(Ordering::Relaxed);
    assert!((1..10_000).contains(&sent), "{sent} were taken although none could be delivered");
}

#[tokio::test(start_paused = true)]
async fn each_connection_restarts_the_plan() {
    let plan = Plan::new().incoming(When::Nth(1), Fault::Drop);
    let faulty = Faulty::new(InProcess::new(parity::serve), plan);
    for _ in 0..2 {
        let mut host = Host::open(&faulty).await;
        host.ask(1, "parity/echo", &json!({}));
        host.ask(2, "parity/echo", &json!({}));
        assert_eq!(host.next().await, "2");
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (0..2000u64).prop_map(|millis| Fault::Delay(Duration::from_millis(millis))),
        Just(Fault::Drop),
        Just(Fault::Duplicate),
        Just(Fault::Reorder),
        (0..40usize).prop_map(Fault::Split),
        (0..40usize).prop_map(Fault::Corrupt),
        Just(Fault::Close),
        Just(Fault::HalfOpen),
        Just(Fault::Stall),
    ]
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        4 => (1..12u64).prop_map(When::Nth),
        1 => Just(When::Method("parity/echo".into())),
        1 => Just(When::Always),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Under any plan, no caller is left waiting after a close, tickets grow, and the report claims no more
    /// messages than were sent.
    #[test]
    fn every_plan_terminates(
        outgoing in prop::collection::vec((when(), fault()), 0..4),
        incoming in prop::collection::vec((when(), fault()), 0..4),
        seed: u64,
    ) {
        let mut plan = Plan::new().seed(seed);
        for (when, fault) in outgoing {
            plan = plan.outgoing(when, fault);
        }
        for (when, fault) in incoming {
            plan = plan.incoming(when, fault);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let (last, flushed) = runtime.block_on(async {
            let mut host = host(plan).await;
            let mut last = 0;
            for id in 1..=10 {
                if let Ok(ticket) = host.try_ask(id, "parity/echo", &json!({ "n": id })) {
                    assert!(ticket > last);
                    last = ticket;
                }
                if id == 5 {
                    let _ = tokio::time::timeout(SECOND, host.next_or_end()).await;
                }
            }
            (last, host.close().await.flushed)
        });
        prop_assert!(flushed <= last);
    }

    /// A message that is serialized and split in pieces is decoded to the same message.
    #[test]
    fn splitting_preserves_messages(size in 1..200usize, text in ".{0,200}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let split = Fault::Split(size);
            let plan = Plan::new().outgoing(When::Always, split).incoming(When::Always, split);
            let mut host = host(plan).await;
            let params = json!({ "text": text });
            host.ask(1, "parity/echo", &params);
            let expected = mcp_jsonrpc::Request::new(1, "parity/echo", None)
                .answer(Ok(mcp_jsonrpc::RawJson::encode(&params).unwrap()));
            let arrived = host.next_or_end().await.unwrap();
            assert_eq!(arrived, mcp_transport::Inbound::Message(expected));
        });
    }
}
