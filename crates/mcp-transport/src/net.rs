//! The network stack below the transports: TCP, TLS, proxies and HTTP/1.1 or HTTP/2.
//!
//! One `connector` opens every connection. Above it there are a pool (`client`), requests under an
//! [address guard](Guard) (`guarded`), and the upgrade of a connection to another protocol (`upgrade`).
//! `authorized` adds credentials to requests and handles challenges.

#[cfg(any(feature = "http", feature = "ws"))]
pub(crate) mod authorized;
#[cfg(feature = "http")]
pub(crate) mod client;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "the pool uses all of it"))]
pub(crate) mod connector;
#[cfg(feature = "http")]
mod deferred_wake;
mod guard;
mod guarded;
#[cfg(feature = "http")]
pub(crate) mod origin;
mod resolve;
#[cfg(feature = "http")]
pub(crate) mod response;
mod single;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "the pool uses all of it"))]
pub(crate) mod stream;
pub(crate) mod tls;
#[cfg(feature = "ws")]
pub(crate) mod upgrade;

#[cfg(feature = "http")]
pub use self::client::HttpClientOptions;
pub use self::{
    guard::{Blocked, Guard, Zone},
    guarded::{FetchError, FetchRequest, Fetched, GuardedClient, OnConnect},
    resolve::Resolve,
    tls::{TlsIdentity, TlsOptions},
};
