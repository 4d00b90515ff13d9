//! MCP for hosts in one dependency.
//!
//! ```text
//!  your loop ── definitions, messages ── model API (you send the requests)
//!     │
//!  mcp-host      Bridge · Snapshot · Tool · ToolOutcome · CallContext
//!     │          tools  servers  config  trust  auth  providers  client  transport  serve  testing
//!  mcp-bridge · mcp-client · mcp-config · mcp-auth · mcp-providers · mcp-server · mcp-transport
//!     │
//!  MCP servers
//! ```
//!
//! ```no_run
//! use mcp_host::{
//!     Bridge, BridgeOptions, CallContext, RawJson,
//!     config::{Layers, ReadOptions, Scope, read, resolve},
//! };
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut layers = Layers::new();
//! layers.push(Scope::User, read(&std::fs::read("mcp.json")?, &ReadOptions::new("mcp.json")));
//! let bridge = Bridge::new(BridgeOptions::default());
//! bridge.add_servers(&resolve(&layers));
//! bridge.start().await;
//!
//! let turn = bridge.snapshot(); // the tools for the model
//! let outcome = turn.call("mcp__files__list", RawJson::empty_object(), CallContext::default()).await;
//! println!("{outcome}");
//! # Ok(()) }
//! ```
//!
//! Start with [`Bridge`]: it takes servers and gives [`Snapshot`]s of [`Tool`]s. The root has the names that most
//! hosts use; the modules have the rest, by subject:
//!
//! | module | has | feature |
//! |---|---|---|
//! | [`tools`] | tools, calls, conversations, resources and prompts | |
//! | [`servers`] | connections: transports, states, events, explanations | |
//! | [`config`] | configuration files: formats, scopes, resolution | |
//! | [`trust`] | approvers, policies, rules, hooks | |
//! | [`providers`] | tools, calls and results in the formats of model APIs | |
//! | [`acp`] | servers that an editor gives to an agent over the Agent Client Protocol | |
//! | [`client`] | a typed client for one server, without a bridge; elicitation and other requests of servers | |
//! | [`transport`] | links: stdio, HTTP, SSE, WebSocket, byte streams, in process | |
//! | [`jsonrpc`] | messages, for authors of transports | |
//! | [`audit`] | records of every action; with the feature, a log that shows changed and removed lines | `audit` |
//! | `auth` | logins and credentials | `auth` |
//! | `serve` | MCP servers: tools as a server, many servers behind one | `serve`, `gateway` |
//! | `testing` | a scripted server, a bridge over one server, cassettes, faults | `testing` |
//!
//! This crate re-exports other crates; its own items are [`providers::ModelTurn`] and [`acp`]. A host that needs a single layer
//! can depend on the crate of that layer. The guide for host authors is `docs/host-author.md`.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod acp;
#[cfg(feature = "auth")]
pub mod auth;
pub mod providers;
#[cfg(feature = "serve")]
pub mod serve;
pub mod servers;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tools;
pub mod trust;

pub use mcp_audit as audit;
pub use mcp_bridge::{
    Approval, ApprovalRequest, Bridge, BridgeOptions, Conversation, ConversationOptions, Event,
    ServerConfig, ServerState, ServerStatus, Snapshot,
};
pub use mcp_client as client;
pub use mcp_config as config;
pub use mcp_jsonrpc as jsonrpc;
pub use mcp_tool::{
    BoxFuture, CallContext, Cancel, Content, Delivery, FailureKind, Handler, RawJson, Tool,
    ToolOutcome, ToolSpec,
};
#[cfg(feature = "schemars")]
pub use mcp_tool::{ToolError, tool};
pub use mcp_transport as transport;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/host-author.md")]
struct Guide;
