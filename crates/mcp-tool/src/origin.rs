//! The origin of a tool.

use std::sync::Arc;

/// The origin of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "user interfaces show each kind differently")]
pub enum Origin {
    /// The host itself.
    Host,
    /// The user, who composed it of other tools.
    Custom,
    /// A server.
    Server {
        /// The server's name in the configuration.
        server: Arc<str>,
        /// The tool's name on that server, byte for byte.
        tool: Arc<str>,
    },
    /// An offer of a server that is not a tool.
    Offer {
        /// The server's name in the configuration.
        server: Arc<str>,
        /// The offer.
        offer: Offer,
    },
}

/// An offer of a server other than a tool. Policies and approvers treat its use like a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Offer {
    /// A resource to read, or to subscribe to.
    Resource {
        /// Its URI.
        uri: Arc<str>,
        /// Whether the server lists it. Other URIs are chosen by the caller.
        listed: bool,
    },
    /// A prompt to get, or one of its arguments to complete.
    Prompt {
        /// The name on that server.
        name: Arc<str>,
    },
    /// The server's instructions for the model.
    Instructions,
    /// The user's login to the server.
    Login,
}
