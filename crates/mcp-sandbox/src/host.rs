//! Names of hosts that a server may reach.

use std::{fmt, str::FromStr};

use crate::error::ProfileError;

/// A host name, or all names below one, and optionally a port: `api.github.com`, `*.pypi.org`, `db.example.com:5432`.
///
/// Without a port, 80 and 443 are meant. Addresses in place of names are not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostRule {
    /// In lower case, without the `*.`.
    name: Box<str>,
    covers_names_below: bool,
    port: Option<u16>,
}

impl HostRule {
    /// Whether a connection to this name and port is permitted. `*.a.test` covers `b.a.test`, and not `a.test`.
    pub fn permits(&self, name: &str, port: u16) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_port = self.port.map_or(matches!(port, 80 | 443), |wanted| wanted == port);
        let is_name = if self.covers_names_below {
            name.strip_suffix(&*self.name).is_some_and(|head| head.len() > 1 && head.ends_with('.'))
        } else {
            *name == *self.name
        };
        is_port && is_name
    }
}

impl FromStr for HostRule {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let invalid = || {
            let problem = format!(
                "holds `{text}`; write a name such as `api.example.com` or `*.example.com:8443`"
            );
            ProfileError::new("hosts", problem)
        };
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| invalid())?)),
            None => (text, None),
        };
        let below = host.strip_prefix("*.");
        let name = below.unwrap_or(host).to_ascii_lowercase();
        let is_label = |label: &str| {
            let has_letters =
                label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            !label.is_empty() && label.len() <= 63 && has_letters
        };
        // The last label of an IPv4 address is a number, in any notation that resolvers accept.
        let is_address = name
            .rsplit('.')
            .next()
            .is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
        // `*.com` would permit nearly everything.
        let is_too_wide = below.is_some() && !name.contains('.');
        if name.len() > 253
            || !name.split('.').all(is_label)
            || is_address
            || is_too_wide
            || port == Some(0)
        {
            return Err(invalid());
        }
        Ok(Self { name: name.into(), covers_names_below: below.is_some(), port })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.covers_names_below {
            f.write_str("*.")?;
        }
        f.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_permits_its_name_and_ports() {
        let rule: HostRule = "API.github.com".parse().unwrap();
        for (name, port, permitted) in [
            ("api.github.com", 443, true),
            ("api.github.com.", 80, true),
            ("API.GITHUB.COM", 443, true),
            ("api.github.com", 22, false),
            ("x.api.github.com", 443, false),
            ("api.github.com.evil.test", 443, false),
            ("github.com", 443, false),
        ] {
            assert_eq!(rule.permits(name, port), permitted, "{name}:{port}");
        }
        let below: HostRule = "*.pypi.org:8443".parse().unwrap();
        assert_eq!(below.to_string(), "*.pypi.org:8443");
        assert!(below.permits("files.pypi.org", 8443));
        assert!(!below.permits("pypi.org", 8443));
        assert!(!below.permits("evilpypi.org", 8443));
        assert!(!below.permits(".pypi.org", 8443));
        assert!(!below.permits("files.pypi.org", 443));
    }

    #[test]
    fn addresses_urls_and_wide_patterns_are_refused() {
        for text in [
            "",
            "*",
            "*.com",
            "127.0.0.1",
            "::1",
            "[::1]:80",
            "http://a.test",
            "a.test/path",
            "a.test:0",
            "a..test",
            "a.test:port",
            "a b.test",
            "a.*.test",
            "169.254.169.254",
            "0x7f.1",
            "user@a.test",
        ] {
            assert!(text.parse::<HostRule>().is_err(), "{text}");
        }
    }
}
