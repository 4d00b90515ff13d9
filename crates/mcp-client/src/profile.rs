//! What is known of a server once the handshake is done.

use crate::{
    era::{Era, ProtocolVersion},
    types::{Implementation, ServerCapabilities},
};

/// Who a server is, what it speaks and what it can do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerProfile {
    /// The revision both sides agreed on.
    pub version: ProtocolVersion,
    /// Its name and version. For people only.
    pub info: Option<Implementation>,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// How to use it, for the model. Foreign text.
    pub instructions: Option<String>,
}

impl ServerProfile {
    /// The era the connection lives in.
    pub fn era(&self) -> Era {
        self.version.era()
    }
}
