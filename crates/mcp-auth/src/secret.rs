//! A credential that cannot be printed by accident.

use std::fmt;

use zeroize::Zeroizing;

/// A credential. It has no `Display` and no `Serialize`, `Debug` says nothing, and its memory is wiped
/// when it is dropped: reading it is visible at the call site.
///
/// ```
/// use mcp_auth::Secret;
///
/// let token = Secret::new("s3cret");
/// assert_eq!(format!("{token:?}"), "Secret(..)");
/// assert_eq!(token.expose(), "s3cret");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes over the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself. Hand it on; do not keep it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_says_nothing_at_any_depth() {
        let held = Some(vec![Secret::new("canary")]);
        assert!(!format!("{held:?} {held:#?}").contains("canary"));
    }
}
