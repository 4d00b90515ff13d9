//! What a server was given in confidence, kept out of what we repeat of its words.
//!
//! Servers log their configuration. Their last words are shown to people and written to logs, and the token
//! that they were started with is none of those readers' business.

use std::{collections::BTreeMap, ffi::OsString, fmt};

const STANDS_FOR_IT: &str = "[redacted]";
/// What is shorter is in everything.
const SHORTEST: usize = 8;
/// Values that look like nothing but a key are as long as this.
const SHORTEST_KEY: usize = 16;

/// In capitals: a variable whose name has one of these is a secret.
const NAMES: &[&str] = &[
    "TOKEN",
    "KEY",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "PAT",
    "DSN",
];

/// Values that are not to be repeated, the longest first.
#[derive(Clone, Default)]
pub(super) struct Confidence(Vec<String>);

impl Confidence {
    /// What is secret among these variables: by its name, or by its looks. `production` is neither, and a
    /// log without it would be of little use.
    pub(super) fn of(given: &BTreeMap<OsString, OsString>) -> Self {
        let mut secrets: Vec<String> = given
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
            .filter(|(name, value)| is_secret(name, value))
            .map(|(_, value)| value.to_owned())
            .collect();
        // One may be a part of another, whose rest would be left.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// The text without them.
    pub(super) fn kept(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| {
            if text.contains(secret) { text.replace(secret, STANDS_FOR_IT) } else { text }
        })
    }
}

impl fmt::Debug for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confidence").field("count", &self.0.len()).finish()
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(&test);
    // `PATH` has a `PAT` in it.
    let is_named = name.split('_').any(|word| NAMES.contains(&word))
        || NAMES.iter().any(|known| known.len() > 3 && name.contains(known));
    let is_key = value.len() >= SHORTEST_KEY
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !value.contains(['/', '\\', ' ']);
    let has_user = value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    value.len() >= SHORTEST && (is_named || is_key || has_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Confidence {
        let pairs = pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Confidence::of(&pairs.collect())
    }

    #[test]
    fn what_is_secret_by_name_or_by_looks_is_taken_out() {
        let confidence = given(&[
            ("API_KEY", "hunter22-hunter"),
            ("apitoken", "abcdefgh"),
            ("ID", "ghp0123456789abcdefg"),
            ("DATABASE_URL", "postgres://u:pw@h/db"),
            ("LONGER_KEY", "abcdefgh-and-more"),
        ]);
        for (text, expected) in [
            ("key hunter22-hunter!", "key [redacted]!"),
            ("abcdefgh abcdefgh-and-more", "[redacted] [redacted]"),
            ("id=ghp0123456789abcdefg", "id=[redacted]"),
            ("at postgres://u:pw@h/db", "at [redacted]"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(confidence.kept(text.to_owned()), expected);
        }
        assert!(!format!("{confidence:?}").contains("hunter"));
    }

    #[test]
    fn what_everybody_may_read_stays() {
        let confidence = given(&[
            ("NODE_ENV", "production"),
            ("PATH", "/usr/local/bin"),
            ("DATA", "/srv/data/version2/files"),
            ("API_KEY", "short"),
            ("EMPTY_TOKEN", ""),
            ("URL", "https://example.com/mcp"),
        ]);
        let text =
            "production /usr/local/bin /srv/data/version2/files short https://example.com/mcp";
        assert_eq!(confidence.kept(text.to_owned()), text);
    }
}
