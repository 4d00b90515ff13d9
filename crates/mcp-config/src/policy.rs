//! Policy: the servers that an organisation allows, in every scope.

use std::fmt;

mod address;
mod matcher;
mod target;

pub use self::matcher::{MatchBy, Matcher};
use crate::{
    diagnostic::printable,
    expand::{Environment, Expanded},
    model::{Scope, ServerConfig},
};

/// The scopes that still load if an enterprise document exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Exclusivity {
    /// All scopes.
    None,
    /// All scopes but the cloud, which is not even fetched. The default.
    Cloud,
    /// Only the enterprise scope.
    All,
}

impl Exclusivity {
    /// Whether it excludes every server and tool of `scope`.
    pub(crate) fn withholds(self, scope: Scope) -> bool {
        match self {
            Self::None => false,
            Self::Cloud => scope == Scope::Cloud,
            Self::All => scope != Scope::Enterprise,
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "cloud" => Some(Self::Cloud),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

/// The policy of one document.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PolicyPart {
    /// The scopes that may load; used only in an enterprise document.
    pub exclusivity: Option<Exclusivity>,
    /// If present, only matching servers are allowed; an empty list allows none.
    pub allow: Option<Vec<Matcher>>,
    /// Matching servers are refused, even if an allow list has them.
    pub deny: Vec<Matcher>,
    /// Only the enterprise's allow list is used; used only in an enterprise document.
    pub managed_only: bool,
    /// The document has an unreadable rule, so nothing is allowed until it is fixed.
    pub broken: bool,
}

/// The combined policy of all documents. It is applied by resolution, and again by [`Policy::judge`] to the
/// expanded entry before each connection.
///
/// Deny lists are concatenated. A server must pass every allow list, so a user's list can't widen the
/// enterprise's. Lists of a repository or a provider apply only to their own servers, so neither can remove
/// one of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Policy {
    /// The scopes that may load; `None` without an enterprise document.
    pub exclusivity: Option<Exclusivity>,
    /// Every allow list that applies to all scopes.
    pub allow: Vec<Vec<Matcher>>,
    /// Every deny rule that applies to all scopes.
    pub deny: Vec<Matcher>,
    /// A policy document could not be read, so nothing is allowed.
    pub broken: bool,
    /// The lists of repositories and providers, which apply only to their own scope.
    pub(crate) own: Vec<(Scope, PolicyPart)>,
}

impl PolicyPart {
    /// Whether the rules of documents in `scope` apply only to that scope.
    pub(crate) fn only_binds(scope: Scope) -> bool {
        matches!(scope, Scope::Project | Scope::Cloud)
    }

    pub(crate) fn check(&self, config: &ServerConfig, env: &Environment) -> Result<(), Refusal> {
        target::judge(&self.deny, self.allow.as_slice(), config, env)
    }
}

/// Why policy refuses a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A deny rule matches it.
    Denied(Matcher),
    /// An allow list exists and does not contain it.
    NotAllowed,
    /// Its command is allowed, but the entry also sets these variables or options, which change the code that
    /// runs.
    Alters(Vec<String>),
    /// Rules depend on this field, and its value is unknown because this is missing.
    Unknown(&'static str, String),
    /// A URL of a project's entry contains user information, in this field.
    UserInUrl(&'static str),
    /// A policy document could not be read, so nothing is allowed.
    BrokenPolicy,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(matcher) => write!(out, "denied by {matcher}"),
            Self::NotAllowed => out.write_str("not on the list of allowed servers"),
            Self::Alters(what) => {
                let what: Vec<String> = what.iter().map(|name| printable(name)).collect();
                write!(
                    out,
                    "its command is allowed, but not with {} (an administrator can add `env` or \
                     `cwd` to the rule)",
                    what.join(", ")
                )
            }
            Self::Unknown(field, missing) => write!(
                out,
                "policy has rules about `{field}`, whose value is unknown: {} is missing",
                printable(missing)
            ),
            Self::UserInUrl(field) => {
                write!(
                    out,
                    "`{field}` contains a user name, which is not allowed in entries of a project"
                )
            }
            Self::BrokenPolicy => {
                out.write_str("the policy document can't be read, so nothing is allowed")
            }
        }
    }
}

impl Policy {
    /// Whether `config` may be used. Variables are replaced with the values in `env`. An unknown value is
    /// refused if a rule depends on it.
    ///
    /// Applies the rules for every scope; [`Policy::check_in`] also applies those of one scope.
    pub fn check(&self, config: &ServerConfig, env: &Environment) -> Result<(), Refusal> {
        if self.broken {
            return Err(Refusal::BrokenPolicy);
        }
        target::judge(&self.deny, &self.allow, config, env)
    }

    /// Whether `config` may be used in `scope`: like [`Policy::check`], with the rules of that scope's
    /// documents for their own servers. A URL of a project's entry may not contain user information.
    pub fn check_in(
        &self,
        scope: Scope,
        config: &ServerConfig,
        env: &Environment,
    ) -> Result<(), Refusal> {
        if scope == Scope::Project {
            target::refuse_user(config, env)?;
        }
        self.check(config, env)?;
        let mut own = self.own.iter().filter(|(of, _)| *of == scope);
        own.try_for_each(|(_, part)| part.check(config, env))
    }

    /// Checks an expanded server before it is started or connected to. [`Admissions`](crate::approval::Admissions)
    /// calls it.
    pub fn judge(&self, scope: Scope, expanded: &Expanded) -> Result<(), Refusal> {
        self.check_in(scope, expanded, &Environment::empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusivity_parses_its_three_values() {
        let words = ["none", "cloud", "all", "All", ""].map(Exclusivity::from_name);
        let [none, cloud, all] = [Exclusivity::None, Exclusivity::Cloud, Exclusivity::All];
        assert_eq!(words, [Some(none), Some(cloud), Some(all), None, None]);
    }
}
