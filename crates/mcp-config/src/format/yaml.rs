//! Parses YAML into the common tree.

use std::{borrow::Cow, collections::HashMap};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use super::node::{MAX_DEPTH, Member, Node, Span, SyntaxError, Value};

/// The maximum number of nodes that aliases may expand to.
const MAX_ALIASED: usize = 100_000;

pub(crate) fn parse(text: &str) -> Result<Node<'_>, SyntaxError> {
    let mut builder = Builder {
        offsets: Offsets::new(text),
        open: Vec::new(),
        root: None,
        anchors: HashMap::new(),
        aliased: 0,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let found = format!("text that is not YAML: {}", error.info());
            SyntaxError::new(builder.offsets.of(error.marker()), found, "")
        })?;
        let span =
            Span { start: builder.offsets.of(&span.start), end: builder.offsets.of(&span.end) };
        builder.take(event, span)?;
    }
    let empty = Span { start: 0, end: 0 };
    Ok(builder.root.unwrap_or(Node { span: empty, value: Value::Null }))
}

/// Maps character offsets of the parser to byte offsets of spans.
struct Offsets(Option<Vec<usize>>, usize);

impl Offsets {
    fn new(text: &str) -> Self {
        let table = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        Self(table, text.len())
    }

    fn of(&self, marker: &Marker) -> usize {
        match &self.0 {
            Some(table) => table.get(marker.index()).copied().unwrap_or(self.1),
            None => marker.index().min(self.1),
        }
    }
}

struct Builder<'a> {
    offsets: Offsets,
    open: Vec<Open<'a>>,
    root: Option<Node<'a>>,
    anchors: HashMap<usize, Node<'a>>,
    aliased: usize,
}

/// An open collection.
#[derive(Default)]
struct Open<'a> {
    anchor: usize,
    start: usize,
    end: usize,
    members: Vec<Member<'a>>,
    items: Vec<Node<'a>>,
    /// In a mapping: the key whose value comes next.
    key: Option<(Cow<'a, str>, Span)>,
    mapping: bool,
}

impl<'a> Builder<'a> {
    fn take(&mut self, event: Event<'a>, span: Span) -> Result<(), SyntaxError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let value = if plain { scalar(text) } else { Value::String(text) };
                self.value(Node { span, value }, anchor)
            }
            Event::Alias(anchor) => {
                let fail = |found, expected| SyntaxError::new(span.start, found, expected);
                let node = self.anchors.get(&anchor).cloned();
                let mut node = node.ok_or_else(|| {
                    fail("an alias inside its own anchor", "an anchor that is complete")
                })?;
                self.aliased += count(&node);
                if self.aliased > MAX_ALIASED {
                    return Err(fail("too many aliases", "a configuration file"));
                }
                node.span = span;
                self.value(node, 0)
            }
            Event::SequenceStart(anchor, _) => self.start(anchor, span, false),
            Event::MappingStart(anchor, _) => self.start(anchor, span, true),
            Event::SequenceEnd | Event::MappingEnd => self.finish(span),
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(SyntaxError::new(span.start, "a second document", "one document in a file"))
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, anchor: usize, span: Span, mapping: bool) -> Result<(), SyntaxError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(SyntaxError::too_deep(span.start));
        }
        let Span { start, end } = span;
        self.open.push(Open { anchor, start, end, mapping, ..Open::default() });
        Ok(())
    }

    fn finish(&mut self, span: Span) -> Result<(), SyntaxError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        // A block collection ends with its last child, because its end event is at the next token. A flow
        // collection ends with its bracket; its end event may include a comment after it.
        let flow = span.end > span.start;
        let end = if flow { span.start + 1 } else { open.end };
        let value = if open.mapping {
            Value::Object(open.members.into())
        } else {
            Value::Array(open.items.into())
        };
        self.value(Node { span: Span { start: open.start, end }, value }, open.anchor)
    }

    fn value(&mut self, node: Node<'a>, anchor: usize) -> Result<(), SyntaxError> {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.end = open.end.max(node.span.end);
        if !open.mapping {
            open.items.push(node);
            return Ok(());
        }
        if let Some((key, key_span)) = open.key.take() {
            open.members.push(Member { key, key_span, value: node });
        } else {
            let key = match node.value {
                Value::String(text) | Value::Number(text) => text,
                Value::Bool(yes) => Cow::Borrowed(if yes { "true" } else { "false" }),
                Value::Null => Cow::Borrowed("null"),
                Value::Array(_) | Value::Object(_) => {
                    let start = node.span.start;
                    return Err(SyntaxError::new(start, "a collection as a key", "a word"));
                }
            };
            open.key = Some((key, node.span));
        }
        Ok(())
    }
}

/// Resolves a plain scalar by the core schema, as far as configuration needs it.
fn scalar(text: Cow<'_, str>) -> Value<'_> {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        other => {
            let digits = other.strip_prefix('-').unwrap_or(other);
            let starts = digits.starts_with(|c: char| c.is_ascii_digit());
            // Only numbers in JSON syntax: the other YAML forms are rarely intended.
            if starts && serde_json::from_str::<f64>(other).is_ok() {
                Value::Number(text)
            } else {
                Value::String(text)
            }
        }
    }
}

fn count(node: &Node<'_>) -> usize {
    1 + match &node.value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.iter().map(|member| 1 + count(&member.value)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_keys_and_positions() {
        let text = "a: 1\nb:\n  - yes\n  - 'true'\n  - true\nc: {d: ~, é: x}\n";
        let root = parse(text).unwrap();
        assert_eq!(
            root.to_json(),
            serde_json::json!({"a": 1, "b": ["yes", "true", true], "c": {"d": null, "é": "x"}})
        );
        let inner = root.path(&["c", "é"]).unwrap().span;
        assert_eq!(&text[inner.start..inner.end], "x");
        let flow = root.get("c").unwrap().span;
        assert_eq!(&text[flow.start..flow.end], "{d: ~, é: x}");
    }

    #[test]
    fn aliases_are_resolved_up_to_a_limit() {
        assert_eq!(
            parse("a: &x [1]\nb: *x\n").unwrap().to_json(),
            serde_json::json!({"a": [1], "b": [1]})
        );
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let alias = format!("*a{}, ", level - 1).repeat(10);
            bomb = format!("{bomb}a{level}: &a{level} [{alias}]\n");
        }
        assert!(parse(&bomb).unwrap_err().found.contains("too many aliases"));
        assert!(parse("a: &a [*a]").is_err());
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
