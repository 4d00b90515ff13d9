//! Exports one server as a file.

use serde_json::{Map, Value as Json, json};

use super::{
    edit_text,
    operation::{Edit, EditError},
};
use crate::{
    dialect::{Dialect, ReadOptions, encode, representable},
    model::ServerConfig,
};

/// A server written in one dialect.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// A complete file with only this server. It contains the secrets of the entry.
    pub text: String,
    /// The names of the settings that the dialect does not support, which are left out.
    pub lost: Vec<&'static str>,
}

impl std::fmt::Debug for Exported {
    // Not derived: the text may contain secrets.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Exported").field("lost", &self.lost).finish_non_exhaustive()
    }
}

/// Writes one server as a file of `dialect`, to be pasted into an existing one. Settings that the dialect
/// does not support are left out and listed in [`Exported::lost`].
///
/// # Errors
/// [`EditError::Inexpressible`] if the dialect does not support this kind of server, such as remote ones.
///
/// ```
/// use mcp_config::{Dialect, ServerConfig, Stdio, Transport, edit::export};
///
/// let mut server = ServerConfig::new("time".parse()?, Transport::Stdio(Stdio::new("mcp-time")));
/// server.trust = true;
/// let exported = export(&server, Dialect::Cursor)?;
/// assert_eq!(exported.lost, ["trust"]);
/// assert!(exported.text.contains(r#""time""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(config: &ServerConfig, dialect: Dialect) -> Result<Exported, EditError> {
    let Some(reduced) = representable(dialect, config) else {
        return Err(EditError::Inexpressible(dialect, vec!["this kind of server"]));
    };
    let text = if dialect == Dialect::Acp {
        let members: Map<String, Json> = encode(dialect, &reduced.config).into_iter().collect();
        format!("{:#}\n", json!({ "mcpServers": [members] }))
    } else {
        let mut options = ReadOptions::new("");
        options.dialect = Some(dialect);
        edit_text("", &options, &Edit::Put(Box::new(reduced.config)))?
    };
    Ok(Exported { text, lost: reduced.lost })
}
