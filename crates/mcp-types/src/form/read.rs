//! Parses the fields of a form from its schema.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema>

use mcp_jsonrpc::RawJson;

use super::{Choice, Field, FieldKind, FormError, TextFormat, value_of};

/// The most choices of a field. A longer list cannot be shown to a user.
const MOST_CHOICES: usize = 1_000;

/// Parses the fields of a flat object schema, in its order.
pub(crate) fn read_fields(schema: Option<&RawJson>) -> Result<Vec<Field>, FormError> {
    let Some(schema) = schema else { return Ok(Vec::new()) };
    let required: Vec<String> = member(schema, "required").unwrap_or_default();
    let properties = schema.get("properties").unwrap_or_else(RawJson::empty_object);
    let fields = properties.members().map(|(name, property)| {
        let Some(kind) = kind_of(&property) else { return Err(FormError { field: name }) };
        Ok(Field {
            title: member(&property, "title"),
            description: member(&property, "description"),
            is_required: required.contains(&name),
            default: property.get("default").and_then(|default| value_of(&default)),
            kind,
            name,
        })
    });
    fields.collect()
}

fn kind_of(property: &RawJson) -> Option<FieldKind> {
    let kind: Option<String> = member(property, "type");
    Some(match kind.as_deref() {
        Some("boolean") => FieldKind::Boolean,
        Some(kind @ ("number" | "integer")) => FieldKind::Number {
            is_integer: kind == "integer",
            minimum: member(property, "minimum"),
            maximum: member(property, "maximum"),
        },
        Some("array") => FieldKind::Many {
            choices: choices(&property.get("items")?)?,
            min_items: member(property, "minItems"),
            max_items: member(property, "maxItems"),
        },
        // Choices need no type: some servers write only `enum` or `oneOf`.
        Some("string") | None => match choices(property) {
            Some(choices) => FieldKind::One(choices),
            None if kind.is_none() => return None,
            None => FieldKind::Text {
                format: member(property, "format").map(text_format),
                min_length: member(property, "minLength"),
                max_length: member(property, "maxLength"),
            },
        },
        Some(_) => return None,
    })
}

fn text_format(name: String) -> TextFormat {
    match name.as_str() {
        "email" => TextFormat::Email,
        "uri" => TextFormat::Uri,
        "date" => TextFormat::Date,
        "date-time" => TextFormat::DateTime,
        _ => TextFormat::Other(name),
    }
}

/// `enum` with `enumNames`, or `oneOf`/`anyOf` of constants with titles. `None` if there is neither.
fn choices(schema: &RawJson) -> Option<Vec<Choice>> {
    // `enumNames` is from 2025-06-18, which has no `oneOf`.
    if let Some(values) = member::<Vec<String>>(schema, "enum") {
        let mut titles = member::<Vec<String>>(schema, "enumNames").unwrap_or_default().into_iter();
        let choices = values.into_iter().map(|value| Choice { value, title: titles.next() });
        return Some(choices.take(MOST_CHOICES).collect());
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"))?;
    let titled: Vec<RawJson> = titled.decode().ok()?;
    let choices = titled.iter().filter_map(|choice| {
        Some(Choice { value: member(choice, "const")?, title: member(choice, "title") })
    });
    let choices: Vec<Choice> = choices.take(MOST_CHOICES).collect();
    (!choices.is_empty()).then_some(choices)
}

fn member<T: serde::de::DeserializeOwned>(object: &RawJson, name: &str) -> Option<T> {
    object.get(name)?.decode().ok()
}
