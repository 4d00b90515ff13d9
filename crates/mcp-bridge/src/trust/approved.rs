//! Servers with a decided trust setting.

use mcp_config::{
    Resolution, ServerConfig,
    resolve::{Candidate, Verdict},
};

/// A server that may be used, with the trust that its scope allows.
///
/// Entries of files become approved servers through a [`Resolution`], which knows the scope of each entry: the
/// file of a repository cannot declare its own servers trusted.
///
/// ```
/// use mcp_bridge::ApprovedServer;
/// use mcp_config::{Layers, ReadOptions, Scope, read, resolve};
///
/// let text = br#"{"mcpServers": {"notes": {"command": "notes", "trust": true}}}"#;
/// let mut layers = Layers::new();
/// layers.push(Scope::User, read(text, &ReadOptions::new("mcp.json")));
/// let servers: Vec<_> = ApprovedServer::all(&resolve(&layers)).collect();
/// assert!(servers[0].is_trusted());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovedServer(ServerConfig);

impl ApprovedServer {
    /// Creates an approved server from an [active](Verdict::Active) candidate; `None` for any other.
    pub fn new(candidate: &Candidate) -> Option<Self> {
        if candidate.verdict != Verdict::Active {
            return None;
        }
        let mut config = candidate.entry.config.clone();
        config.trust = candidate.is_trusted();
        Some(Self(config))
    }

    /// All active servers of a resolution, highest precedence first.
    pub fn all(resolution: &Resolution) -> impl Iterator<Item = Self> {
        resolution.servers().filter_map(Self::new)
    }

    /// Honours the `trust` setting of a configuration that the host wrote or decided on itself. Do not use it
    /// for entries read from a file.
    pub fn trust_as_written(config: ServerConfig) -> Self {
        Self(config)
    }

    /// The configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.0
    }

    /// Whether its tools may run without a question, and its annotations are believed.
    pub fn is_trusted(&self) -> bool {
        self.0.trust
    }

    pub(crate) fn into_config(self) -> ServerConfig {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use mcp_config::{Layers, ReadOptions, Scope, read, resolve};

    use super::*;

    #[test]
    fn trust_depends_on_the_scope_of_an_entry() {
        let text = br#"{"mcpServers": {"a": {"command": "a", "trust": true}}}"#;
        for (scope, expected) in [(Scope::User, true), (Scope::Cloud, false)] {
            let mut layers = Layers::new();
            layers.push(scope, read(text, &ReadOptions::new("mcp.json")));
            let resolution = resolve(&layers);
            let trusted: Vec<bool> =
                ApprovedServer::all(&resolution).map(|server| server.is_trusted()).collect();
            assert_eq!(trusted, [expected], "{scope}");
        }
        // A server of a project needs approval.
        let mut layers = Layers::new();
        layers.push(Scope::Project, read(text, &ReadOptions::new(".mcp.json")));
        assert_eq!(ApprovedServer::all(&resolve(&layers)).count(), 0);
    }

    #[test]
    fn trust_of_the_host_is_kept_as_written() {
        use mcp_config::{Stdio, Transport};
        let mut config =
            ServerConfig::new("s".parse().unwrap(), Transport::Stdio(Stdio::new("server")));
        assert!(!ApprovedServer::trust_as_written(config.clone()).is_trusted());
        config.trust = true;
        let server = ApprovedServer::trust_as_written(config.clone());
        assert!(server.is_trusted() && *server.config() == config);
        assert_eq!(server.into_config(), config);
    }
}
