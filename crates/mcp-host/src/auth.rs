//! Logins to remote servers and credentials.
//!
//! [`BridgeOptions::with_logins`](crate::BridgeOptions::with_logins) with [`Logins`] logs users in as the configuration
//! of each server requires. A host with its own login implements [`Login`] and [`Authorize`], and passes them to a
//! bridge through [`Identify`].

pub use mcp_auth::*;
pub use mcp_bridge::{
    Logins, LoginsOptions,
    connect::{
        ConfirmPage, Identify, Identity, Login, LoginFailure, LoginPage, LoginUser, UserMessage,
    },
    login::InteractFor,
};
pub use mcp_transport::{
    Authorize, StaticHeaders,
    auth::{AuthFailure, Challenge, Credentials, Scheme, Target},
};
