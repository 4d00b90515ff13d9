//! Origins of URLs, and their display without secrets.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;
use url::Url;

/// Whether two URLs have the same scheme, host and port. Credentials are bound to these.
pub(crate) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Formats a URL for display, without user, password and query, which may be secrets.
pub(crate) fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// Removes the user name and password from a URL, and returns them as an `Authorization` header.
pub(crate) fn take_user(url: &mut Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut user = decoded(url.username());
    user.push(b':');
    user.extend(decoded(url.password().unwrap_or_default()));
    let cleared = url.set_username("").and_then(|()| url.set_password(None));
    let mut header = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(user))).ok()?;
    header.set_sensitive(true);
    cleared.ok().map(|()| header)
}

/// Decodes percent-encoded text.
fn decoded(text: &str) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut decoded = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(value.unwrap_or(*first));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    decoded
}

/// Resolves the target of a redirect or the endpoint of a 2024-11-05 server. It must be of the same origin.
pub(crate) fn resolve(from: &Url, to: &str) -> Result<Url, String> {
    let target = from.join(to).map_err(|_| "it leads to no URL".to_owned())?;
    if same_origin(from, &target) {
        Ok(target)
    } else {
        Err(format!("it leads to another origin, {}", target.origin().ascii_serialization()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_origin_is_followed() {
        let from = Url::parse("https://example.com/mcp?key=s3cret").unwrap();
        for to in ["/other", "sub", "https://example.com/x", "https://EXAMPLE.com:443/x", "?a=b"] {
            assert!(resolve(&from, to).is_ok(), "{to}");
        }
        for to in [
            "http://example.com/mcp",
            "https://example.com:8443/mcp",
            "https://example.com.evil.org/",
            "//evil.org/mcp",
            "https://example.com@evil.org/",
            "file:///etc/passwd",
            "https://",
        ] {
            assert!(resolve(&from, to).is_err(), "{to}");
        }
        assert_eq!(shown(&from), "https://example.com/mcp");
        assert_eq!(shown(&Url::parse("http://u:p@h:1/x?q#f").unwrap()), "http://h:1/x");
    }
    #[test]
    fn a_user_in_the_url_becomes_a_header() {
        for (url, header) in [
            ("https://u:p@h/x?q", Some("Basic dTpw")),
            ("https://u@h/x?q", Some("Basic dTo=")),
            ("https://a%40b:100%25%zz@h/x?q", Some("Basic YUBiOjEwMCUleno=")),
            ("https://h/x?q", None),
        ] {
            let mut url = Url::parse(url).unwrap();
            let user = take_user(&mut url);
            assert_eq!(url.as_str(), "https://h/x?q");
            assert_eq!(user.as_ref().map(|user| user.to_str().unwrap()), header);
        }
    }
}
