//! Connections to servers: transports, retries, states and explanations.

pub use mcp_bridge::{
    ApprovedServer, Event, Events, ServerConfig, ServerState, ServerStatus,
    connect::{Connector, DefaultConnector, ServerRoute},
    error::UnknownServer,
    events::Counters,
    lifecycle::Backoff,
    options::{FromProject, Retry},
    report::{Explanation, FailedCall, Quarantined},
};
#[cfg(feature = "sandbox")]
pub use mcp_bridge::{
    connect::{SandboxOptions, SandboxStatus, Sandboxes},
    report::{Measure, Missing, SandboxReport},
};
