//! Errors in profiles.

use std::fmt;

/// A profile that cannot be used: the member concerned, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError {
    member: String,
    problem: String,
}

impl ProfileError {
    pub(crate) fn new(member: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { member: member.into(), problem: problem.into() }
    }

    /// The member of the object that is wrong. Empty for the value as a whole.
    pub fn member(&self) -> &str {
        &self.member
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.member.as_str() {
            "" => write!(f, "sandbox profile {}", self.problem),
            member => write!(f, "`{member}` of the sandbox profile {}", self.problem),
        }
    }
}

impl std::error::Error for ProfileError {}
