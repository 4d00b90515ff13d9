//! The operators of the query language.

use super::{
    kind::Kind,
    words::{self, Mark, MarkKind},
};
use crate::text::fold;

pub(super) fn parse(text: &str) -> Kind {
    let text = text.trim();
    if let Some(list) = strip_operator(text, "select:") {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        return Kind::Select(names.map(str::to_owned).collect());
    }
    let mut reader = Reader::default();
    reader.read(text);
    let mut words = words::read(&reader.plain, &reader.marks);
    words.servers = reader.servers;
    Kind::Words(words)
}

/// Removes operators, leaving plain text with marks.
#[derive(Default)]
struct Reader {
    plain: String,
    marks: Vec<Mark>,
    servers: Vec<String>,
}

impl Reader {
    fn read(&mut self, text: &str) {
        let mut rest = text;
        let mut at_start = true;
        while let Some(c) = rest.chars().next() {
            if at_start && let Some(after) = self.operator(rest) {
                rest = after;
                self.plain.push(' ');
                continue;
            }
            if let Some((inside, after)) = quoted(rest) {
                self.mark(inside, MarkKind::Quoted);
                rest = after;
                at_start = true;
                continue;
            }
            at_start = c.is_whitespace();
            self.plain.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }

    /// Parses `+word`, `+"words"` or `server:name` at the start of `text` and returns the rest.
    fn operator<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        if let Some(after) = text.strip_prefix('+') {
            let (inside, rest) = quoted(after).unwrap_or_else(|| split_word(after));
            // A telephone number or a sum is not an operator.
            if !inside.chars().next().is_some_and(char::is_alphabetic) {
                return None;
            }
            self.mark(inside, MarkKind::Required);
            return Some(rest);
        }
        let value = strip_operator(text, "server:")?;
        let (name, rest) = quoted(value).unwrap_or_else(|| split_word(value));
        let key = fold::key(name);
        if key.is_empty() {
            return None;
        }
        self.servers.push(key);
        Some(rest)
    }

    fn mark(&mut self, inside: &str, kind: MarkKind) {
        self.plain.push(' ');
        let start = self.plain.len();
        self.plain.push_str(inside);
        self.marks.push(Mark { start, end: self.plain.len(), kind });
        self.plain.push(' ');
    }
}

/// The rest after `operator` at the start of `text`, ignoring case.
fn strip_operator<'a>(text: &'a str, operator: &str) -> Option<&'a str> {
    let head = text.get(..operator.len())?;
    head.eq_ignore_ascii_case(operator).then(|| &text[operator.len()..])
}

/// A text in double quotes at the start of `text`, and the rest. An unclosed quote does not count.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let after = text.strip_prefix(['"', '“', '”'])?;
    let end = after.find(['"', '“', '”'])?;
    let inside = &after[..end];
    let close = after[end..].chars().next().map_or(0, char::len_utf8);
    Some((inside, &after[end + close..]))
}

fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}
