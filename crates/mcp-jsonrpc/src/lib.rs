//! JSON-RPC 2.0 as MCP speaks it: messages, framing, and matching answers to requests.
//!
//! This crate performs no I/O and reads no clock: bytes and instants go in, messages and events
//! come out. Start with [`Peer`]; [`Message`] is the vocabulary it speaks, [`LineDecoder`] and
//! [`decode`] turn bytes into it, and [`RawJson`] is a payload nobody has read yet.

mod de;
mod decode;
mod deep;
mod escape;
mod framing;
mod id;
mod message;
mod object;
mod peer;
mod raw;
mod reply;
mod salvage;
mod scan;
mod shape;
mod skip;
mod spare;

pub use crate::{
    decode::{DecodeError, Decoded, decode},
    deep::DeepJson,
    framing::{Line, LineDecoder},
    id::RequestId,
    message::{ErrorObject, Message, Notification, Request, Response},
    object::ObjectWriter,
    peer::{
        CallId, CallLimits, Delivery, ErrorClass, Event, Failure, Loss, Noise, Peer, PeerOptions,
        Progress, Refused, Timeout, Trouble,
    },
    raw::RawJson,
    reply::Reply,
    salvage::salvage_id,
    shape::ShapeError,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
