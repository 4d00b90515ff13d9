//! Fuzz targets: a function of bytes for every parser of foreign input.
//!
//! A target asserts a property beyond the absence of panics: values round-trip, splitting input makes no difference,
//! limits hold, secrets are not shown. Targets of public parsers are in modules of this crate; those of private parsers
//! are in the `fuzz` module of their crate, behind the feature `__fuzz`.
//!
//! The functions run in two ways. [`play`] mutates the corpus without coverage, with a stable compiler; `cargo test`
//! and CI use it. `fuzz/guided` runs them under libFuzzer: `cargo xtask fuzz --guided`.

pub mod corpus;

mod client;
mod config;
mod jsonrpc;
mod mutate;
mod play;
mod providers;
mod sandbox;
mod search;

pub use crate::play::play;

/// One parser and its property.
#[derive(Debug)]
#[non_exhaustive]
pub struct Target {
    /// The name of the target and of its corpus.
    pub name: &'static str,
    /// Panics if the property does not hold for these bytes.
    pub check: fn(&[u8]),
}

/// The target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

const fn target_of(name: &'static str, check: fn(&[u8])) -> Target {
    Target { name, check }
}

/// All targets, from the wire upwards.
pub const TARGETS: &[Target] = &[
    target_of("lines", jsonrpc::lines),
    target_of("json", jsonrpc::json),
    target_of("envelope", jsonrpc::envelope),
    target_of("stdio", mcp_transport::fuzz::stdio),
    target_of("events", mcp_transport::fuzz::events),
    target_of("frames", mcp_transport::fuzz::frames),
    target_of("challenge", mcp_transport::fuzz::challenge),
    target_of("retry_after", mcp_transport::fuzz::retry_after),
    target_of("headers", mcp_transport::fuzz::headers),
    target_of("urls", mcp_transport::fuzz::urls),
    target_of("cassette", mcp_transport::fuzz::cassette),
    target_of("content", client::content),
    target_of("listing", mcp_client::fuzz::listing),
    target_of("front_matter", mcp_client::fuzz::front_matter),
    target_of("pages", client::pages),
    target_of("metadata", mcp_auth::fuzz::metadata),
    target_of("tokens", mcp_auth::fuzz::tokens),
    target_of("authorize_url", mcp_auth::fuzz::authorize_url),
    target_of("callback", mcp_auth::fuzz::callback),
    target_of("config_read", config::read_any),
    target_of("config_edit", config::edit_any),
    target_of("expand", config::expand_any),
    target_of("sandbox_profile", sandbox::profile),
    target_of("query", search::query),
    target_of("catalogue", search::catalogue),
    target_of("schema", mcp_bridge::fuzz::schema),
    target_of("schema_work", mcp_schema::fuzz::work),
    target_of("arguments", mcp_bridge::fuzz::arguments),
    target_of("outcome", mcp_bridge::fuzz::outcome),
    target_of("text", mcp_bridge::fuzz::text),
    target_of("projection", providers::projection),
    target_of("model_arguments", providers::model_arguments),
];
