//! OAuth and static credentials for MCP servers over HTTP: obtained, renewed and stored without being shown.
//!
//! ```text
//!  mcp-transport   Authorize: the credential of each HTTP request
//!     │
//!  mcp-auth        StaticAuth · OAuth
//!     │            Interact: browser, terminal, device code · Vault: keyring, file, memory
//!  authorization servers
//! ```
//!
//! ```no_run
//! # #[cfg(feature = "oauth")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use mcp_auth::{OAuth, OAuthOptions, OnEvent, guard::GuardedClient, interact::LoopbackBrowser, store::{StoreMode, Vault}};
//! use mcp_transport::net::TlsOptions;
//!
//! let vault = Vault::open(StoreMode::Auto, "state/auth".as_ref(), OnEvent::default()).await?;
//! let http = Arc::new(GuardedClient::new(&TlsOptions::default())?);
//! let auth = OAuth::new(OAuthOptions::new("https://example.com/mcp", Arc::new(vault), http));
//! auth.login(&LoopbackBrowser::new()).await?; // or later, when a server requires it
//! # Ok(()) }
//! ```
//!
//! Two types implement [`Authorize`](mcp_transport::Authorize): [`StaticAuth`] for configured credentials, and
//! `OAuth` (feature `oauth`) for credentials obtained by a login. Both keep their secrets in a [`Vault`](store::Vault): a
//! [`SecretStore`](store::SecretStore) with locks between processes.
//!
//! The OAuth protocol is plain functions and state (`oauth/`) that tests drive without a socket. Requests go through
//! the `HttpClient` trait, by default the `GuardedClient` of `mcp-transport`; the user is reached through `Interact`.
//! This crate does not implement MCP methods, and it starts no process except the browser and the configured helper commands.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod credentials;
#[cfg(feature = "oauth")]
mod error;
mod event;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "oauth")]
pub mod http;
#[cfg(feature = "oauth")]
pub mod interact;
#[cfg(feature = "oauth")]
mod oauth;
mod origin;
mod secret;
mod setters;
pub mod store;

pub use crate::{
    credentials::{Helper, HelperError, HelperOptions, Source, SourceError, StaticAuth},
    event::{AuthEvent, OnEvent},
    secret::Secret,
};
#[cfg(feature = "oauth")]
pub use crate::{
    error::{InteractError, LoginError, Refusal},
    oauth::{
        ClientProof, Dpop, Enterprise, Grant, Logout, OAuth, OAuthOptions, PreRegistered,
        SigningKey,
    },
};

/// Restricts the addresses that login requests may connect to.
#[cfg(feature = "oauth")]
pub mod guard {
    pub use mcp_transport::net::{Blocked, Guard, GuardedClient, OnConnect, Resolve, Zone};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
