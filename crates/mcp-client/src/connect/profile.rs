//! The result of the handshake.

use mcp_types::{Era, Implementation, ProtocolVersion, ServerCapabilities};

/// The identity, revision and capabilities of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerProfile {
    /// The revision both sides agreed on.
    pub version: ProtocolVersion,
    /// The server's name and version, for display only.
    pub info: Option<Implementation>,
    /// The declared capabilities.
    pub capabilities: ServerCapabilities,
    /// Instructions for the model on how to use the server. Untrusted text.
    pub instructions: Option<String>,
}

impl ServerProfile {
    /// The era of the session.
    pub fn era(&self) -> Era {
        self.version.era()
    }
}
