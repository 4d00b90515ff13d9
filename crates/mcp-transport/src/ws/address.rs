//! Where a server is, and how to name it without giving anything away.

use std::fmt;

use tokio_tungstenite::tungstenite::http::Uri;

use crate::error::ConnectError;

/// A `ws:` or `wss:` URL, taken apart. Shown without what may be secret: the query.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) is_secure: bool,
    /// A name or an IP address, without the brackets of version 6.
    pub(super) host: String,
    pub(super) port: u16,
    /// Host and port as they were given, for the `Host` header.
    pub(super) authority: String,
    /// What to ask for: path and query.
    pub(super) target: String,
    path: String,
}

impl Address {
    /// # Errors
    /// [`ConnectError::InvalidOptions`], which does not quote the URL.
    pub(super) fn parse(url: &str) -> Result<Self, ConnectError> {
        let invalid = |problem: &str| {
            let text = format!("the URL of the WebSocket server {problem}");
            ConnectError::InvalidOptions(text)
        };
        let uri: Uri = url.parse().map_err(|_| invalid("is none"))?;
        let is_secure = match uri.scheme_str() {
            Some(scheme) if scheme.eq_ignore_ascii_case("ws") => false,
            Some(scheme) if scheme.eq_ignore_ascii_case("wss") => true,
            _ => return Err(invalid("must start with `ws://` or `wss://`")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("holds credentials; they belong into a header"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(invalid("names no host"));
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            // A port that is no number is none at all to the parser.
            None if authority.as_str().len() > authority.host().len() => {
                return Err(invalid("has a port that is none"));
            }
            None if is_secure => 443,
            None => 80,
        };
        Ok(Self {
            is_secure,
            host: host.to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            target: uri.path_and_query().map_or("/", |target| target.as_str()).to_owned(),
            path: uri.path().to_owned(),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "wss" } else { "ws" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
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
        let address = Address::parse("wss://example.com:8443/a/b?token=s3cret").expect("a URL");
        assert!(address.is_secure);
        assert_eq!((address.host.as_str(), address.port), ("example.com", 8443));
        assert_eq!(address.target, "/a/b?token=s3cret");
        assert_eq!(address.to_string(), "wss://example.com:8443/a/b");

        let address = Address::parse("ws://[::1]").expect("a URL");
        assert_eq!((address.host.as_str(), address.port), ("::1", 80));
        assert_eq!((address.authority.as_str(), address.target.as_str()), ("[::1]", "/"));
        assert_eq!(Address::parse("WSS://a/").expect("a URL").port, 443);
    }

    #[test]
    fn what_is_no_url_is_not_quoted() {
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
