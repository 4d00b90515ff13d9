//! Links that move whole JSON-RPC messages between a host and an MCP server.
//!
#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! A [`Connect`] opens a [`Link`], and opens another one to reconnect. A link has two halves: an [`Outlet`] that many
//! callers share, and an [`Inlet`] that one task polls. `mcp-client` interprets the messages. Only HTTP inspects
//! them: its headers contain a request's method, protocol version and target, so that transport has a module with
//! some of MCP's vocabulary.
//!
//! | transport | type | feature |
//! |---|---|---|
//! | child process, one message a line | [`Stdio`] | `stdio` (default) |
//! | Streamable HTTP of both eras | [`Http`] | `http` |
//! | HTTP with SSE, as of 2024-11-05 | [`Sse`] | `http` |
//! | WebSocket, one message a frame | [`Ws`] | `ws` |
//! | any byte stream, one message a line | [`Streams`] | `streams` (with `stdio`) |
//! | both ends in one process | [`InProcess`], [`pair`] | always there |
//! | recorded and replayed links | [`record`] | `record` |
//! | faulty links, and the suite every transport passes | [`testing`] | `testing` |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod authorize;
#[cfg(any(feature = "net", feature = "streams"))]
#[cfg_attr(
    not(any(feature = "http", feature = "streams", feature = "ws")),
    allow(dead_code, reason = "the transports ask, `net` alone only marks failed steps")
)]
mod cause;
mod challenge;
pub mod diagnostics;
mod error;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "http")]
mod http;
mod in_process;
mod io;
mod link;
#[cfg(feature = "net")]
pub mod net;
#[cfg(feature = "record")]
pub mod record;
#[cfg(any(feature = "http", feature = "ws"))]
mod retry_after;
mod setters;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(feature = "streams")]
mod streams;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "ws")]
mod ws;

pub use futures_core::future::BoxFuture;
pub use mcp_jsonrpc::{ErrorClass, FailureCause};

#[cfg(feature = "http")]
pub use crate::http::{Http, HttpOptions, Sse};
#[cfg(feature = "http")]
pub use crate::net::client::HttpClient;
#[cfg(feature = "stdio")]
pub use crate::stdio::{Stdio, StdioOptions};
#[cfg(feature = "streams")]
pub use crate::streams::{StreamOptions, Streams};
#[cfg(feature = "ws")]
pub use crate::ws::{Ws, WsOptions};
pub use crate::{
    authorize::{Authorize, StaticHeaders},
    error::{ConnectError, SendError},
    in_process::{InProcess, InProcessOptions, pair},
    link::{Connect, Inbound, Inlet, Link, Locality, Outlet},
};

/// Credentials of HTTP requests, and the challenges of servers that require them.
///
/// [`Authorize`] and [`StaticHeaders`] are at the root.
pub mod auth {
    pub use crate::{
        authorize::{AuthFailure, Credentials, Target},
        challenge::{Challenge, Scheme},
    };
}

/// Types for authors of transports. The traits are at the root.
pub mod author {
    pub use crate::{error::ToolHeaderError, link::CancelBy};
}

/// Child processes: their environment, their shutdown, and programs that run once.
#[cfg(feature = "stdio")]
pub mod process {
    pub use crate::stdio::{
        Environment, HardenError, OnStderr, RunError, RunLimits, ServerCommand, ShutdownTimes,
        WrapCommand, harden_host, run_program,
    };
}
