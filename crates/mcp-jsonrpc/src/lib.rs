//! JSON-RPC 2.0 as MCP uses it: messages, framing, and matching of responses to requests.
//!
#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! This crate performs no I/O and reads no clock: bytes and instants go in, messages and events
//! come out. Start with [`Peer`]; [`Message`] is the vocabulary it speaks, [`LineDecoder`](wire::LineDecoder) and
//! [`decode`](wire::decode) turn bytes into it, and [`RawJson`] is a payload kept as unparsed text.
//!
//! It has two halves. `json` is a JSON library that keeps values as slices of the message they came
//! in. On it stand the messages of JSON-RPC, `wire`, which reads them from bytes, and the `peer`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod failure;
mod id;
mod json;
mod message;
mod number_hash;
mod peer;
pub mod wire;

#[doc(hidden)]
pub use crate::number_hash::NumberHash;
pub use crate::{
    failure::{Delivery, ErrorClass, Failure, FailureCause, Loss, Refused, Timeout},
    id::RequestId,
    json::{DeepJson, ObjectWriter, RawJson, ShapeError, VisitedValue},
    message::{ErrorObject, Message, Notification, Request, Response},
    peer::{CallId, CallLimits, Event, Peer, PeerOptions, Progress, UnmatchedMessages},
};
