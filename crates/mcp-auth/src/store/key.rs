//! Keys of stored secrets.

use std::fmt;

use sha2::{Digest as _, Sha256};
use url::Url;

use crate::{origin::web, secret::Secret};

/// The key of one secret: MCP server, authorization server and account.
///
/// A credential issued by one authorization server is never sent to another, so the issuer is part of the key
/// and is kept exactly as it was received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Key {
    /// The [`signature`] of the server's URL, or a name chosen by the host. May be empty.
    pub server: String,
    /// The issuer, or empty for secrets without an authorization server.
    pub issuer: String,
    /// The account, where there are several.
    pub account: String,
}

impl Key {
    /// Creates a key from its three parts.
    pub fn new(
        server: impl Into<String>,
        issuer: impl Into<String>,
        account: impl Into<String>,
    ) -> Self {
        Self { server: server.into(), issuer: issuer.into(), account: account.into() }
    }

    /// Creates the key of a secret that the user stored under a name, for static credentials.
    pub fn named(name: impl Into<String>) -> Self {
        Self::new("", "", name)
    }

    /// Encodes the key as one line of text, for stores that take a name.
    pub fn to_line(&self) -> String {
        [&self.server, &self.issuer, &self.account].map(|part| escape(part)).join(" ")
    }

    /// Decodes a line written by [`to_line`](Self::to_line).
    pub fn from_line(line: &str) -> Option<Self> {
        let mut parts = line.split(' ').map(unescape);
        let key = Self::new(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(key)
    }

    /// Returns a short hash that is safe in a file name.
    pub(crate) fn file_name(&self) -> String {
        hash(&self.to_line())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_line())
    }
}

/// Returns the identity of a server: scheme, host, port and path of its URL. The query is included as a hash only,
/// because it may contain a key.
///
/// ```
/// use mcp_auth::store::signature;
///
/// assert_eq!(signature("HTTPS://Example.com:443/mcp/#x"), "https://example.com/mcp");
/// ```
pub fn signature(server: &str) -> String {
    let Some(mut url) = web(server).or_else(|| Url::parse(server).ok()) else {
        return format!("?{}", hash(server));
    };
    url.set_fragment(None);
    // Both calls fail only for a URL without a host, which has no user info to remove.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let query = url.query().map(hash);
    url.set_query(None);
    let text = url.as_str().trim_end_matches('/').to_owned();
    match query {
        Some(hash) => format!("{text}?{hash}"),
        None => text,
    }
}

/// The first 16 bytes of SHA-256, in hexadecimal.
fn hash(text: &str) -> String {
    let mut hash = String::with_capacity(32);
    for byte in Sha256::digest(text.as_bytes()).iter().take(16) {
        push_hex(&mut hash, *byte);
    }
    hash
}

/// Distinguishes credential values. Four bytes of SHA-256: too few to confirm a guessed value.
pub(crate) fn fingerprint(values: &[Secret]) -> String {
    let mut digest = Sha256::new();
    for value in values {
        digest.update(value.expose().len().to_be_bytes());
        digest.update(value.expose().as_bytes());
    }
    let mut text = String::with_capacity(8);
    digest.finalize().iter().take(4).for_each(|byte| push_hex(&mut text, *byte));
    text
}

fn push_hex(text: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 15] {
        text.extend(char::from_digit(digit.into(), 16));
    }
}

fn escape(part: &str) -> String {
    let mut line = String::with_capacity(part.len());
    for c in part.chars() {
        if c == '%' || c == ' ' || c.is_control() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                line.push('%');
                push_hex(&mut line, byte);
            }
        } else {
            line.push(c);
        }
    }
    line
}

fn unescape(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_same_server_has_one_signature() {
        let same = ["https://a.test/mcp", "https://A.test:443/mcp/", "https://u:p@a.test/mcp#f"];
        for url in same.into_iter().chain(["wss://a.test/mcp"]) {
            assert_eq!(signature(url), "https://a.test/mcp", "{url}");
        }
        for other in ["http://a.test/mcp", "https://a.test/other", "https://a.test:8443/mcp"] {
            assert_ne!(signature(other), "https://a.test/mcp");
        }
    }

    #[test]
    fn a_key_in_a_query_is_not_shown() {
        let one = signature("https://a.test/mcp?key=canary");
        assert!(!one.contains("canary"));
        assert_ne!(one, signature("https://a.test/mcp?key=other"));
        assert!(!signature("canary, no URL").contains("canary"));
    }

    proptest! {
        #[test]
        fn key_survives_encoding_as_a_line(server in ".*", issuer in ".*", account in ".*") {
            let key = Key::new(server, issuer, account);
            let line = key.to_line();
            prop_assert!(!line.contains(char::is_control));
            prop_assert_eq!(Key::from_line(&line), Some(key));
        }

        #[test]
        fn any_line_is_decoded_without_panic(line in ".*") {
            let _ = Key::from_line(&line);
        }
    }
}
