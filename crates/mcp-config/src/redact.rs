//! Command lines as they may be shown: people put keys in arguments.

use std::fmt;

use crate::{diagnostic::printable, signature::shown_url, template::Template};

const REDACTED: &str = "[redacted]";

/// Words that make an option's value private, wherever in its name they stand.
const PRIVATE: [&str; 8] =
    ["key", "token", "secret", "passw", "pwd", "auth", "credential", "header"];

/// The arguments, safe to show: what `--api-key`, `TOKEN=` and their like are given is left out,
/// unless it is a variable; addresses come without user and query.
pub(crate) fn shown_args<'t>(args: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut after_private = false;
    let mut shown = Vec::new();
    for arg in args {
        let value_of_private = after_private && !arg.starts_with("--");
        after_private = false;
        shown.push(if value_of_private {
            shown_value(arg)
        } else if let Some((name, value)) = arg.split_once('=').filter(|(n, _)| is_private(n)) {
            format!("{}={}", printable(name), shown_value(value))
        } else {
            after_private = arg.starts_with('-') && is_private(arg);
            printable(&if arg.contains("://") { shown_url(arg) } else { arg.to_owned() })
        });
    }
    shown
}

fn is_private(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // A long text with an `=` in it is no option's name.
    name.len() <= 64 && PRIVATE.iter().any(|word| name.contains(word))
}

/// `${NAME}` says where a value comes from, not what it is.
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
        // Quotes may hide where an argument ends: then only the program is shown.
        let count = if line.contains(['"', '\'', '\\']) { 1 } else { usize::MAX };
        let mut shown = shown_args(line.split_whitespace().take(count));
        if count == 1 {
            shown.push(REDACTED.to_owned());
        }
        fmt::Debug::fmt(&shown.join(" "), out)
    }
}

/// A word a person may have mistyped; anything longer or stranger may be a secret in the wrong place.
pub(crate) fn shown_word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=16).contains(&text.len()) && text.bytes().all(plain) {
        format!("`{text}`")
    } else {
        "another text".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_private_options_are_left_out() {
        for (line, shown) in [
            (&["-y", "server", "--port", "80"][..], "-y server --port 80"),
            (&["--api-key", "s3cret", "x"], "--api-key [redacted] x"),
            (&["--API_TOKEN=s3cret"], "--API_TOKEN=[redacted]"),
            (&["-e", "DB_PASSWORD=s3cret"], "-e DB_PASSWORD=[redacted]"),
            (&["--header", "Authorization: Bearer s3cret"], "--header [redacted]"),
            (&["--key", "${KEY}", "--key=${KEY:-s3cret}"], "--key ${KEY} --key=[redacted]"),
            (&["--no-auth", "--port", "80"], "--no-auth --port 80"),
            (&["--secret", "-s3cret"], "--secret [redacted]"),
            (&["https://me:s3cret@h/mcp?k=s3cret"], "https://h/mcp?…"),
            (&["a\u{1b}[2J"], "a\\u{1b}[2J"),
        ] {
            assert_eq!(shown_args(line.iter().copied()).join(" "), shown);
        }
    }

    #[test]
    fn only_short_plain_words_are_repeated() {
        assert_eq!(shown_word("oauth2"), "`oauth2`");
        for text in ["", "Bearer x", "ghp_abcdef", "abcdefghijklmnopq", "\u{1b}[2J"] {
            assert_eq!(shown_word(text), "another text");
        }
    }
}
