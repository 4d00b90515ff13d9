//! Compares origins: a credential is sent only to the scheme, host and port it was made for.

use url::Url;

/// Parses `url` as HTTP. A WebSocket URL becomes the URL of its opening HTTP request.
pub(crate) fn web(url: &str) -> Option<Url> {
    let mut url = Url::parse(url).ok()?;
    let scheme = match url.scheme() {
        "https" | "wss" => "https",
        "http" | "ws" => "http",
        _ => return None,
    };
    url.set_scheme(scheme).ok()?;
    url.has_host().then_some(url)
}

/// Returns the origin of a URL, or `None` for a URL without a host.
pub(crate) fn origin(url: &str) -> Option<String> {
    Some(web(url)?.origin().ascii_serialization())
}

/// Whether two URLs have the same origin. URLs without a host never match.
pub(crate) fn same_origin(one: &str, other: &str) -> bool {
    origin(one).is_some_and(|one| origin(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_host_and_port_count() {
        assert!(same_origin("https://a.test/x", "https://A.test:443/y?z"));
        assert!(same_origin("http://[::1]:80/x", "http://[0:0::1]"));
        for other in ["http://a.test/", "https://a.test:1/", "https://b.a.test/", "x", "data:,x"] {
            assert!(!same_origin("https://a.test/", other), "{other}");
        }
        assert!(!same_origin("data:,x", "data:,x"));
    }

    #[test]
    fn web_socket_url_has_the_origin_of_its_http_request() {
        assert!(same_origin("https://a.test/x", "wss://a.test:443/y"));
        assert!(same_origin("ws://a.test/x", "http://a.test:80/y"));
        assert!(same_origin("wss://a.test:8443/x", "https://a.test:8443"));
        assert!(!same_origin("ws://a.test/x", "wss://a.test/x"));
        assert_eq!(web("wss://u@A.test:443/x?y").unwrap().as_str(), "https://u@a.test/x?y");
    }
}
