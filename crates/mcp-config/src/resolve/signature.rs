//! Signatures, which are equal if two entries refer to the same server.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use sha2::{Digest, Sha256};

use crate::{
    diagnostic::printable,
    expand::{Environment, Expander, NoInputs},
    model::{ServerConfig, Stdio, Transport, normalise, shown_url},
};

/// The identity of a server apart from its name: a normalised URL, or a program with its arguments and
/// relevant environment.
///
/// It is only for comparison. `Display` prints the unexpanded text without query strings. The environment is
/// kept only as a hash.
#[derive(Clone)]
pub struct Signature {
    kind: Kind,
    /// The text for display, which is ignored in comparisons.
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
    /// The signature of `config` with variables replaced from `env`; `None` for a server in the host's own
    /// process, which is always unique.
    ///
    /// ```
    /// use mcp_config::{Environment, Remote, ServerConfig, Transport, resolve::Signature};
    /// let of = |url: &str| {
    ///     let config = ServerConfig::new("x".parse().unwrap(), Transport::Http(Remote::new(url)));
    ///     Signature::of(&config, &Environment::empty())
    /// };
    /// assert_eq!(of("HTTPS://Example.com:443/mcp/?b=2&a=1#top"), of("https://example.com/mcp?a=1&b=2"));
    /// assert_ne!(of("https://example.com/mcp"), of("https://example.com/other"));
    /// ```
    pub fn of(config: &ServerConfig, env: &Environment) -> Option<Self> {
        match &config.transport {
            Transport::Stdio(stdio) => Some(Self {
                kind: program(config, stdio, env),
                shown: stdio.command.unexpanded().into(),
            }),
            Transport::Sdk(_) => None,
            other => {
                let url = &other.remote()?.url;
                let shown = shown_url(url.unexpanded()).into();
                let url = Expander::new(config, env, &NoInputs).text(url);
                // A URL that does not parse is compared as text.
                let kind = Kind::Address(normalise(&url).unwrap_or_else(|| url.trim().to_owned()));
                Some(Self { kind, shown })
            }
        }
    }
}

/// Variables that change a program's output, such as logging, but not its identity.
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

fn program(config: &ServerConfig, stdio: &Stdio, env: &Environment) -> Kind {
    let expander = Expander::new(config, env, &NoInputs);
    let parts = std::iter::once(&stdio.command).chain(&stdio.args);
    let line = parts.map(|part| expander.text(part)).collect();
    let mut hash = Sha256::new();
    let mut add = |label: &str, text: &str| {
        // Hash the length first, so that different lists never produce the same bytes.
        hash.update((label.len() as u64).to_le_bytes());
        hash.update(label);
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    if let Some(cwd) = &stdio.cwd {
        add("cwd", &expander.text(cwd));
    }
    if let Some(file) = &stdio.env_file {
        add("file", &expander.text(file));
    }
    for (name, value) in stdio.env.iter() {
        if !NOISE.contains(&name) && !name.starts_with("LC_") {
            add(name, &expander.text(value.template()));
        }
    }
    Kind::Program { line, surroundings: hash.finalize().into() }
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
