//! A gateway that a host can embed: many MCP servers behind one.
//!
//! ```text
//!  MCP clients: editors, agents
//!     │  stdio · Streamable HTTP                        mcp-server
//!  mcp-gateway   Gateway: tools of every server, or search; consent; drain
//!     │                                                 mcp-bridge
//!  MCP servers
//! ```
//!
//! ```no_run
//! use std::future::pending;
//!
//! use mcp_bridge::{BridgeOptions, ServerConfig};
//! use mcp_config::{Stdio, Transport};
//! use mcp_gateway::{Gateway, GatewayOptions};
//!
//! # #[cfg(feature = "stdio")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let time = Transport::Stdio(Stdio::new("mcp-server-time"));
//! let servers = vec![ServerConfig::new("time".parse()?, time)];
//! let options = GatewayOptions::new("gateway", "1.0.0");
//! let gateway = Gateway::new(BridgeOptions::default(), options, servers);
//! gateway.open().await;
//! gateway.serve_stdio(pending()).await?;
//! gateway.bridge().shutdown().await;
//! # Ok(()) }
//! ```
//!
//! Start with [`Gateway`]: it builds an [`mcp_bridge::Bridge`] for the servers behind it and an
//! [`mcp_server::ToolServer`] in front of them, and synchronizes their lists. Clients see the tools of every server, or
//! only `tool_search`, `tool_call` and `tool_read` ([`ToolMode`]), and all resources, prompts and completions. Requests
//! of servers, and requests for consent ([`ClientConsent`]), are forwarded to the client that made the call.
//!
//! This crate does not read files or handle signals: the host passes in the servers and a future that ends serving.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod callers;
mod consent;
mod gateway;
mod in_flight;
mod lane;
mod logins;
mod lookup;
mod options;
mod origin;
mod prompts;
mod questions;
mod relay;
mod reload;
mod resources;
mod runner;
mod search;
mod tools;
#[cfg(feature = "stdio")]
mod until;

pub use crate::{
    consent::ClientConsent,
    gateway::Gateway,
    options::{GatewayOptions, ToolMode},
    reload::ServerChanges,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
