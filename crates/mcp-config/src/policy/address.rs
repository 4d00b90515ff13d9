//! URLs and URL patterns, normalised before they are compared.
//!
//! Both sides go through the same parser, so a rule sees the same parsed form that a transport connects to.
//! [`Pattern::parse`] rejects a pattern that no URL can match, so that a typo in a deny rule is noticed
//! instead of denying nothing.

use url::{Host, Url};

use crate::model::{SOCKETS, clean, glob, socket_path, unescape};

const WEB: [&str; 4] = ["http", "https", "ws", "wss"];

/// A URL split into the parts that patterns match.
pub(super) struct Address {
    scheme: String,
    host: String,
    /// The effective port, even if it is the scheme's default and not written.
    port: Option<u16>,
    /// Whether the port differs from the scheme's default.
    odd_port: bool,
    /// Includes the query.
    path: String,
}

impl Address {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = clean(text);
        let (scheme, rest) = text.split_once(':')?;
        let scheme = scheme.to_ascii_lowercase();
        if SOCKETS.contains(&scheme.as_str()) {
            let path = socket_path(rest);
            return Some(Self { scheme, host: String::new(), port: None, odd_port: false, path });
        }
        let url = Url::parse(&text).ok()?;
        // A final dot is the root of the domain name system, which `evil.test` has without it:
        // <https://www.rfc-editor.org/rfc/rfc1034#section-3.1>.
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        let (port, odd_port) = (url.port_or_known_default(), url.port().is_some());
        Some(Self { scheme, host, port, odd_port, path: path_and_query(&url) })
    }

    pub(super) fn matches(&self, pattern: &Pattern) -> bool {
        let place = match &pattern.port {
            Some(port) => {
                let own = self.port.map(|port| port.to_string()).unwrap_or_default();
                glob::matches(&pattern.host, &self.host) && glob::matches(port, &own)
            }
            None if self.odd_port => {
                let port = self.port.unwrap_or_default();
                glob::matches(&pattern.host, &format!("{}:{port}", self.host))
            }
            None => glob::matches(&pattern.host, &self.host),
        };
        place
            && glob::matches(&pattern.scheme, &self.scheme)
            && pattern.path.as_ref().is_none_or(|path| glob_literal(path, &self.path))
    }
}

/// A URL pattern: each part may contain `*` for any text.
pub(super) struct Pattern {
    scheme: String,
    host: String,
    /// `None` if not written: matches the scheme's default port, or any port if the host ends in `*`.
    port: Option<String>,
    /// `None` for every path.
    path: Option<String>,
}

impl Pattern {
    /// `None` for a pattern that cannot match any URL.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = clean(text);
        let (scheme, rest) = split_scheme(&text);
        if !scheme.contains('*') && !WEB.iter().chain(&SOCKETS).any(|known| *known == scheme) {
            return None;
        }
        if SOCKETS.contains(&scheme.as_str()) {
            let path = socket_path(rest);
            let path = (!matches!(path.as_str(), "" | "*" | "/*")).then_some(path);
            return Some(Self { scheme, host: String::new(), port: None, path });
        }
        let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        // User information does not affect the destination, so rules ignore it. The last `@` ends it, as in
        // <https://url.spec.whatwg.org/#authority-state>.
        let authority = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
        let (host, port) = split_port(authority);
        let port = match port {
            Some(port) => Some(parse_port(port)?),
            None => None,
        };
        let path = match path {
            "" | "/*" => None,
            path => Some(path_and_query(&Url::parse(&format!("https://h{path}")).ok()?)),
        };
        Some(Self { scheme, host: parse_host(host)?, port, path })
    }
}

/// The scheme in lower case, and the text after its colon and slashes; `*` if there is no scheme.
fn split_scheme(text: &str) -> (String, &str) {
    if let Some((scheme, rest)) = text.split_once(':') {
        let scheme = scheme.to_ascii_lowercase();
        if SOCKETS.contains(&scheme.as_str()) {
            return (scheme, rest);
        }
        // URL parsers treat any number of slashes, including none, as two:
        // <https://url.spec.whatwg.org/#special-authority-ignore-slashes-state>.
        let place = rest.trim_start_matches(['/', '\\']);
        let port = place.starts_with(|c: char| c.is_ascii_digit() || c == '*');
        if place.len() + 2 <= rest.len() || WEB.contains(&scheme.as_str()) && !port {
            return (scheme, place);
        }
    }
    ("*".to_owned(), text.strip_prefix("//").unwrap_or(text))
}

fn split_port(authority: &str) -> (&str, Option<&str>) {
    let after_brackets = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_brackets..].rfind(':') {
        Some(at) => {
            let at = after_brackets + at;
            // A trailing colon without digits is not a port.
            (&authority[..at], Some(&authority[at + 1..]).filter(|port| !port.is_empty()))
        }
        None => (authority, None),
    }
}

fn parse_port(text: &str) -> Option<String> {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*') && text.contains('*') {
        return Some(text.to_owned());
    }
    // Parse as a number, so that 0443 is 443.
    text.parse::<u16>().ok().map(|port| port.to_string())
}

/// The host in the form of a URL parser: lower case, Punycode, one form for each IP address.
fn parse_host(text: &str) -> Option<String> {
    match Host::parse(text) {
        Ok(Host::Domain(name)) => Some(name.trim_end_matches('.').to_ascii_lowercase()),
        Ok(address) => Some(address.to_string()),
        // `10.*.0.1` and `[fe80:*]` are not valid hosts, but are valid patterns.
        Err(_) if text.contains('*') => Some(text.trim_end_matches('.').to_ascii_lowercase()),
        Err(_) => None,
    }
}

fn path_and_query(url: &Url) -> String {
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    unescape(&format!("{}{query}", url.path()))
}

/// Only `*` is special in a pattern: a `?` in a URL begins a query.
fn glob_literal(pattern: &str, text: &str) -> bool {
    if pattern.contains('?') || text.contains('?') {
        // Replace `?` on both sides with a character that URLs cannot contain.
        return glob::matches(&pattern.replace('?', "\u{1}"), &text.replace('?', "\u{1}"));
    }
    glob::matches(pattern, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address_matches(pattern: &str, url: &str) -> bool {
        let pattern = Pattern::parse(pattern).expect(pattern);
        Address::parse(url).is_some_and(|address| address.matches(&pattern))
    }

    #[test]
    fn patterns_match_whole_url_parts() {
        for (pattern, url) in [
            ("https://*.example.com", "https://api.example.com/any/path?q=1"),
            ("https://*.example.com/*", "HTTPS://API.EXAMPLE.COM/mcp"),
            ("https://api.example.com/mcp*", "https://api.example.com:443/mcp/v1"),
            ("*://localhost:*/*", "ws://localhost:9000/x"),
            ("https://h/p?a=1", "https://h/p?a=1"),
            ("unix:/run/*", "unix:/run/mcp.sock"),
            ("*", "unix:/run/mcp.sock"),
            ("*", "https://h:8443/x"),
            ("evil.test", "https://evil.test/x"),
            ("localhost:9000", "http://localhost:9000/x"),
            ("https://h:443", "https://h/x"),
            ("http://[::]", "http://[::]/x"),
            ("http://[fe80::]:80", "http://[fe80::]/x"),
            ("h*", "https://h:8443/x"),
        ] {
            assert!(address_matches(pattern, url), "{pattern} {url}");
        }
        for (pattern, url) in [
            ("https://*.example.com", "https://evil.test/x.example.com"),
            ("https://*.example.com", "https://evil.test#.example.com"),
            ("https://good.test/*", "https://good.test@evil.test/"),
            ("https://good.test/*", "https://good.test:8443/"),
            ("https://h/p?a=1", "https://h/pxa=1"),
            ("https://h/mcp", "https://h/mcp/admin"),
            ("unix:/run/x", "unix:run/x"),
            ("http://h:443", "https://h"),
            ("https://h*:443", "https://h:8443/"),
            ("https://good.test:8443", "https://evil.test:8443/"),
            ("https://good.test:8443", "https://good.test:9443/"),
        ] {
            assert!(!address_matches(pattern, url), "{pattern} {url}");
        }
    }

    #[test]
    fn scheme_is_distinguished_from_a_host_with_a_port() {
        for (text, scheme, rest) in [
            ("HTTPS://h/p", "https", "h/p"),
            ("http:h/p", "http", "h/p"),
            ("http:8080/p", "*", "http:8080/p"),
            ("https:*", "*", "https:*"),
            ("h:8080", "*", "h:8080"),
            ("h:name", "*", "h:name"),
            ("odd://h", "odd", "h"),
            ("unix:/run/x", "unix", "/run/x"),
            ("//h/p", "*", "h/p"),
            ("h/p", "*", "h/p"),
        ] {
            assert_eq!(split_scheme(text), (scheme.to_owned(), rest), "{text}");
        }
    }

    #[test]
    fn equivalent_spellings_of_pattern_and_url_match() {
        let same: [&[&str]; 8] = [
            &[
                "https://evil.test/~me/a",
                " HTTPS://EVIL.test./%7eme/%61\n",
                "https://user:pw@evil.test:443/~me/a#top",
                "https:\\\\evil.test\\~me\\a",
                "https:evil.test/./x/../~me/a",
                "https:////evil.test:0443/%7Eme/a",
                "https://%65vil.test/~me/a",
            ],
            &["https://b\u{fc}cher.example/x", "https://XN--bcher-kva.example/x"],
            &["http://[::1]:8080/x", "http://[0:0:0:0:0:0:0:1]:8080/x"],
            &["http://127.0.0.1/x", "http://0x7f.1/x", "http://2130706433:80/x"],
            &["unix:/run/x.sock", "UNIX:///run//x.sock/", "unix://localhost/run/./y/../x%2esock"],
            &["https://h/p%2Fq", "https://h/p%2fq"],
            &["https://h/?a=%7e", "https://h?a=~"],
            &["wss://h", "WSS://h.:443/"],
        ];
        for spellings in same {
            for (pattern, url) in
                spellings.iter().flat_map(|p| spellings.iter().map(move |url| (*p, *url)))
            {
                assert!(address_matches(pattern, url), "{pattern} {url}");
            }
        }
        assert!(address_matches("*.b\u{fc}cher.example", "https://a.xn--bcher-kva.example/x"));
        assert!(address_matches("*://evil.test:443", "https://evil.test/"));
        assert!(address_matches("https://evil.test:*", "https://evil.test/"));
        assert!(address_matches("http://10.*.0.1", "http://10.7.0.1/"));
    }

    #[test]
    fn pattern_that_cannot_match_is_rejected() {
        for pattern in [
            "",
            " ",
            "https://",
            "htps://evil.test",
            "https://evil.test:http",
            "https://evil.test:70000",
            "https://[::1",
            "https://evil test/",
            "https://300.1.2.3",
        ] {
            assert!(Pattern::parse(pattern).is_none(), "{pattern}");
        }
    }
}
