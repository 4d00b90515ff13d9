//! Our calls: how they go out, and how they end.

use std::{
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use mcp_jsonrpc::{
    CallLimits, Delivery, ErrorObject, Failure, Message, Notification, Peer, PeerOptions, RawJson,
    Refused, RequestId, Response,
};
use proptest::prelude::*;

use crate::play::{Stage, check, flag, play};

#[test]
fn responses_match_their_calls_in_any_order() {
    check(
        r#"
        --> tools/list
        --> tools/call
        --> ping
        <-- 3 {}
        <-- 1 {"tools":[]}
        <-- 2 !-32602 no such tool
        "#,
        &["3 {}", r#"1 {"tools":[]}"#, "2 rejected: no such tool (code -32602)"],
    );
}

#[test]
fn response_after_the_deadline_is_ignored_and_counted() {
    check(
        "
        --> tools/list
        ... 4s
        ... 1s
        <-- 1 {}
        ",
        &["1 expired", "abandon 1", "noise: 1 late"],
    );
}

#[test]
fn progress_extends_the_deadline_for_silence() {
    check(
        "
        --> tools/call
        ... 4s
        <-- progress 1 0.5
        ... 4s
        <-- progress 1 0.75
        ... 4s
        <-- 1 {}
        ",
        &["1: 0.5", "1: 0.75", "1 {}"],
    );
    check(
        "--> tools/call\n ... 4s\n <-- progress 1 1\n ... 5s",
        &["1: 1", "1 expired", "abandon 1"],
    );
}

#[test]
fn progress_is_reported_when_it_arrives() {
    check("--> tools/call\n <-- progress 1 0.5", &["1: 0.5"]);
}

#[test]
fn end_wakes_waiters_and_watchers_once() {
    let wakes = |outcome: &Waker, progress: &Waker| {
        let (mut peer, now) = (Peer::default(), Instant::now());
        let call = peer.open(CallLimits::default(), now).unwrap();
        assert!(peer.poll(call, &mut Context::from_waker(outcome)).is_pending());
        assert!(peer.poll_progress(call, &mut Context::from_waker(progress)).is_pending());
        peer.receive(answer(1), now);
        let done = peer.poll_progress(call, &mut Context::from_waker(progress));
        assert_eq!(done, Poll::Ready(None));
        std::iter::from_fn(|| peer.next_wake()).count()
    };
    let [one, other] = [flag(), flag()].map(Waker::from);
    assert_eq!(wakes(&one, &other), 2);
    assert_eq!(wakes(&one, &one), 1);
}

#[test]
fn progress_does_not_extend_the_deadline_for_the_whole_call() {
    check(
        "
        --> tools/call total=9s
        ... 4s
        <-- progress 1 1
        ... 4s
        <-- progress 1 2
        ... 1s
        ",
        &["1: 1", "1: 2", "1 expired in total", "abandon 1"],
    );
}

#[test]
fn timeout_names_the_earlier_deadline() {
    check("--> tools/call idle=5s total=9s\n ... 60s", &["1 expired", "abandon 1"]);
    check("--> tools/call idle=9s total=5s\n ... 60s", &["1 expired in total", "abandon 1"]);
    check("--> tools/call idle=5s total=5s\n ... 5s", &["1 expired in total", "abandon 1"]);
}

#[test]
fn each_call_has_a_deadline_of_its_own() {
    check(
        "
        --> a idle=9s
        --> b idle=2s
        ... 2s
        --> c idle=1s
        ... 1s
        <-- 1 {}
        ",
        &["2 expired", "abandon 2", "3 expired", "abandon 3", "1 {}"],
    );
}

#[test]
fn progress_members_are_optional() {
    check(
        r#"
        --> tools/call
        <-- notifications/progress {"progressToken":1,"progress":1.5,"total":3,"message":"half"}
        <-- notifications/progress {"progressToken":1,"progress":2,"total":null,"message":7}
        <-- notifications/progress {"progressToken":1}
        <-- notifications/progress {"progressToken":"1","progress":1}
        <-- notifications/progress {"progressToken":99,"progress":1}
        <-- notifications/progress {"progress":1}
        <-- notifications/progress [1]
        <-- notifications/progress
        <-- 1 {}
        <-- progress 1 1
        "#,
        &["1: 1.5 of 3 half", "1: 2", "1 {}"],
    );
}

#[test]
fn only_the_latest_progress_is_kept_for_a_slow_reader() {
    let (mut peer, now) = (Peer::default(), Instant::now());
    let call = peer.open(CallLimits::default(), now).unwrap();
    for step in 0..1000 {
        let params = format!(r#"{{"progressToken":1,"progress":{step}}}"#);
        let params = Some(RawJson::parse(params).unwrap());
        let progress = Notification::new("notifications/progress", params);
        peer.receive(Message::Notification(progress), now);
    }
    let mut cx = Context::from_waker(Waker::noop());
    let mut kept = Vec::new();
    while let Poll::Ready(Some(report)) = peer.poll_progress(call, &mut cx) {
        kept.push(report.progress);
    }
    assert!(kept.len() < 100 && kept.ends_with(&[998.0, 999.0]), "{kept:?}");
}

#[test]
fn unmatched_responses_are_counted_by_kind() {
    check(
        r#"
        --> a
        --> b
        drop 2
        <-- 1 {}
        <-- 1 {}
        <-- 1 !1 again
        <-- 2 {}
        <-- 3 {}
        <-- 0 {}
        <-- -1 {}
        <-- "1" {}
        <-- 99999999999999999999 {}
        "#,
        &["2 dropped, tell", "1 {}", "noise: 1 late", "noise: 2 duplicate", "noise: 5 unknown"],
    );
}

#[test]
fn cancellation_is_sent_only_for_requests_that_may_have_arrived() {
    check("--> a\n drop 1", &["1 dropped, tell"]);
    check("--> a unsent\n drop 1", &["1 dropped, say nothing"]);
    check("--> a\n drop 1\n drop 1", &["1 dropped, tell", "1 dropped, say nothing"]);
    check("--> a\n close 1\n drop 1", &["1 closed, Unknown", "1 dropped, say nothing"]);
    check("--> a\n ... 5s\n drop 1", &["1 expired", "abandon 1", "1 dropped, say nothing"]);
    // Abandoned after the response has arrived.
    let (mut peer, now) = (Peer::default(), Instant::now());
    let call = peer.open(CallLimits::default(), now).unwrap();
    peer.sent(call, 1);
    peer.receive(answer(1), now);
    assert!(!peer.give_up(call));
}

#[test]
fn silent_call_is_not_cancelled() {
    check("--> initialize silent\n drop 1", &["1 dropped, say nothing"]);
    check("--> initialize silent\n ... 5s\n <-- 1 {}", &["1 expired", "noise: 1 late"]);
}

#[test]
fn a_cancellation_names_the_call_and_the_reason() {
    let call = Peer::default().open(CallLimits::default(), Instant::now()).unwrap();
    let mut line = Vec::new();
    Peer::cancellation(call, "the user said \"stop\"").write(&mut line);
    assert_eq!(
        String::from_utf8(line).unwrap(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the user said \"stop\""}}"#
    );
}

#[test]
fn call_expired_before_it_was_sent_is_cancelled_afterwards() {
    check("--> a unsent\n ... 5s", &["1 expired"]);
    // The link took it while its caller was not looking.
    let (mut peer, now) = (Peer::default(), Instant::now());
    let mut limits = CallLimits::default();
    limits.idle = Some(Duration::from_secs(1));
    let call = peer.open(limits, now).unwrap();
    peer.expire(now + Duration::from_secs(2));
    assert_eq!(peer.next_abandoned(), None);
    peer.sent(call, 1);
    assert_eq!(peer.next_abandoned(), Some(call));
    peer.receive(answer(1), now);
    assert_eq!(peer.noise().late, 1);
    // Out of the door of a house that is gone.
    let call = peer.open(limits, now).unwrap();
    peer.expire(now + Duration::from_secs(2));
    peer.close(1);
    peer.sent(call, 2);
    assert_eq!(peer.next_abandoned(), None);
}

#[test]
fn closed_link_fails_every_call_with_its_delivery() {
    check(
        "
        --> written
        --> queued
        --> unsent unsent
        close 1
        --> another
        <-- 1 {}
        ",
        &[
            "1 closed, Unknown",
            "2 closed, NotSent",
            "3 closed, NotSent",
            "refused: closed",
            "noise: 1 duplicate",
        ],
    );
}

#[test]
fn call_sent_while_the_link_closed_has_unknown_delivery() {
    let (mut peer, now) = (Peer::default(), Instant::now());
    let mut cx = Context::from_waker(Waker::noop());
    let calls = [(); 2].map(|()| peer.open(CallLimits::default(), now).unwrap());
    // The link took both and closed before their callers could say so; it wrote only the first.
    peer.close(10);
    peer.sent(calls[0], 10);
    peer.sent(calls[1], 20);
    let verdicts = calls.map(|call| peer.poll(call, &mut cx));
    let closed = |delivery| Poll::Ready(Err(Failure::Closed(delivery)));
    assert_eq!(verdicts, [closed(Delivery::Unknown), closed(Delivery::NotSent)]);
}

#[test]
fn response_before_the_link_closed_wins() {
    let (mut peer, now) = (Peer::default(), Instant::now());
    let mut cx = Context::from_waker(Waker::noop());
    let calls = [(); 3].map(|()| peer.open(CallLimits::default(), now).unwrap());
    peer.receive(answer(1), now);
    peer.close(3);
    peer.receive(answer(2), now);
    assert_eq!(peer.poll(calls[0], &mut cx), Poll::Ready(Ok(RawJson::empty_object())));
    let unsent = Failure::Closed(Delivery::NotSent);
    assert_eq!(peer.poll(calls[1], &mut cx), Poll::Ready(Err(unsent)));
    assert_eq!((peer.noise().late, peer.is_closed(), peer.in_flight()), (1, true, 0));
    // Once.
    assert_eq!(peer.poll(calls[0], &mut cx), Poll::Ready(Err(Failure::Cancelled)));
}

#[test]
fn lost_call_fails_alone() {
    check("--> a\n --> b\n lose 1\n <-- 2 {}", &["1 the pipe broke", "2 {}"]);
}

#[test]
fn outgoing_calls_are_limited() {
    let mut options = PeerOptions::default();
    options.max_calls = 2;
    let seen = Stage::new(options).play("--> a\n --> b\n --> c\n <-- 1 {}\n --> d\n <-- 3 {}");
    assert_eq!(seen, "refused: 2 calls are already waiting for responses\n1 {}\n3 {}");
}

#[test]
fn deadline_beyond_the_clock_means_no_deadline() {
    let (mut peer, now) = (Peer::default(), Instant::now());
    let mut limits = CallLimits::default();
    limits.total = Some(Duration::MAX);
    peer.open(limits, now).unwrap();
    assert_eq!(peer.next_deadline(), None);
}

#[test]
fn failures_have_a_delivery_a_class_and_a_message() {
    let rejected = Failure::Rejected(ErrorObject::new(-32000, "no"));
    for (failure, delivery, text) in [
        (rejected, Delivery::Executed, "the server refused: no (code -32000)"),
        (
            Failure::Closed(Delivery::NotSent),
            Delivery::NotSent,
            "the connection closed before the request was sent",
        ),
        (
            Failure::Closed(Delivery::Unknown),
            Delivery::Unknown,
            "the connection closed before the response arrived",
        ),
        (
            Failure::TooLarge { size: 9, limit: 8 },
            Delivery::Executed,
            "message too large: 9 bytes, and at most 8 are accepted",
        ),
        (Failure::Cancelled, Delivery::Unknown, "cancelled"),
    ] {
        assert_eq!((failure.delivery(), failure.to_string().as_str()), (delivery, text));
        assert!(std::error::Error::source(&failure).is_none(), "it would be printed twice");
    }
    assert_eq!(Refused::Closed.to_string(), "the connection is closed");
}

fn answer(id: i64) -> Message {
    let outcome = Ok(RawJson::empty_object());
    Message::Response(Response { id: Some(RequestId::from(id)), outcome })
}

proptest! {
    #[test]
    fn any_interleaving_of_answers_reaches_the_right_callers(
        order in Just((1..=40_i64).collect::<Vec<_>>()).prop_shuffle(),
        noise in prop::collection::vec((0..40_usize, -2..45_i64), 0..10),
        opened_first in 0..40_usize,
    ) {
        let (mut peer, now) = (Peer::default(), Instant::now());
        let mut cx = Context::from_waker(Waker::noop());
        let open = |peer: &mut Peer| peer.open(CallLimits::default(), now).unwrap();
        let mut calls: Vec<_> = (0..opened_first).map(|_| open(&mut peer)).collect();
        let mut answered = std::collections::BTreeSet::new();
        let mut extra = 0;
        for (index, &id) in order.iter().enumerate() {
            let strays = noise.iter().filter(|(at, _)| *at == index).map(|(_, stray)| *stray);
            for id in strays.chain([id]) {
                while calls.len() < usize::try_from(id).unwrap_or(0).min(40) {
                    calls.push(open(&mut peer));
                }
                let first = (1..=40).contains(&id) && answered.insert(id);
                extra += u64::from(!first);
                // Only the first response is matched; a later one for the same id is rejected.
                let text = if first { id.to_string() } else { "0".into() };
                let outcome = Ok(RawJson::parse(text).unwrap());
                peer.receive(Message::Response(Response { id: Some(id.into()), outcome }), now);
            }
        }
        for call in calls {
            let Poll::Ready(Ok(result)) = peer.poll(call, &mut cx) else { panic!("answered") };
            prop_assert_eq!(result.decode::<i64>().unwrap(), call.get());
        }
        let noise = peer.noise();
        prop_assert_eq!(noise.late + noise.duplicate + noise.unknown, extra);
    }

    #[test]
    fn every_call_ends_exactly_once(
        steps in prop::collection::vec(
            prop_oneof![
                Just("--> a".to_owned()),
                Just("--> a idle=2s total=4s unsent".to_owned()),
                Just("--> a held total=9s".to_owned()),
                (1..8).prop_map(|id| format!("<-- {id} {{}}")),
                (1..8).prop_map(|id| format!("<-- {id} !1 no")),
                (1..8).prop_map(|id| format!("<-- progress {id} 1")),
                (1..8).prop_map(|id| format!("<-- cancelled {id}")),
                (1..8).prop_map(|id| format!("<-- request {id} ping")),
                (1..8).prop_map(|id| format!("--> {id} {{}}")),
                (1..8).prop_map(|id| format!("lose {id}")),
                Just("<-- !1 what?".to_owned()),
                (0..4).prop_map(|seconds| format!("... {seconds}s")),
            ],
            0..30,
        ),
        flushed in 0..8,
    ) {
        let transcript = format!("{}\nclose {flushed}", steps.join("\n"));
        let seen = play(&transcript);
        let opened = steps.iter().filter(|step| step.starts_with("--> a")).count();
        for call in 1..=opened {
            let ends = seen
                .lines()
                .filter(|line| line.starts_with(&format!("{call} ")))
                .filter(|line| !line.ends_with("no longer wanted"))
                .count();
            prop_assert_eq!(ends, 1, "call {} of\n{}\ngave\n{}", call, transcript, seen);
        }
    }
}
