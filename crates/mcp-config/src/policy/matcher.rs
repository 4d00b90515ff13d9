//! Matchers that select servers in allow and deny lists.

use std::fmt;

use super::address::Pattern;
use crate::{
    diagnostic::printable,
    model::{glob, shown_args, shown_url},
};

/// A rule that selects servers.
///
/// ```
/// use mcp_config::policy::Matcher;
/// let rule = Matcher::name("github").over("http");
/// assert_eq!(rule.to_string(), "name `github` over http");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matcher {
    /// The property to match.
    pub by: MatchBy,
    /// If present, only servers over this transport: `stdio`, `http`, `sse`, `ws` or `sdk`.
    pub transport: Option<String>,
    /// For an allowed command: variables that the entry may set although they change the code that runs
    /// (`PATH`, `LD_*`, `NODE_OPTIONS` and similar). Globs; `*` also allows an `envFile` and `inheritEnv`.
    /// Default: empty.
    pub env: Vec<String>,
    /// For an allowed command: whether the entry may set `cwd`. Default: `false`.
    pub cwd: bool,
}

/// The property that a [`Matcher`] compares.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchBy {
    /// The exact name.
    Name(String),
    /// The exact program and arguments. A `headersHelper` is also a command.
    Command(Vec<String>),
    /// The URL, with `*` anywhere. Pattern and URL are normalised first (case, escapes, Punycode, IP
    /// addresses, default ports). A `*` in the host never matches into the path. A pattern without a path
    /// matches every path. A deny rule whose pattern cannot match any URL refuses every remote server.
    ///
    /// The URLs of an entry's OAuth endpoints are judged like its own: one denied URL denies the server, and an
    /// allowed server needs a rule for each.
    Url(String),
}

impl Matcher {
    fn new(by: MatchBy) -> Self {
        Self { by, transport: None, env: Vec::new(), cwd: false }
    }

    /// Selects the server with this name.
    pub fn name(name: impl Into<String>) -> Self {
        Self::new(MatchBy::Name(name.into()))
    }

    /// Selects servers that start exactly this program with these arguments.
    pub fn command<S: Into<String>>(line: impl IntoIterator<Item = S>) -> Self {
        Self::new(MatchBy::Command(line.into_iter().map(Into::into).collect()))
    }

    /// Selects servers whose URL matches this pattern.
    pub fn url(pattern: impl Into<String>) -> Self {
        Self::new(MatchBy::Url(pattern.into()))
    }

    /// Limits the rule to servers over `transport`.
    #[must_use]
    pub fn over(mut self, transport: impl Into<String>) -> Self {
        self.transport = Some(transport.into());
        self
    }

    /// Whether it could match any server.
    pub(crate) fn can_match(&self) -> bool {
        match &self.by {
            MatchBy::Url(pattern) => Pattern::parse(pattern).is_some(),
            MatchBy::Name(_) | MatchBy::Command(_) => true,
        }
    }

    /// Whether an allowed command may set `variable`, which changes the code that runs.
    pub(super) fn admits_variable(&self, variable: &str) -> bool {
        self.env.iter().any(|glob| glob::matches(glob, variable))
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            MatchBy::Name(name) => write!(out, "name `{}`", printable(name))?,
            MatchBy::Command(line) => {
                let shown = shown_args(line.iter().map(String::as_str));
                write!(out, "command `{}`", shown.join(" "))?;
            }
            MatchBy::Url(pattern) => write!(out, "URL `{}`", printable(&shown_url(pattern)))?,
        }
        match &self.transport {
            Some(transport) => write!(out, " over {}", printable(transport)),
            None => Ok(()),
        }
    }
}
