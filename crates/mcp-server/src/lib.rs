//! An MCP server for tools, resources and prompts, for clients of both eras of the protocol.
//!
//! Start with [`ToolServer`]. It serves any [`Tool`](mcp_tool::Tool), and the resources, prompts and completions of
//! [`ServeOptions`]: in process, over standard input and output (feature `stdio`), or over Streamable HTTP (feature
//! `http`). A tool that needs its client, to elicit input or to log, implements [`ServedTool`].
//!
//! This crate contains no client, and does not depend on where tools come from.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod call;
mod client_session;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod options;
mod provide;
mod request;
mod secret;
mod server;
mod setters;
mod shared;
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
