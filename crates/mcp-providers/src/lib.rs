//! Converts tools, calls and results to and from the formats of model APIs.
//!
//! ```text
//!  your loop ── definitions, messages ── model API (you send the requests)
//!     │
//!  mcp-providers   Api: anthropic · openai::chat · openai::responses · gemini · generic
//!     │            Session: tools that are loaded later, and a prefix that stays the same
//!  mcp-tool        Tool, ToolSpec, ToolOutcome
//! ```
//!
//! ```
//! use mcp_providers::{Api, ModelCall, anthropic::Anthropic, definitions};
//! use mcp_tool::{RawJson, ToolOutcome, ToolSpec};
//!
//! let (api, clock) = (Anthropic::default(), ToolSpec::new("clock", "Tells the time."));
//! let (tools, losses) = definitions(&api, [&clock]); // for the request
//! assert!(losses.is_empty() && tools[0].as_str().contains("input_schema"));
//!
//! let response = RawJson::parse(r#"{"content":[{"type":"tool_use","id":"1","name":"clock","input":{}}]}"#)?;
//! let calls: Vec<ModelCall> = api.calls(&response);
//! let message = &api.result(&calls[0], &ToolOutcome::text("noon"))[0]; // for the next request
//! assert!(message.as_str().contains(r#""tool_use_id":"1""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Api`] is the trait for one format: definitions with projected schemas and a report of losses, calls with parsed
//! [`Arguments`], and outcomes, prompts and sampling as messages. [`anthropic`], [`openai`], [`gemini`] and
//! [`generic`] implement it. [`Session`] adds tools to a running conversation without changing its cached prefix,
//! for APIs with [`Deferral`].
//!
//! This crate has no I/O, keys or runtime: it reads and writes JSON.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod anthropic;
mod api;
mod arguments;
mod call;
mod content;
mod define;
pub mod gemini;
pub mod generic;
mod json;
mod loss;
mod name;
pub mod openai;
mod sampling;
pub mod schema;
mod serialize;
mod session;

pub use crate::{
    api::{Api, AsSpec, CallResult, Definition, definitions},
    arguments::Arguments,
    call::ModelCall,
    content::text_of,
    loss::{Loss, Lost, NotStrict},
    name::Limits,
    sampling::SamplingError,
    session::{Answer, Changes, Deferral, Loaded, Session},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
