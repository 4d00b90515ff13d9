//! Links that move whole JSON-RPC messages between a host and an MCP server.
//!
//! A [`Connect`] opens a [`Link`], again and again if need be: that is what reconnecting means. A
//! link has two halves, an [`Outlet`] that many callers share and an [`Inlet`] that one task polls.
//! What the messages say is not this crate's business; `mcp-client` gives them meaning.
//!
//! | transport | type | feature |
//! |---|---|---|
//! | child process, one message a line | [`Stdio`] | `stdio` (default) |
//! | Streamable HTTP of both eras | [`Http`] | `http` |
//! | HTTP with SSE, as of 2024-11-05 | [`Sse`] | `http` |
//! | WebSocket, one message a frame | [`Ws`] | `ws` |
//! | both ends in one process | [`InProcess`], [`pair`] | always there |
//! | recorded, replayed and faulty links, and the suite every transport passes | [`testing`] | `testing` |

mod authorize;
mod challenge;
mod diagnostics;
mod error;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "http")]
mod http;
mod in_process;
mod lines;
mod link;
#[cfg(any(feature = "stdio", feature = "testing"))]
mod race;
#[cfg(any(feature = "http", feature = "ws"))]
mod retry_after;
#[cfg(feature = "stdio")]
mod stdio;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "tls")]
#[cfg_attr(
    not(any(feature = "http", feature = "ws")),
    allow(dead_code, reason = "alone it is options for nothing")
)]
mod tls;
#[cfg(any(feature = "http", feature = "stdio", feature = "ws"))]
mod trouble;
mod waiters;
#[cfg(feature = "ws")]
mod ws;

pub use futures_core::future::BoxFuture;
pub use mcp_jsonrpc::{ErrorClass, Trouble};

#[cfg(feature = "http")]
pub use crate::http::{Http, HttpClient, HttpClientOptions, HttpOptions, Sse};
#[cfg(feature = "stdio")]
pub use crate::stdio::{Environment, OnStderr, ShutdownTimes, Stdio, StdioOptions};
#[cfg(feature = "tls")]
pub use crate::tls::{TlsIdentity, TlsOptions};
#[cfg(feature = "ws")]
pub use crate::ws::{Ws, WsOptions};
pub use crate::{
    authorize::{AuthFailure, Authorize, Credentials, StaticHeaders, Target},
    challenge::{Challenge, Scheme},
    diagnostics::{CloseReason, CloseReport, Diagnostics, Exit, Frame, FrameLog},
    error::{ConnectError, SendError},
    in_process::{InProcess, InProcessOptions, pair},
    link::{CancelBy, Connect, Inbound, Inlet, Link, Locality, Outlet},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
