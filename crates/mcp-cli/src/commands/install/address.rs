//! Decides whether a URL leads to this machine.

use std::net::{IpAddr, UdpSocket};

/// Whether the host in `url` is this machine: a loopback name, or an address of one of its interfaces. Other names are
/// not looked up, because their addresses may change after the entry was written.
pub(super) fn is_of_this_machine(url: &str) -> bool {
    let Some(host) = host(url) else { return false };
    match host.parse::<IpAddr>() {
        // Only an address of this machine can be bound. No packet is sent.
        Ok(address) => !address.is_multicast() && UdpSocket::bind((address, 0)).is_ok(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Returns the host of an HTTP URL in lower case, without brackets. `None` for a URL with user information, because
/// `http://localhost@example.com` leads elsewhere, and for one that is written unusually.
fn host(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    if authority.contains('@') || !authority.is_ascii() || authority.contains('%') {
        return None;
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => authority.split(':').next()?,
    };
    Some(host.trim_end_matches('.').to_ascii_lowercase()).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::is_of_this_machine;

    #[test]
    fn only_addresses_of_this_machine_are_recognised() {
        for url in [
            "http://127.0.0.1:8000/mcp",
            "http://localhost:8000/mcp",
            "https://LOCALHOST/mcp",
            "http://gw.localhost/mcp",
            "http://0.0.0.0:8000/mcp",
        ] {
            assert!(is_of_this_machine(url), "{url}");
        }
        for url in [
            "https://gw.example/mcp",
            "http://localhost.example/mcp",
            "http://localhost@gw.example/mcp",
            "http://gw.example\\@localhost/mcp",
            "http://gw.example#localhost",
            "http://192.0.2.1/mcp",
            "http://[2001:db8::1]/mcp",
            "ftp://localhost/mcp",
            "http://",
            "localhost",
        ] {
            assert!(!is_of_this_machine(url), "{url}");
        }
    }
}
