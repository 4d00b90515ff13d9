//! Tools, calls and results in the formats of model APIs.
//!
//! [`ModelTurn`] adds the methods of an agent loop to [`Snapshot`](crate::Snapshot). The rest is `mcp-providers`.

mod turn;

pub use mcp_providers::*;

pub use self::turn::ModelTurn;
