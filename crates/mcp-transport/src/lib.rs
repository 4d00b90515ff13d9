//! Links that move whole JSON-RPC messages between a host and an MCP server.
//!
//! A [`Connect`] opens a [`Link`], again and again if need be: that is what reconnecting means. A
//! link has two halves, an [`Outlet`] that many callers share and an [`Inlet`] that one task polls.
//! What the messages say is not this crate's business; `mcp-client` gives them meaning.
//!
//! | transport | type | feature |
//! |---|---|---|
//! | child process, one message a line | [`Stdio`] | `stdio` (default) |
//! | both ends in one process | [`InProcess`], [`pair`] | always there |
//! | recorded, replayed and faulty links, and the suite every transport passes | [`testing`] | `testing` |

mod diagnostics;
mod error;
mod in_process;
mod lines;
mod link;
#[cfg(any(feature = "stdio", feature = "testing"))]
mod race;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(feature = "testing")]
pub mod testing;
mod waiters;

pub use futures_core::future::BoxFuture;

#[cfg(feature = "stdio")]
pub use crate::stdio::{Environment, OnStderr, ShutdownTimes, Stdio, StdioOptions};
pub use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics, Exit, Frame, FrameLog},
    error::{ConnectError, ErrorClass, SendError},
    in_process::{InProcess, InProcessOptions, pair},
    link::{CancelBy, Connect, Inbound, Inlet, Link, Locality, Outlet},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
