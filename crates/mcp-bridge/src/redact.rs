//! Takes out what looks like a credential.
//!
//! For text that never needs one: descriptions, instructions, errors. Results stay as they are, since a
//! tool that reads a file has to read it.

use std::borrow::Cow;

const STANDS_FOR_IT: &str = "[redacted]";

/// How the keys of known services begin, and how long the rest is at least.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xapp-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 30),
    ("dop_v1_", 30),
    ("SG.", 30),
];

/// Words after which a value is a secret.
const LABELS: &[&str] = &[
    "bearer",
    "basic",
    "password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "access_token",
    "refresh_token",
    "client_secret",
    "authorization",
];

/// The text with everything that looks like a credential replaced; borrowed if there is nothing.
///
/// ```
/// let text = mcp_bridge::redact("use ghp_0123456789abcdefghijABCDEFGHIJ012345 for this");
/// assert_eq!(text, "use [redacted] for this");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    match without_private_keys(text) {
        Some(text) => Cow::Owned(without_words(&text).into_owned()),
        None => without_words(text),
    }
}

fn without_words(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut label = false;
    for (start, word) in words(text) {
        if is_key(word) || label && is_random(word) {
            out.push_str(&text[copied..start]);
            out.push_str(STANDS_FOR_IT);
            copied = start + word.len();
        }
        label = is_label(word) || label && is_label_like(word);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// A key in PEM goes with all its lines; one that never ends, with the rest of the text.
fn without_private_keys(text: &str) -> Option<String> {
    const BEGIN: &str = "-----BEGIN ";
    let mut out = None::<String>;
    let (mut copied, mut from) = (0, 0);
    while let Some(at) = text[from..].find(BEGIN) {
        let start = from + at;
        from = start + BEGIN.len();
        let head = text[from..].lines().next().unwrap_or_default();
        if !head.contains("PRIVATE KEY") {
            continue;
        }
        let out = out.get_or_insert_default();
        out.push_str(&text[copied..start]);
        out.push_str(STANDS_FOR_IT);
        let end = text[from..].find("-----END ").map_or(text.len(), |at| from + at);
        copied = text[end..].find('\n').map_or(text.len(), |at| end + at);
        from = copied;
    }
    out.map(|out| out + &text[copied..])
}

/// Runs of characters that keys are made of.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/');
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_part)?;
        let length = text[start..].find(|c| !is_part(c)).unwrap_or(text.len() - start);
        at = start + length;
        Some((start, text[start..at].trim_end_matches(['.', '/', '-'])))
    })
}

fn is_key(word: &str) -> bool {
    let known = PREFIXES.iter().any(|(prefix, least)| {
        word.strip_prefix(prefix).is_some_and(|rest| rest.len() >= *least && is_varied(rest))
    });
    known || is_jwt(word)
}

fn is_jwt(word: &str) -> bool {
    let mut parts = word.split('.');
    let head = parts.next().unwrap_or_default();
    head.starts_with("eyJ") && head.len() > 10 && parts.filter(|part| part.len() > 8).count() == 2
}

fn is_label(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    LABELS.iter().any(|label| word == *label || word.ends_with(&format!("_{label}")))
}

/// `authorization: bearer …`, `token is …`.
fn is_label_like(word: &str) -> bool {
    matches!(word, "is" | "Bearer" | "bearer" | "Basic")
}

/// Long, and of more than one kind of character, as no word of a language is.
fn is_random(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(&test);
    word.len() >= 16
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && is_varied(word)
        && !word.contains('/')
}

/// `xxxxxxxx` stands for a key, and is none.
fn is_varied(word: &str) -> bool {
    let mut seen = [false; 128];
    word.bytes().for_each(|b| seen[usize::from(b & 0x7f)] = true);
    seen.iter().filter(|seen| **seen).count() >= 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_known_services_and_labelled_values_are_taken_out() {
        for (text, expected) in [
            ("use ghp_0123456789abcdefghijABCDEFGHIJ012345 here", "use [redacted] here"),
            ("key: sk-proj-A1b2C3d4E5f6G7h8I9j0K1l2.", "key: [redacted]."),
            ("Authorization: Bearer abcDEF0123456789xyz", "Authorization: Bearer [redacted]"),
            ("DB_PASSWORD=hunter2hunter2Long9", "DB_PASSWORD=[redacted]"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz", "jwt [redacted]"),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ] {
            assert_eq!(redact(text), expected);
        }
    }

    #[test]
    fn a_private_key_goes_as_a_whole() {
        let text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234\n-----END RSA PRIVATE KEY-----\nb";
        let out = redact(text);
        assert!(!out.contains("MIIE") && out.ends_with("\nb"), "{out}");
    }

    #[test]
    fn words_about_credentials_are_left_alone() {
        for text in [
            "The API token to use, such as `ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`.",
            "Set the password of the user. Needs a token from https://example.com/settings/tokens/new1234567890",
            "sk-learn is a library; see skip-this-long-identifier-with-words",
            "commit 4bf92f3577b34da6a3ce929d0e0e4736 of the repository",
            "",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(_)), "{}", redact(text));
        }
    }
}
