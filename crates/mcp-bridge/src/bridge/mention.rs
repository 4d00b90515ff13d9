//! Mentions of resources in a user's message.

use std::{fmt, str::FromStr};

/// A resource attached to a user's message: `@server:uri`.
///
/// ```
/// use mcp_bridge::offers::Mention;
///
/// let mention: Mention = "@notes:note://today".parse()?;
/// assert_eq!((&*mention.server, &*mention.uri), ("notes", "note://today"));
/// assert_eq!(mention.to_string(), "@notes:note://today");
/// # Ok::<(), mcp_bridge::error::MentionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Mention {
    /// The server's name.
    pub server: String,
    /// The resource's URI.
    pub uri: String,
}

impl Mention {
    /// Creates a mention of this resource of this server.
    pub fn new(server: impl Into<String>, uri: impl Into<String>) -> Self {
        Self { server: server.into(), uri: uri.into() }
    }
}

/// The text is not of the form `@server:uri`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MentionError;

impl FromStr for Mention {
    type Err = MentionError;

    fn from_str(text: &str) -> Result<Self, MentionError> {
        let (server, uri) =
            text.strip_prefix('@').and_then(|rest| rest.split_once(':')).ok_or(MentionError)?;
        // Server names contain no white space, so text such as `@me: hello` is not a mention.
        let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        if is_word(server) && is_word(uri) { Ok(Self::new(server, uri)) } else { Err(MentionError) }
    }
}

impl fmt::Display for Mention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}:{}", self.server, self.uri)
    }
}

impl fmt::Display for MentionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mention has the form `@server:uri`")
    }
}

impl std::error::Error for MentionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_round_trip_and_other_text_is_rejected() {
        for (server, uri) in [("notes", "note://today?a=b:c"), ("my-server", "file:///x/y")] {
            let mention = Mention::new(server, uri);
            assert_eq!(mention.to_string().parse(), Ok(mention));
        }
        for text in ["", "@", "@a", "a:b", "@:x", "@a:", "@me: hello", "@a b:c"] {
            assert_eq!(text.parse::<Mention>(), Err(MentionError), "{text}");
        }
    }
}
