//! Splicing YAML, line by line for block mappings; a flow mapping is rewritten as a whole.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use super::{EditError, Fresh, Operation};
use crate::text::{Member, Node, Span, Value, parse_yaml};

pub(super) fn apply(text: &str, operation: &Operation) -> Result<String, EditError> {
    let edited = match operation {
        Operation::Set(path, value) => set(text, path, value)?,
        Operation::Remove(path) => remove(text, path)?,
    };
    // Line ends as the file has them.
    Ok(if text.contains("\r\n") {
        edited.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        edited
    })
}

fn parse(text: &str) -> Result<Node<'_>, EditError> {
    parse_yaml(text).map_err(|error| EditError::Unreadable(format!("found {}", error.found)))
}

fn set(text: &str, path: &[String], value: &Fresh) -> Result<String, EditError> {
    let root = parse(text)?;
    if matches!(root.value, Value::Null) {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{}", lines(&value.clone().nested(path), 0)));
    }
    let mut node = &root;
    for (depth, key) in path.iter().enumerate() {
        if is_flow(text, node) {
            return rewrite_flow(text, node, |json| {
                put_json(json, &path[depth..], value.clone().into_json());
            });
        }
        let Some(members) = node.members() else {
            return Err(EditError::Awkward("something else stands where a mapping should"));
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
    let root = parse(text)?;
    let mut node = &root;
    for (depth, key) in path.iter().enumerate() {
        if is_flow(text, node) {
            return rewrite_flow(text, node, |json| remove_json(json, &path[depth..]));
        }
        let Some(member) = node.member(key) else { return Ok(text.to_owned()) };
        if depth + 1 == path.len() {
            let Span { start, end } = own_lines(text, member)?;
            let mut edited = text.to_owned();
            if node.members().is_some_and(|members| members.len() == 1) && depth > 0 {
                // An empty block mapping is no mapping; say so.
                let indent = " ".repeat(column(text, member.key_span.start));
                edited.replace_range(start..end, &format!("{indent}{{}}\n"));
            } else {
                edited.replace_range(start..end, "");
            }
            return Ok(edited);
        }
        node = &member.value;
    }
    Ok(text.to_owned())
}

fn is_flow(text: &str, node: &Node<'_>) -> bool {
    node.members().is_some() && text[node.span.start..].starts_with('{')
}

fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The lines that belong to a member of a block mapping, line end included.
fn own_lines(text: &str, member: &Member<'_>) -> Result<Span, EditError> {
    let indent = column(text, member.key_span.start);
    let start = member.key_span.start - indent;
    if !text[start..member.key_span.start].trim().is_empty() {
        return Err(EditError::Awkward("the mapping begins in the middle of a line"));
    }
    let last = member.value.span.end.max(member.key_span.end);
    // A block scalar ends at the next token; the lines between belong to what follows.
    let content = text[..last].trim_end().len().max(member.key_span.end);
    let end = text[content..].find('\n').map_or(text.len(), |newline| content + newline + 1);
    Ok(Span { start, end })
}

fn append(text: &str, members: &[Member<'_>], key: &str, value: &Fresh) -> String {
    let (indent, at) = match (members.first(), members.last()) {
        (Some(first), Some(last)) => {
            let end = own_lines(text, last).map_or(text.len(), |lines| lines.end);
            (column(text, first.key_span.start), end)
        }
        _ => (0, text.len()),
    };
    let gap = if text[..at].ends_with('\n') || at == 0 { "" } else { "\n" };
    let block = lines(&value.clone().nested(&[key.to_owned()]), indent);
    let mut edited = text.to_owned();
    edited.insert_str(at, &format!("{gap}{block}"));
    edited
}

fn replace(text: &str, member: &Member<'_>, value: &Fresh) -> Result<String, EditError> {
    let old = &member.value;
    let there = &text[old.span.start..old.span.end];
    let on_one_line = !there.is_empty() && !there.contains('\n');
    let block = old.members().is_some() || old.items().is_some();
    let flow = there.starts_with(['{', '[']);
    let mut edited = text.to_owned();
    match value {
        Fresh::Value(value) if on_one_line && flow => {
            // JSON is flow style; a remark after it stays.
            edited.replace_range(old.span.start..old.span.end, &value.to_string());
        }
        Fresh::Value(value) if on_one_line && !block && !value.is_array() && !value.is_object() => {
            edited.replace_range(old.span.start..old.span.end, &scalar(value));
        }
        _ => {
            let Span { end, .. } = own_lines(text, member)?;
            let indent = column(text, member.key_span.start);
            let key_end = member.key_span.end;
            let colon = text[key_end..].find(':').map_or(key_end, |at| key_end + at + 1);
            edited.replace_range(colon..end, &after_key(value, indent));
        }
    }
    Ok(edited)
}

/// What follows `key:`, from the space or line end on.
fn after_key(value: &Fresh, indent: usize) -> String {
    match value {
        _ if value.members().is_some() => format!("\n{}", lines(value, indent + 2)),
        Fresh::Value(Json::Array(items)) if !items.is_empty() => {
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
fn lines(value: &Fresh, indent: usize) -> String {
    let pad = " ".repeat(indent);
    value.members().unwrap_or_default().iter().fold(String::new(), |mut out, (key, value)| {
        let _ = write!(out, "{pad}{}:{}", word(key), after_key(value, indent));
        out
    })
}

/// A value on one line. What is not a plain word is written as JSON, which YAML contains.
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
    change: impl FnOnce(&mut Json),
) -> Result<String, EditError> {
    let span = node.span;
    if text[span.start..span.end].contains(['&', '*', '#']) {
        return Err(EditError::Awkward("anchors, aliases or comments inside a flow mapping"));
    }
    let mut json = node.to_json();
    change(&mut json);
    let mut edited = text.to_owned();
    edited.replace_range(span.start..span.end, &json.to_string());
    Ok(edited)
}

fn put_json(json: &mut Json, path: &[String], value: Json) {
    let Some((key, rest)) = path.split_first() else { return };
    if !json.is_object() {
        *json = Json::Object(Map::new());
    }
    let Some(object) = json.as_object_mut() else { return };
    if rest.is_empty() {
        object.insert(key.clone(), value);
    } else {
        put_json(object.entry(key.clone()).or_insert(Json::Null), rest, value);
    }
}

fn remove_json(json: &mut Json, path: &[String]) {
    let Some((key, rest)) = path.split_first() else { return };
    let Some(object) = json.as_object_mut() else { return };
    if rest.is_empty() {
        object.remove(key);
    } else if let Some(inner) = object.get_mut(key) {
        remove_json(inner, rest);
    }
}
