//! Checks the URLs that servers ask users to visit.
//!
//! A user judges a URL by reading it, and a browser must parse it the same way. URLs are rejected
//! if they are ambiguous, not encrypted, or not web pages. No lookup is made; whether the site is
//! the right one is for the user to judge.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use mcp_jsonrpc::ShapeError;

use crate::error::problem;

/// Longer than the URL of any login page, and short enough to be shown in full.
const LONGEST: usize = 8 << 10;

/// Rejects URLs that users should not be sent to. The error sent to the server does not repeat the URL.
pub(crate) fn check(url: Option<&str>) -> Result<(), ShapeError> {
    let why = match url {
        None => "is missing",
        Some(url) if url.len() > LONGEST => "is too long to be shown",
        // A URL must percent-encode all other characters. Browsers treat `\` as `/`.
        Some(url) if !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') => {
            "contains a character that is not allowed in a URL"
        }
        Some(url) => match judge(url) {
            Ok(()) => return Ok(()),
            Err(why) => why,
        },
    };
    Err(problem(format_args!("`url` {why}")))
}

fn judge(url: &str) -> Result<(), &'static str> {
    let (scheme, rest) = url.split_once("://").ok_or("is not an absolute URL")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    // A reader could mistake the user name for the host, and it could be a credential.
    if authority.contains('@') {
        return Err("contains a user name");
    }
    let host = host(authority).ok_or("has a missing or ambiguous host")?;
    let is_fit = scheme.eq_ignore_ascii_case("https")
        || scheme.eq_ignore_ascii_case("http") && is_this_machine(host);
    if is_fit { Ok(()) } else { Err("is neither `https` nor on this machine") }
}

/// Returns the host without its port, if it is unambiguous.
fn host(authority: &str) -> Option<&str> {
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, port) = if let Some((address, port)) = bracketed {
        address.parse::<Ipv6Addr>().ok()?;
        (address, port)
    } else {
        let end = authority.find(':').unwrap_or(authority.len());
        (name(&authority[..end])?, &authority[end..])
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(host)
}

/// Returns a host name or a plain IPv4 address. Browsers also accept `0x7f.1` and `2130706433` as
/// addresses, and decode percent-encoding.
fn name(host: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let last = host.trim_end_matches('.').rsplit('.').next().filter(|label| !label.is_empty())?;
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    let is_read = host.bytes().all(is_plain) && (!is_number || host.parse::<Ipv4Addr>().is_ok());
    is_read.then_some(host)
}

fn is_this_machine(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        check(Some(url)).map_or_else(|error| error.to_string(), |()| "taken".into())
    }

    #[test]
    fn page_url_is_https_or_loopback() {
        for page in [
            "https://bank.example/pay?sum=1#now",
            "HTTPS://Bank.Example:8443",
            "https://xn--80ak6aa92e.example/",
            "https://10.0.0.1/",
            "https://[fd12::1]:8443/x",
            "https://bank.example?next=https://user@other.example/",
            "http://localhost:3000/",
            "http://LOCALHOST./",
            "http://app.localhost/",
            "http://127.0.0.1:3000/x",
            "http://[::1]/x",
        ] {
            assert_eq!(refused(page), "taken", "{page}");
        }
        for page in
            ["http://bank.example/", "http://10.0.0.1/", "ftp://bank.example/", "ws://localhost/"]
        {
            assert_eq!(refused(page), "`url` is neither `https` nor on this machine", "{page}");
        }
        for none in [
            "",
            "javascript:alert(1)",
            "file:/etc/passwd",
            "data:text/html,x",
            "https:bank.example",
            "//a/b",
        ] {
            assert_eq!(refused(none), "`url` is not an absolute URL", "{none}");
        }
        assert_eq!(check(None).unwrap_err().to_string(), "`url` is missing");
    }

    #[test]
    fn ambiguous_page_url_is_rejected() {
        for (page, why) in [
            ("https://bank.example@evil.example/", "contains a user name"),
            ("https://a:b@evil.example/", "contains a user name"),
            ("https://@evil.example/", "contains a user name"),
            (
                "https://evil.example\\@bank.example/",
                "contains a character that is not allowed in a URL",
            ),
            (
                "https://bank.example/\u{202e}moc",
                "contains a character that is not allowed in a URL",
            ),
            ("https://b\u{430}nk.example/", "contains a character that is not allowed in a URL"),
            ("https://bank.example/\u{1b}[2J", "contains a character that is not allowed in a URL"),
            ("https://bank.example/\n", "contains a character that is not allowed in a URL"),
            (" https://bank.example/", "contains a character that is not allowed in a URL"),
            ("https:///evil.example/", "has a missing or ambiguous host"),
            ("https://?x", "has a missing or ambiguous host"),
            ("https://./", "has a missing or ambiguous host"),
            ("https://%65vil.example/", "has a missing or ambiguous host"),
            ("https://2130706433/", "has a missing or ambiguous host"),
            ("https://0x7f.1/", "has a missing or ambiguous host"),
            ("https://0177.0.0.1/", "has a missing or ambiguous host"),
            ("https://127.1/", "has a missing or ambiguous host"),
            ("https://[::1/", "has a missing or ambiguous host"),
            ("https://[::1]evil.example/", "has a missing or ambiguous host"),
            ("https://[::1]443/", "has a missing or ambiguous host"),
            ("https://a:b:c/", "has a missing or ambiguous host"),
        ] {
            assert_eq!(refused(page), format!("`url` {why}"), "{page}");
        }
        let long = format!("https://bank.example/{}", "x".repeat(LONGEST));
        assert_eq!(refused(&long), "`url` is too long to be shown");
    }
}
