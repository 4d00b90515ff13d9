//! Test doubles for hosts: scripted servers, recordings and faulty links.
//!
//! [`Scripted`] answers calls from a script, [`bridge_over`] is a bridge over one server, [`record`] records sessions
//! and replays them, and [`faults`] injects faults into links.

pub use mcp_bridge::testing::{SERVER, bridge_over, bridge_with};
pub use mcp_server::testing::{Scripted, ScriptedCall};
pub use mcp_transport::{record, testing as faults};
