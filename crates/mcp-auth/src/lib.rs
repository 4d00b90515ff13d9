//! Credentials for MCP servers over HTTP: how they are obtained, renewed, kept, and never shown.
//!
//! Two types implement [`Authorize`](mcp_transport::Authorize): [`StaticAuth`] for credentials that somebody
//! configured, and `OAuth` (feature `oauth`) for those that are logged in for. Both keep their secrets in a
//! [`Vault`]: a [`SecretStore`] with locks that hold between processes.
//!
//! The protocol is plain functions and state (`oauth/`), tried out without a socket; the network is behind
//! `HttpClient`, the person behind `Interact`. This crate knows no MCP method, and starts no process but the
//! browser and the helpers it was given.

#[cfg(feature = "oauth")]
mod browser;
mod event;
mod fixed;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "oauth")]
mod guard;
mod helper;
#[cfg(feature = "oauth")]
mod http;
#[cfg(feature = "oauth")]
mod interact;
mod lock;
mod needs_auth;
#[cfg(feature = "oauth")]
mod oauth;
mod origin;
mod secret;
mod source;
mod store;

#[cfg(feature = "reqwest")]
pub use crate::http::reqwest::{OnConnect, ReqwestClient, Resolve};
#[cfg(any(feature = "keyring", feature = "keyutils"))]
pub use crate::store::keyring::KeyringStore;
#[cfg(feature = "oauth")]
pub use crate::{
    browser::open_browser,
    guard::{Blocked, Guard, Zone},
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
    interact::{
        DeviceCode, Interact, InteractError, Redirect, Verdict, Visit,
        loopback::{LoopbackBrowser, OpenPage, Shown, Tell},
        paste::{AskForUrl, Paste, ShowCode},
        redirect::RedirectUri,
    },
    oauth::{
        OAuth,
        client::{ClientProof, PreRegistered},
        dpop::Dpop,
        error::{LoginError, Refusal},
        jwt::SigningKey,
        options::{Enterprise, Grant, OAuthOptions},
        revoke::Logout,
    },
};
pub use crate::{
    event::{AuthEvent, OnEvent},
    fixed::StaticAuth,
    helper::{Helper, HelperError, HelperOptions},
    needs_auth::NeedsAuth,
    secret::Secret,
    source::{Source, SourceError},
    store::{
        Key, SecretStore, StoreError, StoreMode, chain::ChainStore, file::FileStore,
        memory::MemoryStore, signature, vault::Vault,
    },
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
