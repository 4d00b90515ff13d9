//! Edits JSON in place: a new value takes the indentation, line ends and commas of the text around it.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{
    operation::{EditError, NewValue, Operation},
    text::{line_start, splice},
};
use crate::format::{Member, Node, Span, parse_json};

pub(super) fn apply(text: &str, operation: &Operation) -> Result<String, EditError> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let fresh_file = text.trim().is_empty();
    let text = if fresh_file { "{\n}\n" } else { text };
    let edited = match operation {
        Operation::Set(path, value) => set(text, path, value)?,
        Operation::Remove(path) => {
            let mut text = text.to_owned();
            // Remove every duplicate of the key: removing only the last would make the first take effect.
            while let Some(shorter) = remove(&text, path)? {
                text = shorter;
            }
            text
        }
    };
    Ok(format!("{mark}{edited}"))
}

fn set(text: &str, path: &[String], value: &NewValue) -> Result<String, EditError> {
    let (root, _) = parse_json(text)?;
    let style = Style::of(text, &root);
    let mut node = &root;
    for (depth, key) in path.iter().enumerate() {
        if node.members().is_none() {
            return Err(EditError::Awkward("expected an object, found another value"));
        }
        if let Some(next) = node.get(key) {
            node = next;
        } else {
            let value = value.clone().nested(&path[depth + 1..]);
            return Ok(insert(text, node, key, &value, &style));
        }
    }
    let own_indent = line_indent(text, node.span.start);
    let lines = text[node.span.start..node.span.end].contains('\n');
    let rendered = match value {
        NewValue::Value(Json::Array(items))
            if lines && node.items().is_some() && !items.is_empty() =>
        {
            style.spread(items, own_indent)
        }
        value => style.render(value, own_indent, !lines && node.members().is_some()),
    };
    Ok(splice(text, node.span, &rendered))
}

/// Adds a member at the end of `object`.
fn insert(text: &str, object: &Node<'_>, key: &str, value: &NewValue, style: &Style) -> String {
    let members = object.members().unwrap_or_default();
    let Span { start, end } = object.span;
    let own_indent = line_indent(text, start);
    let Some(last) = members.last() else {
        let child = format!("{own_indent}{}", style.unit);
        let member = format!("{}: {}", quoted(key), style.render(value, &child, style.compact));
        let inside = Span { start: start + 1, end: end - 1 };
        let top = Span { end: inside.start, ..inside };
        let newline = style.newline;
        return match text[inside.start..inside.end].trim() {
            _ if style.compact => splice(text, top, &member),
            "" => splice(text, inside, &format!("{newline}{child}{member}{newline}{own_indent}")),
            _ => splice(text, top, &format!("{newline}{child}{member}")),
        };
    };
    let first = members[0].key_span.start;
    let on_own_lines = text[start..first].contains('\n');
    let comma = next_comma(text, last.value.span.end);
    let (lead, child) = if on_own_lines {
        let child = line_indent(text, first);
        (format!("{}{child}", style.newline), child)
    } else {
        (if style.tight { String::new() } else { " ".to_owned() }, own_indent)
    };
    let member = format!(
        "{lead}{}:{}{}",
        quoted(key),
        style.after_colon(),
        style.render(value, child, !on_own_lines)
    );
    let after = comma.map_or(last.value.span.end, |comma| comma + 1);
    // A comment on the same line belongs to the previous member.
    let place = if on_own_lines { same_line_comment_end(text, after) } else { after };
    let mut edited = text.to_owned();
    edited.insert_str(place, &if comma.is_some() { member + "," } else { member });
    if comma.is_none() {
        edited.insert(last.value.span.end, ',');
    }
    edited
}

/// Removes the member at `path`; `None` if it does not exist.
fn remove(text: &str, path: &[String]) -> Result<Option<String>, EditError> {
    let (root, _) = parse_json(text)?;
    let Some((key, parents)) = path.split_last() else { return Ok(None) };
    let Some(object) = root.path(parents) else { return Ok(None) };
    let members = object.members().unwrap_or_default();
    let Some(index) = members.iter().rposition(|member| member.key == *key) else {
        return Ok(None);
    };
    let mut cuts = vec![extent(text, &members[index])];
    if index > 0 && next_comma(text, members[index].value.span.end).is_none() {
        // For the last of several members, remove the preceding comma too, across any comments.
        if let Some(comma) = next_comma(text, members[index - 1].value.span.end) {
            cuts.push(Span { start: comma, end: comma + 1 });
        }
    }
    let mut edited = text.to_owned();
    for cut in cuts {
        edited.replace_range(cut.start..cut.end, "");
    }
    if members.len() == 1 {
        let close = object.span.end - (text.len() - edited.len());
        let inside = object.span.start + 1..close - 1;
        if edited[inside.clone()].trim().is_empty() {
            edited.replace_range(inside, "");
        }
    }
    Ok(Some(edited))
}

/// The span to remove with a member: its comma, and the rest of its line if nothing else is on it.
fn extent(text: &str, member: &Member<'_>) -> Span {
    let mut start = member.key_span.start;
    let comma = next_comma(text, member.value.span.end);
    let mut end = comma.map_or(member.value.span.end, |comma| comma + 1);
    let before = &text[..start];
    let line_start = line_start(text, start);
    let alone_before = text[line_start..start].trim().is_empty() && line_start > 0;
    let rest_end = same_line_comment_end(text, end);
    let alone_after = text[rest_end..].starts_with(['\r', '\n']);
    if alone_before && alone_after {
        start = line_start;
        end = rest_end + text[rest_end..].find('\n').map_or(0, |newline| newline + 1);
    } else {
        end += text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
        if comma.is_none() {
            // Last on a shared line: also remove the space after the previous comma.
            start = before.trim_end_matches([' ', '\t']).len();
            end = member.value.span.end;
        }
    }
    Span { start, end }
}

/// The comma after `from`, with only white space and comments between.
fn next_comma(text: &str, from: usize) -> Option<usize> {
    let at = skip_trivia(text, from, false);
    text[at..].starts_with(',').then_some(at)
}

/// The end of the comments on the line of `from`; `from` itself if there is none.
fn same_line_comment_end(text: &str, from: usize) -> usize {
    let end = skip_trivia(text, from, true);
    if text[from..end].trim().is_empty() { from } else { text[..end].trim_end().len() }
}

/// Skips white space and comments, optionally not past the end of the line.
fn skip_trivia(text: &str, from: usize, one_line: bool) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let blank = |c: char| c == ' ' || c == '\t' || (!one_line && (c == '\n' || c == '\r'));
        let length = if rest.starts_with(blank) {
            rest.len() - rest.trim_start_matches(blank).len()
        } else if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            match rest.find("*/") {
                Some(close) if !one_line || !rest[..close].contains('\n') => close + 2,
                _ => return at,
            }
        } else {
            return at;
        };
        at += length;
    }
}

fn line_indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// The formatting of the existing file.
struct Style {
    newline: &'static str,
    unit: String,
    /// Whether the whole document is on one line.
    compact: bool,
    /// Whether it also has no spaces.
    tight: bool,
}

impl Style {
    fn of(text: &str, root: &Node<'_>) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.members().and_then(|members| members.first());
        let compact = first.is_some() && !text[root.span.start..root.span.end].contains('\n');
        let tight =
            compact && first.is_some_and(|first| first.value.span.start == first.key_span.end + 1);
        let indent = first.map(|first| line_indent(text, first.key_span.start)).unwrap_or_default();
        let unit = if indent.is_empty() { "  ".to_owned() } else { indent.to_owned() };
        Self { newline, unit, compact, tight }
    }

    fn after_colon(&self) -> &'static str {
        if self.tight { "" } else { " " }
    }

    fn render(&self, value: &NewValue, indent: &str, inline: bool) -> String {
        let Some(members) = value.members() else { return self.scalar(&value.clone().into_json()) };
        let inner = format!("{indent}{}", self.unit);
        let (open, gap, close) = match (inline, self.tight) {
            (true, true) => (String::new(), ",".to_owned(), String::new()),
            (true, false) => (" ".to_owned(), ", ".to_owned(), " ".to_owned()),
            (false, _) => {
                let line = format!("{}{inner}", self.newline);
                (line.clone(), format!(",{line}"), format!("{}{indent}", self.newline))
            }
        };
        let member = |(key, value): &(&str, Cow<'_, NewValue>)| {
            format!("{}:{}{}", quoted(key), self.after_colon(), self.render(value, &inner, inline))
        };
        let members: Vec<String> = members.iter().map(member).collect();
        format!("{{{open}{}{close}}}", members.join(&gap))
    }

    /// An array with one line per item, if the old one was written like that.
    fn spread(&self, items: &[Json], indent: &str) -> String {
        let line = format!("{}{indent}{}", self.newline, self.unit);
        let items: Vec<String> = items.iter().map(|item| format!("{line}{item}")).collect();
        format!("[{}{}{indent}]", items.join(","), self.newline)
    }

    /// Anything but an object with members, on one line.
    fn scalar(&self, value: &Json) -> String {
        match value {
            Json::Array(items) => {
                let items: Vec<String> = items.iter().map(Json::to_string).collect();
                format!("[{}]", items.join(if self.tight { "," } else { ", " }))
            }
            other => other.to_string(),
        }
    }
}
