//! The interface between agent loops and tools.
//!
//! ```text
//!  your loop · mcp-bridge · mcp-server · mcp-providers
//!     │  call(arguments, CallContext) → ToolOutcome
//!  mcp-tool   Tool · ToolSpec
//!     │
//!  mcp-types · mcp-jsonrpc
//! ```
//!
//! ```
//! use mcp_tool::{BoxFuture, CallContext, RawJson, Tool, ToolOutcome, ToolSpec};
//!
//! struct Clock(ToolSpec);
//!
//! impl Tool for Clock {
//!     fn spec(&self) -> &ToolSpec {
//!         &self.0
//!     }
//!
//!     fn call(&self, _arguments: RawJson, _context: CallContext) -> BoxFuture<'_, ToolOutcome> {
//!         Box::pin(async { ToolOutcome::text("noon") })
//!     }
//! }
//!
//! let clock: Box<dyn Tool> = Box::new(Clock(ToolSpec::new("clock", "Tells the time.")));
//! assert_eq!(clock.spec().name, "clock");
//! ```
//!
//! Start with [`Tool`]: [`ToolSpec`] defines it, [`CallContext`] is passed with each call, and [`ToolOutcome`] is the
//! result. This crate depends on no runtime and no transport, and does not deal with how tools are found, approved or
//! served.
//!
//! The feature `schemars` adds the function `tool`, which builds a tool from an async function with typed arguments.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod cancel;
mod context;
mod origin;
mod outcome;
mod permission;
mod serialize;
mod tool;
mod trace;
#[cfg(feature = "schemars")]
mod typed;

pub use mcp_jsonrpc::{Delivery, RawJson};
pub use mcp_types::{BoxFuture, Content, Handler, LogLevel, OnProgress, StructuredError};

#[cfg(feature = "schemars")]
pub use crate::typed::{ToolBuilder, ToolError, schema_of, tool};
pub use crate::{
    cancel::{Cancel, Cancelled},
    context::{CallContext, OnLog},
    origin::{Offer, Origin},
    outcome::{Failure, FailureKind, Note, ToolOutcome},
    tool::{Concurrency, Hints, Tool, ToolSpec},
    trace::{TraceParent, TraceParentError},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
