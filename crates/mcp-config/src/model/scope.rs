//! The six scopes and their precedence.

use std::fmt;

/// Where a server was configured, which decides where it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// Managed by IT; may restrict every other scope.
    Enterprise,
    /// This user, this project, this machine; never committed.
    Local,
    /// This user, every project.
    User,
    /// Committed to the repository; needs approval before anything starts.
    Project,
    /// Added at run time.
    Dynamic,
    /// Fetched from a provider.
    Cloud,
}

impl Scope {
    /// Every scope, in the default order of precedence.
    pub const ALL: [Self; 6] =
        [Self::Enterprise, Self::Local, Self::User, Self::Project, Self::Dynamic, Self::Cloud];

    /// The scope's name in messages and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enterprise => "enterprise",
            Self::Local => "local",
            Self::User => "user",
            Self::Project => "project",
            Self::Dynamic => "dynamic",
            Self::Cloud => "cloud",
        }
    }

    /// The scope called `name`, as [`Scope::as_str`] spells it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Which scope wins, highest first. The default is the order of [`Scope::ALL`].
///
/// ```
/// # use mcp_config::{Scope, model::Precedence};
/// assert!(Precedence::default().outranks(Scope::User, Scope::Project));
/// assert!(Precedence::project_over_user().outranks(Scope::Project, Scope::User));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precedence([Scope; 6]);

impl Default for Precedence {
    fn default() -> Self {
        Self(Scope::ALL)
    }
}

impl Precedence {
    /// Claude Code's documented order: enterprise, local, project, user, dynamic, cloud.
    pub fn project_over_user() -> Self {
        use Scope::{Cloud, Dynamic, Enterprise, Local, Project, User};
        Self([Enterprise, Local, Project, User, Dynamic, Cloud])
    }

    /// A custom order; `None` unless every scope appears exactly once.
    pub fn new(highest_first: [Scope; 6]) -> Option<Self> {
        let complete = Scope::ALL.iter().all(|scope| highest_first.contains(scope));
        complete.then_some(Self(highest_first))
    }

    /// The scopes, highest first.
    pub fn scopes(&self) -> &[Scope; 6] {
        &self.0
    }

    /// The rank of `scope`; zero is the highest.
    pub(crate) fn rank(&self, scope: Scope) -> usize {
        self.0.iter().position(|each| *each == scope).unwrap_or(self.0.len())
    }

    /// Whether `a` takes precedence over `b`.
    pub fn outranks(&self, a: Scope, b: Scope) -> bool {
        self.rank(a) < self.rank(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_requires_every_scope_exactly_once() {
        let mut order = Scope::ALL;
        order.reverse();
        assert!(Precedence::new(order).is_some());
        order[0] = order[1];
        assert!(Precedence::new(order).is_none());
    }
}
