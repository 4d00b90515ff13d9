//! Requests, notifications, cancellations and errors without an id from the peer.

use std::time::Instant;

use mcp_jsonrpc::{Message, Peer, PeerOptions, Request};

use crate::play::{Stage, check};

#[test]
fn error_without_an_id_fails_the_only_call() {
    check("--> a\n <-- !-32700 what?", &["1 rejected: what? (code -32700)"]);
    check("--> a\n --> b\n <-- !-32700 what?", &["hear complaint: what? (code -32700)"]);
    check("<-- !-32700 what?", &["hear complaint: what? (code -32700)"]);
}

#[test]
fn incoming_requests_are_reported_and_answered_once() {
    check(
        r#"
        <-- notifications/message {"level":"info"}
        <-- request "a" roots/list
        <-- request 1 ping {}
        --> 1 {}
        --> "a" {"roots":[]}
        --> "a" {}
        --> "b" {}
        "#,
        &[
            r#"hear {"method":"notifications/message","params":{"level":"info"}}"#,
            r#"hear {"id":"a","method":"roots/list"}"#,
            r#"hear {"id":1,"method":"ping","params":{}}"#,
            r#"send {"id":1,"result":{}}"#,
            r#"send {"id":"a","result":{"roots":[]}}"#,
            r#""a" no longer wanted"#,
            r#""b" no longer wanted"#,
        ],
    );
}

#[test]
fn cancelled_incoming_request_frees_its_id() {
    check(
        r#"
        <-- request "a" sampling/createMessage
        <-- cancelled "a"
        --> "a" {}
        <-- cancelled "a"
        <-- request "a" ping
        --> "a" {}
        <-- notifications/cancelled {"requestId":null}
        <-- notifications/cancelled
        "#,
        &[
            r#"hear {"id":"a","method":"sampling/createMessage"}"#,
            r#"hear cancelled "a""#,
            r#""a" no longer wanted"#,
            r#"hear {"id":"a","method":"ping"}"#,
            r#"send {"id":"a","result":{}}"#,
        ],
    );
}

#[test]
fn duplicate_incoming_id_is_refused() {
    check(
        r#"
        <-- request 1 ping
        <-- request 1 ping
        <-- request "1" ping
        --> 1 {}
        "#,
        &[
            r#"hear {"id":1,"method":"ping"}"#,
            r#"send {"id":1,"error":{"code":-32600,"message":"this id is already in use"}}"#,
            r#"hear {"id":"1","method":"ping"}"#,
            r#"send {"id":1,"result":{}}"#,
        ],
    );
}

#[test]
fn incoming_requests_are_limited() {
    let mut options = PeerOptions::default();
    options.max_incoming = 1;
    let seen = Stage::new(options).play(
        "
        <-- request 1 ping
        <-- request 2 ping
        --> 1 {}
        <-- request 3 ping
        ",
    );
    assert_eq!(
        seen.lines().collect::<Vec<_>>(),
        [
            r#"hear {"id":1,"method":"ping"}"#,
            r#"send {"id":2,"error":{"code":-32603,"message":"too many requests at once"}}"#,
            r#"send {"id":1,"result":{}}"#,
            r#"hear {"id":3,"method":"ping"}"#,
        ]
    );
}

#[test]
fn incoming_requests_on_an_unread_link_are_bounded() {
    let (mut peer, now) = (Peer::default(), Instant::now());
    for id in 0..100_000 {
        peer.receive(Message::Request(Request::new(id, "ping", None)), now);
    }
    let heard = std::iter::from_fn(|| peer.next_event()).count() as u64;
    let refused = std::iter::from_fn(|| peer.next_outgoing()).count() as u64;
    assert_eq!((heard, heard + refused + peer.noise().unanswered), (64, 100_000));
    assert!(refused < 10_000);
}

#[test]
fn requests_after_the_link_closed_are_ignored() {
    check(
        "<-- request 1 ping\n close 0\n --> 1 {}\n <-- request 2 ping",
        &[r#"hear {"id":1,"method":"ping"}"#, "1 no longer wanted"],
    );
}

#[test]
fn peer_can_cancel_only_held_calls() {
    check(
        "
        --> subscriptions/listen held idle=600s
        --> tools/call
        <-- cancelled 2
        <-- cancelled 1
        <-- 2 {}
        ",
        &["1 cancelled", "2 {}"],
    );
    // The peer uses the same id for its own request; the cancellation refers to that one.
    check(
        "--> subscriptions/listen held\n <-- request 1 ping\n <-- cancelled 1\n <-- 1 {}",
        &[r#"hear {"id":1,"method":"ping"}"#, "hear cancelled 1", "1 {}"],
    );
}
