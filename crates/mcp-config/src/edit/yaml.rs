//! Edits YAML in place, by lines for block mappings; a flow mapping is rewritten as a whole.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use super::{
    operation::{EditError, NewValue, Operation},
    text::{line_start, splice, with_line_ends_of},
};
use crate::format::{Format, Member, Node, Span, Value, parse};

pub(super) fn apply(text: &str, operation: &Operation) -> Result<String, EditError> {
    let edited = match operation {
        Operation::Set(path, value) => set(text, path, value)?,
        Operation::Remove(path) => remove(text, path)?,
    };
    Ok(with_line_ends_of(text, edited))
}

fn set(text: &str, path: &[String], value: &NewValue) -> Result<String, EditError> {
    let (root, _) = parse(text, Format::Yaml)?;
    if matches!(root.value, Value::Null) {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{}", lines(&value.clone().nested(path), 0)));
    }
    let mut node = &root;
    for (depth, key) in path.iter().enumerate() {
        if is_flow(text, node) {
            return rewrite_flow(text, node, &path[depth..], Some(value.clone().into_json()));
        }
        let Some(members) = node.members() else {
            return Err(EditError::Awkward("expected a mapping, found another value"));
        };
        let Some(member) = node.member(key) else {
            let value = value.clone().nested(&path[depth + 1..]);
            return Ok(append(text, members, key, &value));
        };
        let rest = &path[depth + 1..];
        let empty = matches!(member.value.value, Value::Null)
            || member.value.members().is_some_and(<[_]>::is_empty);
        if rest.is_empty() || empty {
            return replace(text, member, &value.clone().nested(rest));
        }
        node = &member.value;
    }
    Ok(text.to_owned())
}

fn remove(text: &str, path: &[String]) -> Result<String, EditError> {
    let (root, _) = parse(text, Format::Yaml)?;
    if root.path(path).is_none() {
        return Ok(text.to_owned());
    }
    let mut node = &root;
    for (depth, key) in path.iter().enumerate() {
        if is_flow(text, node) {
            return rewrite_flow(text, node, &path[depth..], None);
        }
        let Some(member) = node.member(key) else { return Ok(text.to_owned()) };
        if depth + 1 == path.len() {
            // An empty block mapping would read as null, so write `{}`.
            let emptied = node.members().is_some_and(|members| members.len() == 1) && depth > 0;
            let indent = " ".repeat(column(text, member.key_span.start));
            let rest = if emptied { format!("{indent}{{}}\n") } else { String::new() };
            return Ok(splice(text, own_lines(text, member)?, &rest));
        }
        node = &member.value;
    }
    Ok(text.to_owned())
}

fn is_flow(text: &str, node: &Node<'_>) -> bool {
    node.members().is_some() && text[node.span.start..].starts_with('{')
}

fn column(text: &str, at: usize) -> usize {
    at - line_start(text, at)
}

/// The lines of a member of a block mapping, including the line end.
fn own_lines(text: &str, member: &Member<'_>) -> Result<Span, EditError> {
    let indent = column(text, member.key_span.start);
    let start = member.key_span.start - indent;
    if !text[start..member.key_span.start].trim().is_empty() {
        return Err(EditError::Awkward("the mapping begins in the middle of a line"));
    }
    let last = member.value.span.end.max(member.key_span.end);
    // A block scalar ends at the next token; the lines in between belong to the next member.
    let content = text[..last].trim_end().len().max(member.key_span.end);
    let end = text[content..].find('\n').map_or(text.len(), |newline| content + newline + 1);
    Ok(Span { start, end })
}

fn append(text: &str, members: &[Member<'_>], key: &str, value: &NewValue) -> String {
    let (indent, at) = match (members.first(), members.last()) {
        (Some(first), Some(last)) => {
            let end = own_lines(text, last).map_or(text.len(), |lines| lines.end);
            (column(text, first.key_span.start), end)
        }
        _ => (0, text.len()),
    };
    let gap = if text[..at].ends_with('\n') || at == 0 { "" } else { "\n" };
    let block = lines(&value.clone().nested(&[key.to_owned()]), indent);
    splice(text, Span { start: at, end: at }, &format!("{gap}{block}"))
}

fn replace(text: &str, member: &Member<'_>, value: &NewValue) -> Result<String, EditError> {
    let old = &member.value;
    let there = &text[old.span.start..old.span.end];
    let on_one_line = !there.is_empty() && !there.contains('\n');
    let block = old.members().is_some() || old.items().is_some();
    let flow = there.starts_with(['{', '[']);
    Ok(match value {
        // JSON is valid flow style; a comment after it is preserved.
        NewValue::Value(value) if on_one_line && flow => splice(text, old.span, &value.to_string()),
        NewValue::Value(value)
            if on_one_line && !block && !value.is_array() && !value.is_object() =>
        {
            splice(text, old.span, &scalar(value))
        }
        _ => {
            let Span { end, .. } = own_lines(text, member)?;
            let indent = column(text, member.key_span.start);
            let key_end = member.key_span.end;
            let start = text[key_end..].find(':').map_or(key_end, |at| key_end + at + 1);
            splice(text, Span { start, end }, &after_key(value, indent))
        }
    })
}

/// The text after `key:`, starting with the space or line end.
fn after_key(value: &NewValue, indent: usize) -> String {
    match value {
        _ if value.members().is_some() => format!("\n{}", lines(value, indent + 2)),
        NewValue::Value(Json::Array(items)) if !items.is_empty() => {
            let pad = " ".repeat(indent + 2);
            items.iter().fold("\n".to_owned(), |mut out, item| {
                let _ = writeln!(out, "{pad}- {}", scalar(item));
                out
            })
        }
        other => format!(" {}\n", scalar(&other.clone().into_json())),
    }
}

/// A mapping as lines.
fn lines(value: &NewValue, indent: usize) -> String {
    let pad = " ".repeat(indent);
    value.members().unwrap_or_default().iter().fold(String::new(), |mut out, (key, value)| {
        let _ = write!(out, "{pad}{}:{}", word(key), after_key(value, indent));
        out
    })
}

/// A value on one line. Anything but a plain word is written as JSON, which is valid YAML.
fn scalar(value: &Json) -> String {
    match value {
        Json::String(text) => word(text),
        other => other.to_string(),
    }
}

fn word(text: &str) -> String {
    const SPECIAL: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_.+-".contains(&byte))
        && !SPECIAL.contains(&text.to_ascii_lowercase().as_str());
    if plain { text.to_owned() } else { Json::from(text).to_string() }
}

fn rewrite_flow(
    text: &str,
    node: &Node<'_>,
    path: &[String],
    value: Option<Json>,
) -> Result<String, EditError> {
    let span = node.span;
    if text[span.start..span.end].contains(['&', '*', '#']) {
        return Err(EditError::Awkward("anchors, aliases or comments inside a flow mapping"));
    }
    let mut json = node.to_json();
    put_json(&mut json, path, value);
    Ok(splice(text, span, &json.to_string()))
}

/// Sets the value at `path`, creating missing objects, or removes it.
fn put_json(json: &mut Json, path: &[String], value: Option<Json>) {
    let Some((key, rest)) = path.split_first() else { return };
    if !json.is_object() {
        *json = Json::Object(Map::new());
    }
    let Some(object) = json.as_object_mut() else { return };
    match (rest, value) {
        ([], Some(value)) => drop(object.insert(key.clone(), value)),
        ([], None) => drop(object.remove(key)),
        (rest, value) => put_json(object.entry(key.clone()).or_insert(Json::Null), rest, value),
    }
}
