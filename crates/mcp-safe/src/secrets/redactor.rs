//! Redacts known secrets in text.

use std::{borrow::Cow, fmt, ops::Range};

use super::{REDACTED, is_secret_name, looks_secret, redact};

/// Shorter values occur in ordinary text.
const SHORTEST: usize = 6;
/// Shorter settings are modes or numbers rather than secrets, regardless of their name.
const SHORTEST_SETTING: usize = 8;
/// Names of authentication schemes that precede a credential in a header.
const SCHEMES: &[&str] = &["basic", "bearer", "digest", "negotiate"];

/// Redacts known secrets, and everything that looks like a credential.
///
/// ```
/// use mcp_safe::secrets::Redactor;
///
/// let redactor = Redactor::of_settings([("API_KEY", "hunter22"), ("NODE_ENV", "production")]);
/// assert_eq!(redactor.redact("production, hunter22"), "production, [redacted]");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor {
    known: Vec<Box<str>>,
}

impl Redactor {
    /// A redactor that knows the secrets among these settings, by their names or shapes.
    pub fn of_settings<'s>(settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Self {
        let mut this = Self::default();
        for (name, value) in settings {
            let is_secret = is_secret_name(name) || looks_secret(value);
            if value.len() >= SHORTEST_SETTING && is_secret {
                this.know(value);
            }
        }
        this
    }

    /// Adds `secret` and each of its words, since a header contains `Bearer` before a token, and a server may repeat
    /// the token alone. Parts of fewer than six bytes are ignored, because they occur in ordinary words.
    ///
    /// ```
    /// let mut redactor = mcp_safe::secrets::Redactor::default();
    /// redactor.know("Bearer hunter22");
    /// assert_eq!(redactor.redact("it was hunter22!"), "it was [redacted]!");
    /// ```
    pub fn know(&mut self, secret: &str) {
        for value in std::iter::once(secret.trim()).chain(secret.split_whitespace()) {
            let is_scheme = SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(value));
            if value.len() >= SHORTEST && !is_scheme && !self.known.iter().any(|k| **k == *value) {
                self.known.push(value.into());
            }
        }
    }

    /// `text` without the known secrets and without anything that [looks like a credential](redact).
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.without_known(text) {
            Some(text) => Cow::Owned(redact(&text).into_owned()),
            None => redact(text),
        }
    }

    fn without_known(&self, text: &str) -> Option<String> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for secret in &self.known {
            let found = text.match_indices(&**secret);
            ranges.extend(found.map(|(start, _)| start..start + secret.len()));
        }
        if ranges.is_empty() {
            return None;
        }
        ranges.sort_unstable_by_key(|range| range.start);
        let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
        for range in ranges {
            // Secrets may overlap. Remove both completely.
            if range.start >= copied {
                out.push_str(&text[copied..range.start]);
                out.push_str(REDACTED);
            }
            copied = copied.max(range.end);
        }
        out.push_str(&text[copied..]);
        Some(out)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("known", &self.known.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_redacted_by_name_or_shape() {
        let redactor = Redactor::of_settings([
            ("API_KEY", "hunter22-hunter"),
            ("apitoken", "abcdefgh"),
            ("SESSION_COOKIE", "oatmeal-raisin"),
            ("ID", "ghp0123456789abcdefg"),
            ("DATABASE_URL", "postgres://u:pw@h/db"),
            ("LONGER_KEY", "abcdefgh-and-more"),
        ]);
        for (text, expected) in [
            ("key hunter22-hunter!", "key [redacted]!"),
            ("abcdefgh abcdefgh-and-more", "[redacted] [redacted]"),
            ("oatmeal-raisin", "[redacted]"),
            ("id=ghp0123456789abcdefg", "id=[redacted]"),
            ("at postgres://u:pw@h/db", "at [redacted]"),
            ("AKIAIOSFODNN7EXAMPLE was never told", "[redacted] was never told"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
        assert_eq!(format!("{redactor:?}"), "Redactor { known: 6 }");
    }

    #[test]
    fn public_settings_are_not_redacted() {
        let redactor = Redactor::of_settings([
            ("NODE_ENV", "production"),
            ("PATH", "/usr/local/bin"),
            ("DATA", "/srv/data/version2/files"),
            ("API_KEY", "short"),
            ("EMPTY_TOKEN", ""),
            ("URL", "https://example.com/mcp"),
        ]);
        let text =
            "production /usr/local/bin /srv/data/version2/files short https://example.com/mcp";
        assert!(matches!(redactor.redact(text), Cow::Borrowed(_)));
    }

    #[test]
    fn authentication_schemes_are_not_redacted() {
        let mut redactor = Redactor::default();
        redactor.know("Bearer hunter22");
        assert_eq!(redactor.redact("Bearer, then hunter22"), "Bearer, then [redacted]");
    }

    #[test]
    fn overlapping_secrets_are_redacted_completely() {
        let mut redactor = Redactor::default();
        redactor.know("abcdefgh");
        redactor.know("efghijkl");
        assert_eq!(redactor.redact("-abcdefghijkl-abcdefgh"), "-[redacted]-[redacted]");
    }

    #[test]
    fn short_values_are_not_redacted_and_adjacent_ones_are() {
        let mut redactor = Redactor::default();
        for secret in ["abcde", "ABCDEF", "ghijkl"] {
            redactor.know(secret);
        }
        assert_eq!(redactor.redact("abcde-ABCDEFghijkl-"), "abcde-[redacted][redacted]-");
        let redactor = Redactor::of_settings([("API_KEY", "7letter"), ("TOKEN", "8letters")]);
        assert_eq!(redactor.redact("7letter 8letters"), "7letter [redacted]");
        let mut twice = redactor.clone();
        twice.know("8letters");
        assert_eq!(twice, redactor);
    }

    proptest! {
        #[test]
        fn known_secrets_never_remain_after_redaction(
            secrets in prop::collection::vec("[A-Z#é]{6,12}", 1..5),
            text in prop::collection::vec("[a-z\\[\\] \u{202e}]{0,10}", 0..5),
        ) {
            let mut redactor = Redactor::default();
            for secret in &secrets {
                redactor.know(secret);
            }
            let whole: String = text.iter().zip(secrets.iter().cycle())
                .flat_map(|(text, secret)| [text.as_str(), secret]).collect();
            let out = redactor.redact(&whole);
            for secret in &secrets {
                prop_assert!(!out.contains(secret.as_str()), "{out}");
            }
            prop_assert_eq!(redactor.redact(&out), out.as_ref());
        }
    }
}
