//! The file format of a catalogue: a header line, then JSON.
//!
//! ```text
//! mcp-catalogue 1 <sha-256 of what follows the line, in hexadecimal>
//! {"server":"files","config":"…","listedMs":…,"ttlMs":…,"serverVersion":…,
//!  "tools":[{"hash":"…","definition":{…}},…]}
//! ```

use std::{borrow::Cow, fmt, io};

use super::{Catalogue, Origin, Tool, canonical::sha256};

const MAGIC: &str = "mcp-catalogue";
const VERSION: &str = "1";
/// Larger files are not read.
pub(super) const LARGEST: usize = 64 << 20;

/// Why bytes are not a valid catalogue.
#[derive(Debug)]
#[non_exhaustive]
pub enum CatalogueError {
    /// It is larger than 64 MiB.
    TooLarge,
    /// It is not a catalogue.
    Foreign,
    /// It has another, possibly newer, version.
    Version,
    /// It is damaged: its checksum or the hash of a definition is wrong.
    Damaged,
    /// A definition, or the catalogue itself, has the wrong shape.
    Malformed(String),
    /// The file cannot be read.
    Io(io::Error),
}

impl Catalogue {
    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let body = self.body();
        format!("{MAGIC} {VERSION} {}\n{body}", sha256(body.as_bytes())).into_bytes()
    }

    fn body(&self) -> String {
        serde_json::to_string(&Body {
            server: Cow::Borrowed(&self.server),
            config: Cow::Borrowed(&self.origin.config),
            listed_ms: self.origin.listed_ms,
            ttl_ms: self.origin.ttl_ms,
            server_version: self.origin.server_version.as_deref().map(Cow::Borrowed),
            tools: Cow::Borrowed(&self.tools),
        })
        // Serializing strings, numbers and checked JSON cannot fail; an empty body would be rejected.
        .unwrap_or_default()
    }

    /// Decodes the output of [`Catalogue::encode`].
    ///
    /// # Errors
    ///
    /// If any bit of it differs. See [`CatalogueError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, CatalogueError> {
        if bytes.len() > LARGEST {
            return Err(CatalogueError::TooLarge);
        }
        let end = bytes.iter().position(|&b| b == b'\n').ok_or(CatalogueError::Foreign)?;
        let head = str::from_utf8(&bytes[..end]).map_err(|_| CatalogueError::Foreign)?;
        let mut words = head.split(' ');
        if words.next() != Some(MAGIC) {
            return Err(CatalogueError::Foreign);
        }
        if words.next() != Some(VERSION) {
            return Err(CatalogueError::Version);
        }
        let body = &bytes[end + 1..];
        if words.next() != Some(&sha256(body)) || words.next().is_some() {
            return Err(CatalogueError::Damaged);
        }
        // The checksum detects accidents, not attacks, so the rest is validated as if there were
        // none.
        let read: Body<'_> = serde_json::from_slice(body)
            .map_err(|error| CatalogueError::Malformed(error.to_string()))?;
        let catalogue = read.check()?;
        if catalogue.body().as_bytes() == body {
            Ok(catalogue)
        } else {
            Err(CatalogueError::Damaged)
        }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Body<'a> {
    server: Cow<'a, str>,
    config: Cow<'a, str>,
    listed_ms: u64,
    ttl_ms: Option<u64>,
    server_version: Option<Cow<'a, str>>,
    tools: Cow<'a, [Tool]>,
}

impl Body<'_> {
    fn check(self) -> Result<Catalogue, CatalogueError> {
        for tool in &*self.tools {
            if Tool::new(tool.definition.get())?.hash != tool.hash {
                return Err(CatalogueError::Damaged);
            }
        }
        let origin = Origin {
            config: self.config.into_owned(),
            listed_ms: self.listed_ms,
            ttl_ms: self.ttl_ms,
            server_version: self.server_version.map(Cow::into_owned),
        };
        let tools = self.tools.into_owned();
        Ok(Catalogue { server: self.server.into_owned(), origin, tools })
    }
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(f, "catalogue is larger than {} MiB", LARGEST >> 20),
            Self::Foreign => f.write_str("not a catalogue"),
            Self::Version => f.write_str("catalogue of another version"),
            Self::Damaged => f.write_str("catalogue is damaged"),
            Self::Malformed(reason) => write!(f, "catalogue is malformed: {reason}"),
            Self::Io(_) => f.write_str("catalogue can't be read"),
        }
    }
}

impl std::error::Error for CatalogueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Catalogue, CatalogueError};
    use crate::catalogue::{Origin, canonical::sha256};

    fn with_checksum(body: &str) -> Vec<u8> {
        format!("mcp-catalogue 1 {}\n{body}", sha256(body.as_bytes())).into_bytes()
    }

    #[test]
    fn non_canonical_body_is_rejected_despite_a_valid_checksum() {
        let body = Catalogue::new("files", Origin::new("c", 7), [r#"{ "name": "read" }"#])
            .expect("definitions are objects")
            .body();
        assert!(Catalogue::decode(&with_checksum(&body)).is_ok());
        for other in [
            format!("{body}\n"),
            body.replacen("\"ttlMs\":null,", "", 1),
            body.replacen(":7", ": 7", 1),
            body.replacen("files", "\\u0066iles", 1),
        ] {
            assert_ne!(other, body);
            let refused = Catalogue::decode(&with_checksum(&other));
            assert!(matches!(refused, Err(CatalogueError::Damaged)), "{other}");
        }
    }
}
