//! How sessions end.

use mcp_client::{
    CallError, CallOptions, ClientOptions, Delivery, diagnostics::ErrorClass, rpc::Failure,
};
use mcp_jsonrpc::{ErrorObject, Message, Response};
use mcp_transport::{InProcess, diagnostics::CloseReason};

use crate::support::{LARGEST, legacy, modern, params, settled, soon};

#[tokio::test(start_paused = true)]
async fn server_exit_fails_every_call_with_its_delivery() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let calls = futures::future::join_all(
        (0..5).map(|_| async { client.call_tool("t", &()).await.unwrap_err() }),
    );
    let (errors, ()) = tokio::join!(calls, async move {
        for _ in 0..5 {
            server.request("tools/call").await;
        }
        drop(server);
    });
    for error in errors {
        assert_eq!(error.delivery(), Delivery::Unknown);
        assert_eq!(error.class(), ErrorClass::Transient);
        assert_eq!(
            error.to_string(),
            "unavailable: the connection closed before the response; the server ended the connection"
        );
    }
    assert!(client.is_closed());
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotSent);
    assert_eq!(
        error.to_string(),
        "unavailable: the request was not sent; the server ended the connection"
    );
    assert_eq!(client.closed().await.reason, CloseReason::Ended);
}

#[tokio::test(start_paused = true)]
async fn unread_request_is_reported_as_not_delivered() {
    let (client, server) = modern(ClientOptions::default()).await;
    let (error, ()) =
        tokio::join!(async { client.call_tool("t", &()).await.unwrap_err() }, async {
            settled().await;
            drop(server);
        });
    assert_eq!(error.delivery(), Delivery::NotSent);
}

#[tokio::test(start_paused = true)]
async fn response_received_before_the_end_is_returned() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (result, ()) = tokio::join!(client.call_tool("t", &()), async move {
        let call = server.request("tools/call").await;
        server.answer(&call, r#"{"content":[]}"#);
        drop(server);
    });
    result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn close_ends_the_link_and_fails_pending_calls() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (error, report, ()) = tokio::join!(
        async { client.call_tool("t", &()).await.unwrap_err() },
        async {
            settled().await;
            client.close().await
        },
        async {
            server.request("tools/call").await;
            assert!(server.next().await.is_none());
        }
    );
    assert_eq!(error.delivery(), Delivery::Unknown);
    assert_eq!(report.reason, CloseReason::Requested);
    assert!(client.is_closed());
    assert!(matches!(
        client.ping().await.unwrap_err(),
        CallError::Failed { failure: Failure::Closed(_), .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_clone_closes_the_link() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let clone = client.clone();
    drop(client);
    let (pong, ()) = tokio::join!(clone.ping(), async {
        let ping = server.request("server/discover").await;
        server.answer(&ping, "{}");
    });
    pong.unwrap();
    drop(clone);
    assert!(server.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn oversized_client_response_fails_only_its_own_call() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (large, small, ()) =
        tokio::join!(client.call_tool("large", &()), client.call_tool("small", &()), async {
            let large = server.request("tools/call").await;
            let small = server.request("tools/call").await;
            let text = "x".repeat(LARGEST);
            let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
            server.answer(&large, &result);
            server.answer(&small, r#"{"content":[]}"#);
        });
    let error = large.unwrap_err();
    assert_eq!(
        error.to_string(),
        "message too large: 100039 bytes, and at most 100000 are accepted"
    );
    assert_eq!((error.delivery(), error.class()), (Delivery::Executed, ErrorClass::Permanent));
    small.unwrap();
}

#[tokio::test(start_paused = true)]
async fn error_without_id_fails_the_only_pending_call() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let complaint = || {
        let error = ErrorObject::new(-32700, "what?");
        Message::Response(Response { id: None, outcome: Err(error) })
    };
    // The error cannot be about a subscription, which is held open.
    let (subscription, ()) = tokio::join!(
        client.listen(mcp_client::request::ListenFilter::lists()),
        async {
            let listen = server.request("subscriptions/listen").await;
            server.tell(
            "notifications/subscriptions/acknowledged",
            &format!(
                r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"notifications":{{}}}}"#,
                listen.id
            ),
        );
        }
    );
    let _subscription = subscription.unwrap();
    let (result, ()) = tokio::join!(client.call_tool("t", &()), async {
        server.request("tools/call").await;
        server.send(complaint());
    });
    assert!(
        matches!(result.unwrap_err(), CallError::Failed { failure: Failure::Rejected(error), .. } if error.code == -32700)
    );

    // With two calls in flight, the error cannot be attributed.
    let (one, other, ()) =
        tokio::join!(client.call_tool("a", &()), client.call_tool("b", &()), async {
            let one = server.request("tools/call").await;
            let other = server.request("tools/call").await;
            server.send(complaint());
            server.answer(&one, r#"{"content":[]}"#);
            server.answer(&other, r#"{"content":[]}"#);
        });
    one.unwrap();
    other.unwrap();
}

#[tokio::test(start_paused = true)]
async fn unmatched_client_responses_are_ignored() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    let (result, ()) = tokio::join!(client.call_tool("t", &()), async {
        let call = server.request("tools/call").await;
        let answer = |id: mcp_jsonrpc::RequestId| {
            let outcome = Ok(crate::support::raw(r#"{"content":[{"type":"text","text":"no"}]}"#));
            server.send(Message::Response(Response { id: Some(id), outcome }));
        };
        answer(999.into());
        answer((-1).into());
        answer(call.id.to_string().as_str().into());
        server.answer(&call, r#"{"content":[{"type":"text","text":"yes"}]}"#);
        server.answer(&call, r#"{"content":[{"type":"text","text":"twice"}]}"#);
    });
    assert_eq!(result.unwrap().text(), "yes");
    let (result, ()) = tokio::join!(client.call_tool("t", &()), async {
        let call = server.request("tools/call").await;
        server.answer(&call, r#"{"content":[]}"#);
    });
    result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn in_process_server_works_like_any_other() {
    let server = InProcess::new(|link| {
        Box::pin(async move {
            let mut batch = Vec::new();
            let mut inlet = link.inlet;
            while std::future::poll_fn(|cx| inlet.poll_recv(cx, &mut batch)).await.is_ok() {
                for inbound in batch.drain(..) {
                    let mcp_transport::Inbound::Message(Message::Request(request)) = inbound else {
                        continue;
                    };
                    let result = match &*request.method {
                        "server/discover" => crate::support::DISCOVERED.to_owned(),
                        _ => {
                            format!(r#"{{"content":[],"echo":{}}}"#, params(&request)["arguments"])
                        }
                    };
                    let _ = link.outlet.send(request.answer(Ok(crate::support::raw(&result))));
                }
            }
        })
    });
    let client = mcp_client::Client::connect(&server, ClientOptions::default()).await.unwrap();
    let arguments = serde_json::json!({"a": [1, 2]});
    let result = client.call_tool("echo", &arguments).with(CallOptions::default()).await.unwrap();
    assert_eq!(result.extra.get("echo").unwrap().as_str(), r#"{"a":[1,2]}"#);
    soon("the end", client.close()).await;
}
