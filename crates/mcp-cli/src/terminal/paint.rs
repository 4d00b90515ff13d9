//! Lines of coloured parts. Every part is sanitized before it is coloured.

use std::borrow::Cow;

use mcp_safe::text::strip;

/// The colour of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Warn,
}

impl Paint {
    /// Returns `text` in this colour.
    pub(crate) fn of(self, text: impl Into<String>) -> Line {
        Line(vec![(text.into(), self)])
    }

    /// The parameter of the `SGR` escape sequence.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
            Self::Warn => Some("33"),
        }
    }
}

/// A line for the terminal. Its only escape sequences are those of its colours.
#[derive(Debug, Default)]
pub(crate) struct Line(Vec<(String, Paint)>);

impl Line {
    /// Appends `rest`.
    pub(crate) fn then(mut self, rest: impl Into<Self>) -> Self {
        self.0.extend(rest.into().0);
        self
    }

    /// Renders the line, with or without colour.
    pub(crate) fn render(&self, colour: bool) -> String {
        let mut out = String::new();
        for (text, paint) in &self.0 {
            let text = strip(text);
            match paint.code().filter(|_| colour && !text.is_empty()) {
                Some(code) => out.extend(["\u{1b}[", code, "m", &text, "\u{1b}[0m"]),
                None => out.push_str(&text),
            }
        }
        out
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Paint::Plain.of(text)
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Paint::Plain.of(text)
    }
}

impl From<&String> for Line {
    fn from(text: &String) -> Self {
        Paint::Plain.of(text)
    }
}

impl From<Cow<'_, str>> for Line {
    fn from(text: Cow<'_, str>) -> Self {
        Paint::Plain.of(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paints_write_escape_sequences() {
        let line = Paint::Bad.of("a\u{1b}[2Jb").then("\u{9b}31mc\u{202e}\u{2028}\u{ad}\rd");
        assert_eq!(line.render(true), "\u{1b}[31ma[2Jb\u{1b}[0m31mcd");
        assert_eq!(line.render(false), "a[2Jb31mcd");
    }

    #[test]
    fn empty_parts_are_not_painted() {
        assert_eq!(Paint::Bad.of("\u{200b}").then(Paint::Plain.of("x")).render(true), "x");
    }
}
