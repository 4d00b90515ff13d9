//! A map from names to secret values.

use std::fmt;

use super::template::SecretText;

/// Environment variables or headers, sorted by name. The values are redacted in `Debug`.
///
/// A sorted list rather than a tree: entries have a handful, and there may be many entries.
///
/// ```
/// # use mcp_config::model::SecretMap;
/// let mut headers = SecretMap::new();
/// headers.insert("X-Key", "abc".into());
/// assert_eq!(headers.get("X-Key").map(|value| value.expose()), Some("abc"));
/// assert_eq!(format!("{headers:?}"), r#"{"X-Key": [redacted]}"#);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct SecretMap(Vec<(Box<str>, SecretText)>);

impl SecretMap {
    /// Creates an empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `name` to `value` and returns the previous value. For many at once, `extend` and `collect` sort
    /// only once.
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

    /// The number of names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(each, _)| (**each).cmp(name))
    }
}

impl<K: Into<Box<str>>> Extend<(K, SecretText)> for SecretMap {
    fn extend<I: IntoIterator<Item = (K, SecretText)>>(&mut self, pairs: I) {
        // Sort once at the end: inserting one by one would move all following items each time.
        self.0.extend(pairs.into_iter().map(|(name, value)| (name.into(), value)));
        self.0.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.0.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                // The sort is stable and `dedup` drops the second of a pair, so swap to keep the later value.
                std::mem::swap(later, earlier);
            }
            same
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extend_gives_the_same_map_as_repeated_insert() {
        let pairs = [("b", "1"), ("a", "2"), ("b", "3"), ("c", "4"), ("b", "5"), ("a", "6")];
        let pairs = || pairs.iter().map(|(name, value)| (*name, SecretText::from(*value)));
        let mut one_by_one = SecretMap::new();
        pairs().for_each(|(name, value)| drop(one_by_one.insert(name, value)));
        let mut at_once: SecretMap = pairs().collect();
        assert_eq!(at_once, one_by_one);
        assert_eq!(at_once.get("b").map(SecretText::expose), Some("5"));
        at_once.extend([("a", SecretText::from("7")), ("0", SecretText::from("8"))]);
        let all: Vec<_> = at_once.iter().map(|(name, value)| (name, value.expose())).collect();
        assert_eq!(all, [("0", "8"), ("a", "7"), ("b", "5"), ("c", "4")]);
    }
}
