//! An MCP server for tools, resources and prompts, for clients of both eras of the protocol.
//!
//! ```text
//!  clients     2024-11-05 … 2025-11-25, 2026-07-28
//!     │  stdio · Streamable HTTP · any byte stream · in process     mcp-transport
//!  mcp-server  ToolServer: sessions, lists, calls, questions to the user
//!     │
//!  Tool · ServedTool · Prompts · Resources                          mcp-tool, and your code
//! ```
//!
//! Start with [`ToolServer`]. It serves any [`Tool`](mcp_tool::Tool), and the resources, prompts and completions of
//! [`ServeOptions`]: in process, over standard input and output (feature `stdio`), or over Streamable HTTP (feature
//! `http`). A tool that needs its client, to elicit input or to log, implements [`ServedTool`].
//!
//! ```
//! # #[cfg(feature = "schemars")] {
//! use mcp_server::{ServeOptions, ToolServer};
//! use mcp_tool::tool;
//!
//! let server = ToolServer::new(ServeOptions::new("clock", "1.0.0"));
//! server.add_tool(tool("now", "Tells the time").read_only().run(|(), _ctx| async { Ok("noon") }));
//! let link = server.in_process(); // or `server.serve_stdio().await`, or `server.http(…)` in an axum application
//! # drop(link);
//! # }
//! ```
//!
//! This crate contains no client, and does not depend on where tools come from.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod call;
mod client_session;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod json;
mod options;
mod provide;
mod request;
mod secret;
mod server;
mod setters;
mod shared;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
mod transport;

pub use crate::{
    call::{Call, Question},
    error::{ClientNeed, ServeError},
    options::ServeOptions,
    provide::{
        CompletionOf, CompletionQuestion, Completions, Nothing, PromptBuilder, Prompts,
        ResourceBody, ResourceBuilder, Resources, ServedPrompt, ServedResource, ServedTool,
        TemplateBuilder, prompt, resource, resource_template,
    },
    server::ToolServer,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
