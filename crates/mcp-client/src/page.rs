//! Pages that servers send users to: which addresses a host is shown at all.
//!
//! A person judges where a page leads by reading its address, and a browser must read it the same way. So an
//! address is refused that could be read in two ways, that is not encrypted, or that is not a page. Nothing is
//! looked up, and where the page is remains for the user to judge.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use mcp_jsonrpc::ShapeError;

use crate::request::problem;

/// Longer than any login page's, and short enough to be shown whole.
const LONGEST: usize = 8 << 10;

/// Refuses what a user should not be sent to. The server is told why, without its own words.
pub(crate) fn check(url: Option<&str>) -> Result<(), ShapeError> {
    let why = match url {
        None => "is missing",
        Some(url) if url.len() > LONGEST => "is too long to be shown",
        // Everything else would have to be encoded in a URL; a browser takes `\` for `/`.
        Some(url) if !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') => {
            "holds a character that no URL may hold"
        }
        Some(url) => match judge(url) {
            Ok(()) => return Ok(()),
            Err(why) => why,
        },
    };
    Err(problem(format_args!("`url` {why}")))
}

fn judge(url: &str) -> Result<(), &'static str> {
    let (scheme, rest) = url.split_once("://").ok_or("is not the address of a page")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    // It would be taken for the host by whoever reads it, or be a credential.
    if authority.contains('@') {
        return Err("has a user");
    }
    let host = host(authority).ok_or("has no host that everybody reads the same way")?;
    let is_fit = scheme.eq_ignore_ascii_case("https")
        || scheme.eq_ignore_ascii_case("http") && is_this_machine(host);
    if is_fit { Ok(()) } else { Err("is neither `https` nor on this machine") }
}

/// The host without its port, if there is one way to read it.
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

/// A name, or an address as everybody writes it: browsers take `0x7f.1` and `2130706433` for addresses too, and
/// decode what is encoded.
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
    fn a_page_is_encrypted_or_on_this_machine() {
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
            assert_eq!(refused(none), "`url` is not the address of a page", "{none}");
        }
        assert_eq!(check(None).unwrap_err().to_string(), "`url` is missing");
    }

    #[test]
    fn a_page_is_where_it_seems_to_be() {
        for (page, why) in [
            ("https://bank.example@evil.example/", "has a user"),
            ("https://a:b@evil.example/", "has a user"),
            ("https://@evil.example/", "has a user"),
            ("https://evil.example\\@bank.example/", "holds a character that no URL may hold"),
            ("https://bank.example/\u{202e}moc", "holds a character that no URL may hold"),
            ("https://b\u{430}nk.example/", "holds a character that no URL may hold"),
            ("https://bank.example/\u{1b}[2J", "holds a character that no URL may hold"),
            ("https://bank.example/\n", "holds a character that no URL may hold"),
            (" https://bank.example/", "holds a character that no URL may hold"),
            ("https:///evil.example/", "has no host that everybody reads the same way"),
            ("https://?x", "has no host that everybody reads the same way"),
            ("https://./", "has no host that everybody reads the same way"),
            ("https://%65vil.example/", "has no host that everybody reads the same way"),
            ("https://2130706433/", "has no host that everybody reads the same way"),
            ("https://0x7f.1/", "has no host that everybody reads the same way"),
            ("https://0177.0.0.1/", "has no host that everybody reads the same way"),
            ("https://127.1/", "has no host that everybody reads the same way"),
            ("https://[::1/", "has no host that everybody reads the same way"),
            ("https://[::1]evil.example/", "has no host that everybody reads the same way"),
            ("https://[::1]443/", "has no host that everybody reads the same way"),
            ("https://a:b:c/", "has no host that everybody reads the same way"),
        ] {
            assert_eq!(refused(page), format!("`url` {why}"), "{page}");
        }
        let long = format!("https://bank.example/{}", "x".repeat(LONGEST));
        assert_eq!(refused(&long), "`url` is too long to be shown");
    }
}
