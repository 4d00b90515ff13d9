//! A redirect address that is fixed, because a client was registered with it.

use std::{net::IpAddr, str::FromStr};

use url::{Host, Url};

use crate::{guard::is_fit_for_browser, oauth::error::LoginError};

/// A whole redirect address: `http` on this machine, or `https` anywhere.
///
/// ```
/// use mcp_auth::RedirectUri;
///
/// let here: RedirectUri = "http://localhost:8080/oauth/callback".parse()?;
/// assert!(here.is_here());
/// let elsewhere: RedirectUri = "https://example.com/shows-its-address".parse()?;
/// assert!(!elsewhere.is_here());
/// assert!("https://example.com/#fragment".parse::<RedirectUri>().is_err());
/// # Ok::<(), mcp_auth::LoginError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectUri {
    text: String,
    url: Url,
}

/// Where on this machine a browser looks for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Here {
    Address(IpAddr),
    /// A name, which may mean either of the two loopback addresses.
    Name,
}

impl RedirectUri {
    /// As it was written, which is how an authorization server compares it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a program on this machine can listen there.
    pub fn is_here(&self) -> bool {
        self.here().is_some()
    }

    pub(crate) fn here(&self) -> Option<Here> {
        // Nobody here has a certificate, so `https` is elsewhere even at `localhost`.
        match self.url.host()? {
            _ if self.url.scheme() != "http" => None,
            Host::Ipv4(address) => Some(Here::Address(address.into())),
            Host::Ipv6(address) => Some(Here::Address(address.into())),
            Host::Domain(_) => Some(Here::Name),
        }
    }

    /// The port it names.
    pub(crate) fn port(&self) -> Option<u16> {
        self.url.port()
    }

    /// The path that a browser asks for.
    pub(crate) fn path(&self) -> &str {
        self.url.path()
    }

    /// The same address at `port`, and its origin alone.
    pub(crate) fn at_port(&self, port: u16) -> (String, String) {
        let mut url = self.url.clone();
        let is_there = self.url.port() == Some(port) || url.set_port(Some(port)).is_err();
        let origin = url.origin().ascii_serialization();
        (if is_there { self.text.clone() } else { url.into() }, origin)
    }
}

impl FromStr for RedirectUri {
    type Err = LoginError;

    fn from_str(text: &str) -> Result<Self, LoginError> {
        let bad = |why| LoginError::BadSetting { setting: "redirect address", why };
        let url = Url::parse(text).map_err(|_| bad("it is not a URL"))?;
        // RFC 6749 §3.1.2.
        if url.fragment().is_some() {
            return Err(bad("it has a fragment"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("it has characters that no URL has"));
        }
        if !is_fit_for_browser(text) {
            return Err(bad("it is neither https nor on this machine, or it names a user"));
        }
        Ok(Self { text: text.to_owned(), url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_here_or_encrypted_and_nothing_else() {
        for here in ["http://localhost:8080/x", "http://127.0.0.1/", "http://[::1]:1/a?b=c"] {
            assert!(here.parse::<RedirectUri>().unwrap().is_here(), "{here}");
        }
        for elsewhere in ["https://a.test/x", "https://localhost:8443/callback"] {
            assert!(!elsewhere.parse::<RedirectUri>().unwrap().is_here(), "{elsewhere}");
        }
        for unfit in [
            "http://a.test/callback",
            "https://a.test/callback#x",
            "http://localhost:1/#",
            "https://u@a.test/",
            "http://localhost:1/a b",
            "javascript:alert(1)",
            "app://callback",
            "/callback",
            "",
        ] {
            let error = unfit.parse::<RedirectUri>().unwrap_err();
            assert!(matches!(error, LoginError::BadSetting { .. }), "{unfit}: {error}");
        }
    }

    #[test]
    fn a_port_is_filled_in_only_where_there_is_none() {
        let fixed: RedirectUri = "http://LOCALHOST:8080/cb".parse().unwrap();
        let (uri, origin) = fixed.at_port(8080);
        assert_eq!(
            (uri.as_str(), origin.as_str()),
            ("http://LOCALHOST:8080/cb", "http://localhost:8080")
        );
        let open: RedirectUri = "http://127.0.0.1/cb?x=y".parse().unwrap();
        assert_eq!(open.at_port(7).0, "http://127.0.0.1:7/cb?x=y");
    }
}
