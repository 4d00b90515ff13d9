//! What an organisation allows, binding every scope.

use std::fmt;

mod address;

use self::address::{Address, Pattern};
use crate::{
    diagnostic::printable,
    environment::Environment,
    model::{ServerConfig, Transport},
    redact::shown_args,
    scope::Scope,
    signature::shown_url,
};

/// What else loads once an enterprise document exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Exclusivity {
    /// Everything.
    None,
    /// Everything but cloud servers, which are not even asked for. The default.
    Cloud,
    /// Nothing: only the enterprise's own servers exist.
    All,
}

impl Exclusivity {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "cloud" => Some(Self::Cloud),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

/// A rule that picks servers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Matcher {
    /// By exact name.
    Name(String),
    /// By the exact program and arguments.
    Command(Vec<String>),
    /// By address, with `*` anywhere. Pattern and address are brought to one form first (case,
    /// escapes, Punycode, IP addresses, default ports); a `*` in the host never reaches into the
    /// path; a pattern without a path means every path. A deny rule whose pattern could match
    /// nothing at all refuses every remote server.
    Url(String),
}

impl Matcher {
    /// Whether there is any server it could pick.
    pub(crate) fn can_match(&self) -> bool {
        match self {
            Self::Url(pattern) => Pattern::parse(pattern).is_some(),
            Self::Name(_) | Self::Command(_) => true,
        }
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(out, "name `{}`", printable(name)),
            Self::Command(line) => {
                let shown = shown_args(line.iter().map(String::as_str));
                write!(out, "command `{}`", shown.join(" "))
            }
            Self::Url(pattern) => write!(out, "URL `{}`", printable(&shown_url(pattern))),
        }
    }
}

/// What one document says about policy.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PolicyPart {
    /// What else may load; counts only in an enterprise document.
    pub exclusivity: Option<Exclusivity>,
    /// If present, only servers it matches; an empty list allows none.
    pub allow: Option<Vec<Matcher>>,
    /// Servers it matches are refused, whatever any list allows.
    pub deny: Vec<Matcher>,
    /// Only the enterprise's own allow list counts; counts only in an enterprise document.
    pub managed_only: bool,
    /// The document had a rule that could not be read: nothing is allowed until it can.
    pub broken: bool,
}

/// Every document's policy put together: what [`resolve`](crate::resolve()) applies, and what a
/// host checks again with [`Policy::check`] once variables are expanded.
///
/// Deny lists add up. Allow lists narrow: a server must pass each one, so a user's list can't widen
/// the enterprise's. What a repository or a provider says binds only the servers it brings itself:
/// neither may take one of the user's away.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Policy {
    /// What else loads; `None` when there is no enterprise document.
    pub exclusivity: Option<Exclusivity>,
    /// Every allow list that binds every scope.
    pub allow: Vec<Vec<Matcher>>,
    /// Every deny rule that binds every scope.
    pub deny: Vec<Matcher>,
    /// Nothing is allowed: a policy document could not be read.
    pub broken: bool,
    /// Rules that bind only the scope they come from.
    pub(crate) own: Vec<OwnRules>,
}

/// What a document without a say over others says about its own scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnRules {
    pub(crate) scope: Scope,
    pub(crate) allow: Option<Vec<Matcher>>,
    pub(crate) deny: Vec<Matcher>,
}

impl OwnRules {
    /// Whether the rules of documents in `scope` bind no other.
    pub(crate) fn only_bind(scope: Scope) -> bool {
        matches!(scope, Scope::Project | Scope::Cloud)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }

    pub(crate) fn check(&self, config: &ServerConfig, env: &Environment) -> Result<(), Refusal> {
        judge(&self.deny, self.allow.as_slice(), config, env)
    }
}

/// Why policy refuses a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A deny rule matches it.
    Denied(Matcher),
    /// An allow list exists and does not have it.
    NotAllowed,
    /// A policy document could not be read, so nothing is allowed.
    BrokenPolicy,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(matcher) => write!(out, "denied by {matcher}"),
            Self::NotAllowed => out.write_str("not on the list of allowed servers"),
            Self::BrokenPolicy => {
                out.write_str("the policy document can't be read, so nothing is allowed")
            }
        }
    }
}

impl Policy {
    /// Whether `config` may be used. Variables are replaced as far as `env` knows them; call this
    /// again with an expanded server before connecting, since variables may have changed.
    ///
    /// These are the rules for every scope; [`Policy::check_in`] knows those of one scope as well.
    pub fn check(&self, config: &ServerConfig, env: &Environment) -> Result<(), Refusal> {
        if self.broken {
            return Err(Refusal::BrokenPolicy);
        }
        judge(&self.deny, &self.allow, config, env)
    }

    /// Whether `config` may be used in `scope`: as [`Policy::check`], and by what the documents of
    /// that scope say about their own servers.
    pub fn check_in(
        &self,
        scope: Scope,
        config: &ServerConfig,
        env: &Environment,
    ) -> Result<(), Refusal> {
        self.check(config, env)?;
        let mut own = self.own.iter().filter(|rules| rules.scope == scope);
        own.try_for_each(|rules| rules.check(config, env))
    }
}

fn judge(
    deny: &[Matcher],
    allow: &[Vec<Matcher>],
    config: &ServerConfig,
    env: &Environment,
) -> Result<(), Refusal> {
    if allow.is_empty() && deny.is_empty() {
        return Ok(());
    }
    let target = Target::new(config, env);
    if let Some(matcher) = deny.iter().find(|matcher| target.is_denied_by(matcher)) {
        return Err(Refusal::Denied(matcher.clone()));
    }
    if allow.iter().all(|list| target.is_allowed_by(list)) {
        Ok(())
    } else {
        Err(Refusal::NotAllowed)
    }
}

/// A server as rules see it.
struct Target<'c> {
    name: &'c str,
    line: Option<Vec<String>>,
    address: Option<Address>,
    remote: bool,
}

impl<'c> Target<'c> {
    fn new(config: &'c ServerConfig, env: &Environment) -> Self {
        let line = match &config.transport {
            Transport::Stdio(stdio) => {
                let parts = std::iter::once(&stdio.command).chain(&stdio.args);
                Some(parts.map(|part| env.guess(part).into_owned()).collect())
            }
            _ => None,
        };
        let remote = config.transport.remote();
        let address = remote.and_then(|remote| Address::parse(&env.guess(&remote.url)));
        Self { name: config.name.as_str(), line, address, remote: remote.is_some() }
    }

    fn matches(&self, matcher: &Matcher) -> bool {
        match matcher {
            Matcher::Name(name) => name == self.name,
            Matcher::Command(line) => self.line.as_ref() == Some(line),
            Matcher::Url(pattern) => self
                .address
                .as_ref()
                .zip(Pattern::parse(pattern))
                .is_some_and(|(address, pattern)| address.matches(&pattern)),
        }
    }

    /// A rule nobody can read must not open what it meant to close.
    fn is_denied_by(&self, matcher: &Matcher) -> bool {
        self.matches(matcher) || self.remote && !matcher.can_match()
    }

    /// Names are easy to borrow: as soon as a list speaks of programs, a program must match by its
    /// command line; as soon as it speaks of addresses, a remote server must match by its address.
    fn is_allowed_by(&self, list: &[Matcher]) -> bool {
        let decisive = |matcher: &&Matcher| match matcher {
            Matcher::Command(_) => self.line.is_some(),
            Matcher::Url(_) => self.remote,
            Matcher::Name(_) => false,
        };
        if list.iter().any(|matcher| decisive(&matcher)) {
            return list.iter().filter(decisive).any(|matcher| self.matches(matcher));
        }
        list.iter().any(|matcher| self.matches(matcher))
    }
}
