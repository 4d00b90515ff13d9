//! When are two servers the same server? When they have the same signature.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use sha2::{Digest, Sha256};
use url::Url;

use crate::{
    diagnostic::printable,
    environment::Environment,
    model::{ServerConfig, Stdio, Transport},
};

/// What a server is, apart from its name: a normalised address, or a program with its arguments
/// and the environment that matters.
///
/// Equality is all it is for. It prints the unexpanded text, without query strings, and holds only
/// a hash of the environment.
#[derive(Clone)]
pub struct Signature {
    kind: Kind,
    /// How it is shown; two spellings of one server are still one server.
    shown: Box<str>,
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Signature {}

impl Hash for Signature {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    Address(String),
    Program { line: Vec<String>, surroundings: [u8; 32] },
}

impl Signature {
    /// The signature of `config`, its variables replaced as far as `env` knows them; `None` for a
    /// server in the host's own process, which is only ever itself.
    ///
    /// ```
    /// use mcp_config::{Environment, Remote, ServerConfig, Signature, Transport};
    /// let of = |url: &str| {
    ///     let config = ServerConfig::new("x".parse().unwrap(), Transport::Http(Remote::new(url)));
    ///     Signature::of(&config, &Environment::empty())
    /// };
    /// assert_eq!(of("HTTPS://Example.com:443/mcp/?b=2&a=1#top"), of("https://example.com/mcp?a=1&b=2"));
    /// assert_ne!(of("https://example.com/mcp"), of("https://example.com/other"));
    /// ```
    pub fn of(config: &ServerConfig, env: &Environment) -> Option<Self> {
        match &config.transport {
            Transport::Stdio(stdio) => {
                Some(Self { kind: program(stdio, env), shown: stdio.command.unexpanded().into() })
            }
            Transport::Sdk(_) => None,
            other => {
                let url = &other.remote()?.url;
                let shown = shown_url(url.unexpanded()).into();
                let url = env.guess(url);
                // What does not parse is still equal to itself.
                let kind = Kind::Address(normalise(&url).unwrap_or_else(|| url.trim().to_owned()));
                Some(Self { kind, shown })
            }
        }
    }
}

/// Variables that change how a program talks, not what it is.
const NOISE: [&str; 16] = [
    "CI",
    "COLORTERM",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LOG_LEVEL",
    "NODE_ENV",
    "NO_COLOR",
    "NPM_CONFIG_LOGLEVEL",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
    "VERBOSE",
];

fn program(stdio: &Stdio, env: &Environment) -> Kind {
    let parts = std::iter::once(&stdio.command).chain(&stdio.args);
    let line = parts.map(|part| env.guess(part).into_owned()).collect();
    let mut hash = Sha256::new();
    let mut add = |label: &str, text: &str| {
        // Lengths first, so that no two different lists run together into the same bytes.
        hash.update((label.len() as u64).to_le_bytes());
        hash.update(label);
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    if let Some(cwd) = &stdio.cwd {
        add("cwd", &env.guess(cwd));
    }
    if let Some(file) = &stdio.env_file {
        add("file", &env.guess(file));
    }
    for (name, value) in stdio.env.iter() {
        if !NOISE.contains(&name) && !name.starts_with("LC_") {
            add(name, &env.guess(value.template()));
        }
    }
    Kind::Program { line, surroundings: hash.finalize().into() }
}

/// Lower-cases scheme and host, drops default port, user, fragment and trailing slash, sorts the
/// query, and brings IPv6 and socket addresses to one form.
pub(crate) fn normalise(text: &str) -> Option<String> {
    let text = text.trim();
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "unix" || scheme == "pipe" {
        // `unix:/run/x`, `unix:///run/x` and `unix://localhost/run/x` are one socket.
        let rest = rest.strip_prefix("//localhost").unwrap_or(rest).trim_end_matches('/');
        let path = rest.trim_start_matches('/');
        let root = if path.len() < rest.len() { "/" } else { "" };
        return Some(format!("{scheme}:{root}{path}"));
    }
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?.trim_end_matches('.');
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = unescape(url.path().trim_end_matches('/'));
    let mut query: Vec<&str> =
        url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).collect();
    query.sort_unstable();
    let query = query.join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    Some(format!("{scheme}://{}{port}{path}{mark}{query}", host.to_ascii_lowercase()))
}

/// Percent escapes in one form: unreserved characters plain, the rest with capital digits.
pub(crate) fn unescape(path: &str) -> String {
    if !path.contains('%') {
        return path.to_owned();
    }
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(code) = rest.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok())
        else {
            out.push('%');
            rest = &rest[1..];
            continue;
        };
        if code.is_ascii_alphanumeric() || b"-._~".contains(&code) {
            out.push(char::from(code));
        } else {
            out.push_str(&rest[..3].to_ascii_uppercase());
        }
        rest = &rest[3..];
    }
    out + rest
}

/// An address as it may be shown: without a user, a password or a query.
pub(crate) fn shown_url(text: &str) -> String {
    let cut = text.find(['?', '#']).unwrap_or(text.len());
    // `${VAR:-x}` may hold a `?`; then the template is shown up to there, which hides too much
    // rather than too little.
    let (address, hidden) = text.split_at(cut);
    let dots = if hidden.is_empty() { "" } else { "?…" };
    let Some((scheme, rest)) = address.split_once("://") else {
        // Parsers forgive missing slashes, so a user may be there without them.
        let user = address.rfind('@').map(|at| (address.split_once(':'), &address[at + 1..]));
        return match user {
            Some((Some((scheme, _)), rest)) => format!("{scheme}:{rest}{dots}"),
            Some((None, rest)) => format!("{rest}{dots}"),
            None => format!("{address}{dots}"),
        };
    };
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    // What follows the last colon is a port, or the beginning of a password with a slash in it.
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let user = match authority.rfind('@') {
        None if !is_port && hidden.contains('@') => return format!("{scheme}://{dots}"),
        None if !is_port => rest.rfind('@'),
        user => user,
    };
    if let Some(at) = user {
        return format!("{scheme}://{}{dots}", &rest[at + 1..]);
    }
    format!("{address}{dots}")
}

impl fmt::Display for Signature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Address(_) => out.write_str(&self.shown),
            Kind::Program { .. } => {
                write!(out, "{} with the same arguments and environment", printable(&self.shown))
            }
        }
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Signature({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secrets_however_it_is_spelled() {
        for (address, shown) in [
            ("https://u:s3cret@h/x?k=s3cret", "https://h/x?…"),
            ("https:u:s3cret@h/x", "https:h/x"),
            ("https:/u:s3cret@h/x", "https:h/x"),
            ("s3cret@h/x", "h/x"),
            ("https://u:s3/cret@h/x", "https://h/x"),
            ("https://u:s3?cret@h/x", "https://?…"),
            ("https://u:s3#cret@h/x", "https://?…"),
            ("${URL:-https://u:s3cret@h/x}", "${URL:-https://h/x}"),
            ("https://h:8443/@scope/x", "https://h:8443/@scope/x"),
            ("https://${HOST}/x", "https://${HOST}/x"),
            ("unix:/run/x", "unix:/run/x"),
        ] {
            assert_eq!(shown_url(address), shown, "{address}");
        }
    }

    #[test]
    fn addresses_that_mean_the_same_are_the_same() {
        for (a, b) in [
            ("HTTP://EXAMPLE.com:80", "http://example.com/"),
            ("https://u:p@example.com/mcp#x", "https://example.com/mcp/"),
            ("https://example.com/mcp?b=2&a=1", "https://example.com/mcp/?a=1&&b=2"),
            ("https://example.com./%7Euser/%2f", "https://example.com/~user/%2F"),
            ("http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080"),
            ("wss://h:443/ws", "wss://h/ws"),
            ("unix:///run/mcp.sock", "unix:/run/mcp.sock"),
            ("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(normalise(a), normalise(b), "{a} {b}");
            assert!(normalise(a).is_some());
        }
        for (a, b) in [
            ("https://example.com/a", "https://example.com/A"),
            ("https://example.com/", "http://example.com/"),
            ("https://example.com/?a=1", "https://example.com/?a=2"),
            ("https://example.com:8443/", "https://example.com/"),
            ("unix:run/x", "unix:/run/x"),
        ] {
            assert_ne!(normalise(a), normalise(b), "{a} {b}");
        }
    }

    #[test]
    fn what_is_shown_of_an_address_holds_no_secret() {
        assert_eq!(shown_url("https://me:pw@h/p?key=s3cret"), "https://h/p?…");
        assert_eq!(shown_url("https://h/p"), "https://h/p");
        assert_eq!(shown_url("https://h/p@2"), "https://h/p@2");
    }
}
