//! The MCP host that commands run in: configuration, logins, connections and tools.

pub(crate) mod adhoc;
pub(crate) mod app;
pub(crate) mod audit;
pub(crate) mod background;
pub(crate) mod config;
mod connect;
pub(crate) mod event_log;
mod failures;
pub(crate) mod left_out;
pub(crate) mod login;
pub(crate) mod own_gateway;
pub(crate) mod places;
pub(crate) mod recordings;
pub(crate) mod redact;
pub(crate) mod sandbox;
mod sandboxes;
pub(crate) mod secrets;
mod starts;
pub(crate) mod tools;
