//! The in-process server.

use std::future::{pending, poll_fn};

use futures::future::BoxFuture;
use mcp_jsonrpc::{
    Message,
    wire::{Decoded, decode},
};
use mcp_transport::{Inbound, Link};
use serde_json::Value;

use crate::script::{Say, Script};

/// Serves one connection.
pub(crate) fn serve(script: Script, link: Link) -> BoxFuture<'static, ()> {
    Box::pin(converse(script, link))
}

async fn converse(script: Script, mut link: Link) {
    let mut held = Vec::new();
    loop {
        let mut batch = Vec::new();
        if poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.is_err() {
            return;
        }
        for inbound in batch.into_iter().map(Inbound::read) {
            let Inbound::Message(message) = inbound else { continue };
            for say in script.hear(&to_value(&message)) {
                match say {
                    Say::Message(message) => {
                        let _ = link.outlet.send(to_message(&message));
                        for later in held.drain(..) {
                            let _ = link.outlet.send(later);
                        }
                    }
                    Say::Hold(message) => held.push(to_message(&message)),
                    Say::HangUp => return,
                    Say::Die => panic!("as planned"),
                    Say::Freeze => pending().await,
                    _ => {}
                }
            }
        }
    }
}

fn to_value(message: &Message) -> Value {
    let mut text = Vec::new();
    message.write(&mut text);
    serde_json::from_slice(&text).expect("a message is JSON")
}

fn to_message(value: &Value) -> Message {
    match decode(&value.to_string().into_bytes().into()) {
        Ok(Decoded::One(message)) => message,
        _ => unreachable!("scripts hold messages"),
    }
}
