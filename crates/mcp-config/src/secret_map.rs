//! Names to private values.

use std::fmt;

use crate::template::SecretText;

/// Environment variables or headers: names in order, each with a value that does not print.
///
/// A sorted list rather than a tree: entries have a handful, and there may be many entries.
///
/// ```
/// # use mcp_config::SecretMap;
/// let mut headers = SecretMap::new();
/// headers.insert("X-Key", "abc".into());
/// assert_eq!(headers.get("X-Key").map(|value| value.expose()), Some("abc"));
/// assert_eq!(format!("{headers:?}"), r#"{"X-Key": [redacted]}"#);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct SecretMap(Vec<(Box<str>, SecretText)>);

impl SecretMap {
    /// No names at all.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// Sets `name` to `value`; returns what it was.
    pub fn insert(&mut self, name: impl Into<Box<str>>, value: SecretText) -> Option<SecretText> {
        let name = name.into();
        match self.find(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&SecretText> {
        self.find(name).ok().map(|at| &self.0[at].1)
    }

    /// Whether `name` has a value.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Names and values, in order of the names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &SecretText)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut SecretText)> {
        self.0.iter_mut().map(|(name, value)| (&**name, value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(each, _)| (**each).cmp(name))
    }
}

impl<K: Into<Box<str>>> Extend<(K, SecretText)> for SecretMap {
    fn extend<I: IntoIterator<Item = (K, SecretText)>>(&mut self, pairs: I) {
        for (name, value) in pairs {
            self.insert(name, value);
        }
    }
}

impl<K: Into<Box<str>>> FromIterator<(K, SecretText)> for SecretMap {
    fn from_iter<I: IntoIterator<Item = (K, SecretText)>>(pairs: I) -> Self {
        let mut map = Self::default();
        map.extend(pairs);
        map
    }
}

impl IntoIterator for SecretMap {
    type Item = (Box<str>, SecretText);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Debug for SecretMap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.iter()).finish()
    }
}
