//! Redacts command lines for display, because users put keys in arguments.

use std::fmt;

use mcp_safe::secrets::{REDACTED, is_secret_name};

use super::{address::shown_url, template::Template};
use crate::diagnostic::printable;

/// The arguments for display: values of `--api-key`, `TOKEN=` and similar are redacted unless they are a
/// variable, and URLs lose user and query.
pub(crate) fn shown_args<'t>(args: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut after_private = false;
    let mut shown = Vec::new();
    for arg in args {
        let value_of_private = after_private && !arg.starts_with("--");
        after_private = false;
        shown.push(if value_of_private {
            shown_value(arg)
        } else if let Some((name, value)) = arg.split_once('=').filter(|(n, _)| is_secret_name(n)) {
            format!("{}={}", printable(name), shown_value(value))
        } else {
            after_private = arg.starts_with('-') && is_secret_name(arg);
            printable(&if arg.contains("://") { shown_url(arg) } else { arg.to_owned() })
        });
    }
    shown
}

/// The value for display. `${NAME}` is kept, because it names the source and not the secret.
fn shown_value(value: &str) -> String {
    let name = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match name {
        Some(name) if name.strip_prefix("input:").unwrap_or(name).chars().all(plain) => {
            printable(value)
        }
        _ => REDACTED.to_owned(),
    }
}

/// Arguments, for `Debug`.
pub(crate) struct Args<'t>(pub(crate) &'t [Template]);

impl fmt::Debug for Args<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = shown_args(self.0.iter().map(Template::unexpanded));
        out.debug_list().entries(shown).finish()
    }
}

/// A whole command line in one text, for `Debug`.
pub(crate) struct Line<'t>(pub(crate) &'t Template);

impl fmt::Debug for Line<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.0.unexpanded();
        // Quotes may hide where an argument ends, so only the program is shown.
        let count = if line.contains(['"', '\'', '\\']) { 1 } else { usize::MAX };
        let mut shown = shown_args(line.split_whitespace().take(count));
        if count == 1 {
            shown.push(REDACTED.to_owned());
        }
        fmt::Debug::fmt(&shown.join(" "), out)
    }
}

/// A short plain word that may be a typo. Longer or unusual text may be a misplaced secret and is not
/// repeated.
pub(crate) fn shown_word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=16).contains(&text.len()) && text.bytes().all(plain) {
        format!("`{text}`")
    } else {
        "unknown text".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_options_are_redacted() {
        for (line, shown) in [
            (&["-y", "server", "--port", "80"][..], "-y server --port 80"),
            (&["--api-key", "s3cret", "x"], "--api-key [redacted] x"),
            (&["--API_TOKEN=s3cret"], "--API_TOKEN=[redacted]"),
            (&["-e", "DB_PASSWORD=s3cret"], "-e DB_PASSWORD=[redacted]"),
            (&["--header", "Authorization: Bearer s3cret"], "--header [redacted]"),
            (&["--key", "${KEY}", "--key=${KEY:-s3cret}"], "--key ${KEY} --key=[redacted]"),
            (&["--no-auth", "--port", "80"], "--no-auth --port 80"),
            (
                &["--pat", "s3cret", "SESSION_COOKIE=s3cret"],
                "--pat [redacted] SESSION_COOKIE=[redacted]",
            ),
            (&["--keyboard", "de", "--author=me"], "--keyboard de --author=me"),
            (&["--secret", "-s3cret"], "--secret [redacted]"),
            (&["https://me:s3cret@h/mcp?k=s3cret"], "https://h/mcp?…"),
            (&["a\u{1b}[2J"], "a\\u{1b}[2J"),
        ] {
            assert_eq!(shown_args(line.iter().copied()).join(" "), shown);
        }
    }

    #[test]
    fn only_short_plain_words_are_shown() {
        assert_eq!(shown_word("oauth2"), "`oauth2`");
        for text in ["", "Bearer x", "ghp_abcdef", "abcdefghijklmnopq", "\u{1b}[2J"] {
            assert_eq!(shown_word(text), "unknown text");
        }
    }
}
