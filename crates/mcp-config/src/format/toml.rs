//! Parses TOML into the common tree.

use toml_edit::{Document, Item, TableLike, Value as Toml};

use super::node::{Member, Node, Span, SyntaxError, Value};

pub(crate) fn parse(text: &str) -> Result<Node<'_>, SyntaxError> {
    let document = Document::parse(text).map_err(|error| {
        // The parser's message names the token found and expected, not the rest of the line.
        let found = format!("text that is not TOML: {}", error.message().replace('\n', ", "));
        SyntaxError::new(error.span().map_or(0, |span| span.start), found, "")
    })?;
    let whole = Span { start: 0, end: text.len() };
    Ok(Node { span: whole, value: table(document.as_table(), whole) })
}

fn table(table: &dyn TableLike, around: Span) -> Value<'static> {
    let members = table.iter().filter(|(_, item)| !item.is_none()).map(|(name, item)| {
        let key_span = table.key(name).and_then(toml_edit::Key::span).map_or(around, span);
        Member { key: name.to_owned().into(), key_span, value: node(item, key_span) }
    });
    Value::Object(members.collect())
}

fn node(item: &Item, around: Span) -> Node<'static> {
    let here = item.span().map_or(around, span);
    let value = match item {
        Item::None => Value::Null,
        Item::Value(value) => scalar(value, here),
        Item::Table(inner) => table(inner, here),
        Item::ArrayOfTables(tables) => {
            let item = |inner: &toml_edit::Table| {
                let here = inner.span().map_or(here, span);
                Node { span: here, value: table(inner, here) }
            };
            Value::Array(tables.iter().map(item).collect())
        }
    };
    Node { span: here, value }
}

fn scalar(value: &Toml, around: Span) -> Value<'static> {
    match value {
        Toml::String(text) => Value::String(text.value().clone().into()),
        Toml::Integer(number) => Value::Number(number.value().to_string().into()),
        Toml::Float(number) => Value::Number(number.value().to_string().into()),
        Toml::Boolean(yes) => Value::Bool(*yes.value()),
        // No setting is a date; in unknown fields it is preserved as text.
        Toml::Datetime(date) => Value::String(date.value().to_string().into()),
        Toml::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| {
                    let here = item.span().map_or(around, span);
                    Node { span: here, value: scalar(item, here) }
                })
                .collect(),
        ),
        Toml::InlineTable(inner) => table(inner, around),
    }
}

fn span(range: std::ops::Range<usize>) -> Span {
    Span { start: range.start, end: range.end }
}
