//! A secret that cannot be printed by accident.

use std::fmt;

use zeroize::{ZeroizeOnDrop, Zeroizing};

/// A secret string without `Display` or `Serialize`. `Debug` hides the text, and the memory is wiped on drop.
/// Call [`expose`](Self::expose) to read it, so that every use is visible at the call site.
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
    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Returns the text. Pass it on; do not store it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl ZeroizeOnDrop for Secret {}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text_at_any_depth() {
        let held = Some(vec![Secret::new("canary")]);
        assert!(!format!("{held:?} {held:#?}").contains("canary"));
    }
}
