//! The list of shapes of credentials.

use std::borrow::Cow;

use super::{REDACTED, names::is_secret_member};

/// Prefixes of the keys of known services, with the minimum length of the rest.
const PREFIXES: &[(&str, usize)] = &[
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ATATT3x", 30),
    ("SG.", 30),
    ("dop_v1_", 30),
    ("figd_", 30),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghr_", 30),
    ("ghs_", 30),
    ("ghu_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("gsk_", 30),
    ("hf_", 30),
    ("hvs.", 20),
    ("lin_api_", 30),
    ("npm_", 30),
    ("ntn_", 30),
    ("pypi-", 30),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("shpat_", 30),
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("whsec_", 20),
    ("xapp-", 16),
    ("xoxa-", 16),
    ("xoxb-", 16),
    ("xoxe-", 16),
    ("xoxp-", 16),
    ("xoxr-", 16),
    ("xoxs-", 16),
    ("ya29.", 20),
];

/// The minimum length of a value that consists only of a key.
const SHORTEST_KEY: usize = 16;

/// Whether a whole value looks like a credential: a key of a known service, a long mix of letters and
/// digits, or a URL with user info. `production` and `/usr/bin` do not.
///
/// ```
/// use mcp_safe::secrets::looks_secret;
///
/// assert!(looks_secret("ghp0123456789abcdefg") && looks_secret("postgres://u:pw@h/db"));
/// assert!(!looks_secret("production") && !looks_secret("https://example.com/mcp"));
/// ```
pub fn looks_secret(value: &str) -> bool {
    let is_key = is_mixed(value) && !value.contains(['/', '\\', ' ']);
    let has_user = value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    is_key || has_user || matches!(redact(value), Cow::Owned(_))
}

/// `text` with everything that looks like a credential replaced by [`REDACTED`]: keys of known services,
/// JSON web tokens, private keys in PEM, and random values after the name of a secret.
///
/// ```
/// let text = mcp_safe::secrets::redact("use ghp_0123456789abcdefghijABCDEFGHIJ012345 for this");
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
    // The last word, ignoring `is`: `token is …`.
    let mut before = "";
    for (start, word) in words(text) {
        if is_known_key(word) || is_random(word) && is_label(before) {
            out.push_str(&text[copied..start]);
            out.push_str(REDACTED);
            copied = start + word.len();
        }
        if word != "is" {
            before = word;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Removes private keys in PEM with all their lines. A key without an end extends to the end of the text.
fn without_private_keys(text: &str) -> Option<String> {
    const BEGIN: &str = "-----BEGIN ";
    let mut out = None::<String>;
    let (mut copied, mut from) = (0, 0);
    while let Some(at) = text[from..].find(BEGIN) {
        let start = from + at;
        from = start + BEGIN.len();
        let head = text[from..].lines().next().unwrap_or_default();
        // `PRIVATE KEY`, `ENCRYPTED PRIVATE KEY` (<https://www.rfc-editor.org/rfc/rfc7468#section-10>) and older labels such
        // as `RSA PRIVATE KEY`. Certificates are public.
        if !head.contains("PRIVATE KEY") {
            continue;
        }
        let out = out.get_or_insert_default();
        out.push_str(&text[copied..start]);
        out.push_str(REDACTED);
        let end = text[from..].find("-----END ").map_or(text.len(), |at| from + at);
        copied = text[end..].find('\n').map_or(text.len(), |at| end + at);
        from = copied;
    }
    out.map(|out| out + &text[copied..])
}

/// Runs of characters that occur in keys.
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

fn is_known_key(word: &str) -> bool {
    // The shortest has a prefix of three characters and sixteen more.
    let is_service = |(prefix, least): &(&str, usize)| {
        word.strip_prefix(prefix).is_some_and(|rest| rest.len() >= *least && is_varied(rest))
    };
    word.len() > SHORTEST_KEY && (PREFIXES.iter().any(is_service) || is_jwt(word))
}

/// Whether a word is a JSON web token in its compact form, <https://www.rfc-editor.org/rfc/rfc7515#section-7.1>: `eyJ` is
/// base64url for `{"`, the beginning of its header.
fn is_jwt(word: &str) -> bool {
    let mut parts = word.split('.');
    let head = parts.next().unwrap_or_default();
    head.starts_with("eyJ") && head.len() > 10 && parts.filter(|part| part.len() > 8).count() == 2
}

/// The name of a secret, or the scheme of an `Authorization` header.
fn is_label(word: &str) -> bool {
    word.eq_ignore_ascii_case("basic") || !word.contains('/') && is_secret_member(word)
}

/// Whether a word is long and mixes kinds of characters, unlike words of a language.
fn is_random(word: &str) -> bool {
    is_mixed(word) && is_varied(word) && !word.contains('/')
}

fn is_mixed(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(&test);
    word.len() >= SHORTEST_KEY && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Whether a word has eight different characters: `xxxxxxxx` is a placeholder.
fn is_varied(word: &str) -> bool {
    let mut seen = [false; 128];
    word.bytes().for_each(|b| seen[usize::from(b & 0x7f)] = true);
    seen.iter().filter(|seen| **seen).count() >= 8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn service_keys_and_labelled_values_are_redacted() {
        for (text, expected) in [
            ("use ghp_0123456789abcdefghijABCDEFGHIJ012345 here", "use [redacted] here"),
            ("key: sk-proj-A1b2C3d4E5f6G7h8I9j0K1l2.", "key: [redacted]."),
            ("Authorization: Bearer abcDEF0123456789xyz", "Authorization: Bearer [redacted]"),
            ("authorization: Basic dXNlcjpwYXNzd29yZDEy", "authorization: Basic [redacted]"),
            ("the token is abcDEF0123456789xyz", "the token is [redacted]"),
            ("DB_PASSWORD=hunter2hunter2Long9", "DB_PASSWORD=[redacted]"),
            ("Cookie: abcDEF0123456789xyz", "Cookie: [redacted]"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz", "jwt [redacted]"),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ] {
            assert_eq!(redact(text), expected);
        }
    }

    #[test]
    fn private_pem_key_is_redacted_as_a_whole() {
        let text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234\n-----END RSA PRIVATE KEY-----\nb";
        let out = redact(text);
        assert!(!out.contains("MIIE") && out.ends_with("\nb"), "{out}");
    }

    #[test]
    fn text_about_credentials_is_not_redacted() {
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

    #[test]
    fn limits_of_shapes_are_exact() {
        let is_redacted = |text: &str| redact(text).contains(REDACTED);
        let varied = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
        let key = |prefix: &str, length: usize| format!("{prefix}{}", &varied[..length]);
        assert!(is_redacted(&key("ghp_", 30)) && !is_redacted(&key("ghp_", 29)));
        assert!(is_redacted(&key("AKIA", 16)) && !is_redacted(&key("AKIA", 15)));
        // Eight different characters make a key; fewer are a placeholder.
        assert!(is_redacted(&format!("ghp_{}", "abcdefgh".repeat(5))));
        assert!(!is_redacted(&format!("ghp_{}", "abcdefg".repeat(5))));
        let jwt = |head: &str, body: &str, end: &str| is_redacted(&format!("{head}.{body}.{end}"));
        assert!(jwt("eyJabcdefgh", "123456789", "123456789"));
        assert!(!jwt("eyJabcdefg", "123456789", "123456789"));
        assert!(!jwt("eyxabcdefgh", "123456789", "123456789"));
        assert!(!jwt("eyJabcdefgh", "12345678", "123456789"));
        assert!(!jwt("eyJabcdefgh", "123456789.123456789", "123456789"));
        let named = |value: &str| is_redacted(&format!("token {value}"));
        assert!(named("abcdefgh12345678") && !named("abcdefgh1234567"));
        assert!(!named("abcdefghijklmnopq") && !named("12345678901234567"));
        assert!(!named("abcdefgh/12345678"));
        assert!(!is_redacted("docs/token abcdefgh12345678"));
    }

    #[test]
    fn value_of_a_setting_is_secret_only_as_a_whole() {
        assert!(looks_secret("abcdefgh12345678") && !looks_secret("abcdefgh1234567"));
        for value in ["abcdefgh 12345678", "abcdefgh/12345678", r"abcdefgh\12345678", "a@b"] {
            assert!(!looks_secret(value), "{value}");
        }
        assert!(looks_secret("the token is abcdefgh12345678"));
        assert!(looks_secret("postgres://u:pw@h/db") && !looks_secret("https://example.com/mcp"));
    }

    #[test]
    fn text_around_private_keys_is_kept() {
        let text = "x -----BEGIN CERTIFICATE-----\nAAA\n-----END CERTIFICATE-----\ny \
            -----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nz \
            -----BEGIN EC PRIVATE KEY-----\nMIJ\n-----END EC PRIVATE KEY-----\nw";
        let expected = "x -----BEGIN CERTIFICATE-----\nAAA\n-----END CERTIFICATE-----\ny \
            [redacted]\nz [redacted]\nw";
        assert_eq!(redact(text), expected);
        assert_eq!(redact("a -----BEGIN PRIVATE KEY-----\nMII\nMII"), "a [redacted]");
        assert_eq!(redact("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----"), "[redacted]");
        let two = "x, token: abcDEF0123456789xyz. Then password=abcDEF0123456789xyz/, end";
        assert_eq!(redact(two), "x, token: [redacted]. Then password=[redacted]/, end");
    }

    proptest! {
        #[test]
        fn redaction_is_idempotent(text in "(token|Bearer|is|-----BEGIN |PRIVATE KEY|sk-|[a-z0-9]{1,24}|[ :=\n]|\\PC){0,12}") {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once), once.as_str());
        }

        #[test]
        fn keys_are_redacted_in_any_context(
            before in "[a-z .:\"]{0,20}[ \":=]",
            key in "[0-9]{8}[a-z]{8}[A-Z0-9]{14}",
            after in "[ \"',;)]\\PC{0,20}",
        ) {
            for prefix in ["sk-", "ghp_", "github_pat_", "xoxb-", "AKIA", "Bearer ", "password="] {
                let text = format!("{before}{prefix}{key}{after}");
                prop_assert!(!redact(&text).contains(&key), "{text}");
            }
        }
    }
}
