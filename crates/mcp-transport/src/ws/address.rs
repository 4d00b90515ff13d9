//! The URL of a WebSocket server.

use std::fmt;

use http::{
    Uri,
    uri::{PathAndQuery, Scheme},
};

use crate::error::ConnectError;

/// A `ws:` or `wss:` URL. Displayed without its query, which may be secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// The same URL with the HTTP scheme of the upgrade.
    pub(super) uri: Uri,
    shown: String,
}

impl Address {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`ConnectError::InvalidOptions`], which does not quote the URL.
    pub(super) fn parse(url: &str) -> Result<Self, ConnectError> {
        let invalid = |problem: &str| {
            let text = format!("the URL of the WebSocket server {problem}");
            ConnectError::InvalidOptions(text)
        };
        let uri: Uri = url.parse().map_err(|_| invalid("is none"))?;
        let (name, scheme) = match uri.scheme_str() {
            Some(scheme) if scheme.eq_ignore_ascii_case("ws") => ("ws", Scheme::HTTP),
            Some(scheme) if scheme.eq_ignore_ascii_case("wss") => ("wss", Scheme::HTTPS),
            _ => return Err(invalid("must start with `ws://` or `wss://`")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("holds credentials; they belong into a header"));
        }
        if authority.host().trim_matches(['[', ']']).is_empty() {
            return Err(invalid("names no host"));
        }
        // The parser ignores a port that is not a number.
        if authority.port().is_none() && authority.as_str().len() > authority.host().len() {
            return Err(invalid("has a port that is none"));
        }
        let shown = format!("{name}://{authority}{}", uri.path());
        let target = match uri.path_and_query().map_or("/", PathAndQuery::as_str) {
            query if query.starts_with('?') => format!("/{query}"),
            target => target.to_owned(),
        };
        let mut parts = uri.into_parts();
        parts.scheme = Some(scheme);
        parts.path_and_query = Some(target.parse().map_err(|_| invalid("is none"))?);
        let uri = Uri::from_parts(parts).map_err(|_| invalid("is none"))?;
        Ok(Self { uri, shown })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(url: &str) -> String {
        match Address::parse(url) {
            Err(error) => error.to_string(),
            Ok(address) => panic!("{address} is an address"),
        }
    }

    #[test]
    fn the_parts_of_a_url_are_told_apart_and_the_query_is_not_shown() {
        let upgraded = |url| Address::parse(url).expect("a URL").uri.to_string();
        let address = Address::parse("wss://example.com:8443/a/b?token=s3cret").expect("a URL");
        assert_eq!(address.uri, "https://example.com:8443/a/b?token=s3cret");
        assert_eq!(address.to_string(), "wss://example.com:8443/a/b");
        assert_eq!(upgraded("ws://[::1]"), "http://[::1]/");
        assert_eq!(upgraded("ws://a?b"), "http://a/?b");
        assert_eq!(upgraded("WSS://a/"), "https://a/");
    }

    #[test]
    fn invalid_url_is_not_quoted() {
        let prefix = "the URL of the WebSocket server";
        assert_eq!(problem("ws://s3cret host/"), format!("{prefix} is none"));
        assert_eq!(problem("/s3cret"), format!("{prefix} must start with `ws://` or `wss://`"));
        assert_eq!(
            problem("https://a/s3cret"),
            format!("{prefix} must start with `ws://` or `wss://`")
        );
        assert_eq!(
            problem("ws://me:s3cret@a/"),
            format!("{prefix} holds credentials; they belong into a header")
        );
        assert!(!problem("ws://a:s3cret/").contains("s3cret"));
    }
}
