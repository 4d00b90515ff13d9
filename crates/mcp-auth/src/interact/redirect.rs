//! A fixed redirect URL, for a client that was registered with it.

use std::{net::IpAddr, str::FromStr};

use url::{Host, Url};

use super::browser::is_fit_for_browser;
use crate::error::LoginError;

/// A complete redirect URL: `http` on this machine, or `https` anywhere.
///
/// ```
/// use mcp_auth::interact::RedirectUri;
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

/// The loopback addresses that a local redirect URL refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loopback {
    Address(IpAddr),
    /// A host name, which may resolve to either of the two loopback addresses.
    Name,
}

impl RedirectUri {
    /// Returns the URL as it was written, because authorization servers compare it as a string.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a program on this machine can listen at this URL.
    pub fn is_here(&self) -> bool {
        self.loopback().is_some()
    }

    pub(crate) fn loopback(&self) -> Option<Loopback> {
        // The listener has no certificate, so an `https` URL cannot be served even at `localhost`.
        match self.url.host()? {
            _ if self.url.scheme() != "http" => None,
            Host::Ipv4(address) => Some(Loopback::Address(address.into())),
            Host::Ipv6(address) => Some(Loopback::Address(address.into())),
            Host::Domain(_) => Some(Loopback::Name),
        }
    }

    /// Returns the explicit port, if any.
    pub(crate) fn port(&self) -> Option<u16> {
        self.url.port()
    }

    /// Returns the path that a browser requests.
    pub(crate) fn path(&self) -> &str {
        self.url.path()
    }

    /// Returns the same URL with `port`, and its origin.
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
        let bad = |why| LoginError::BadSetting { setting: "redirect URL", why };
        let url = Url::parse(text).map_err(|_| bad("it is not a URL"))?;
        // https://www.rfc-editor.org/rfc/rfc6749#section-3.1.2
        if url.fragment().is_some() {
            return Err(bad("it has a fragment"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("it has characters that are not allowed in a URL"));
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
    fn redirect_url_is_local_or_encrypted() {
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
    fn port_is_added_to_a_redirect_url_only_if_it_has_none() {
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
