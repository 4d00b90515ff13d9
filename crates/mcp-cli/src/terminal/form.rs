//! Elicitation forms at the terminal, one line for each field.
//!
//! `mcp_types::form` reads the schema and checks the values; this module words the questions and the corrections.

use std::fmt::Write;

use mcp_client::{
    RawJson,
    types::form::{Choice, Field, FieldKind, FieldProblem, FieldValue, TextFormat},
};
use mcp_safe::secrets::is_secret_name;
use serde_json::{Value, json};

use crate::terminal::{input, out::brief};

/// The most choices that a question or a correction lists.
const LISTED: usize = 64;

/// The labels of the fields that the user must fill in.
pub(crate) fn needed(fields: &[Field]) -> Vec<String> {
    let needed = fields.iter().filter(|field| field.is_required && field.default.is_none());
    needed.map(|field| brief(field.label(), 80)).collect()
}

/// The answer that leaves every field as it is; `None` if a required field has no default.
pub(crate) fn defaults(fields: &[Field]) -> Option<RawJson> {
    let mut content = serde_json::Map::new();
    for field in fields {
        match &field.default {
            Some(value) => drop(content.insert(field.name.clone(), json!(value))),
            None if field.is_required => return None,
            None => {}
        }
    }
    RawJson::encode(&content).ok()
}

/// Asks the user for one field; `None` at the end of input.
pub(crate) async fn ask(field: &Field) -> Option<String> {
    let question = question(field);
    if is_secret(field) { input::secret(question).await } else { input::line(question).await }
}

/// The value of a typed line; `None` leaves the field out.
///
/// # Errors
/// The correction to show before the field is asked for again.
pub(crate) fn read(field: &Field, typed: &str) -> Result<Option<Value>, String> {
    if typed.is_empty() {
        return match &field.default {
            Some(default) => Ok(Some(json!(default))),
            None if field.is_required => Err("a value is required".into()),
            None => Ok(None),
        };
    }
    match field.parse(typed) {
        Ok(value) => Ok(Some(json!(value))),
        Err(error) => Err(correction(field, &error.problem)),
    }
}

fn correction(field: &Field, problem: &FieldProblem) -> String {
    match (problem, &field.kind) {
        (
            FieldProblem::NotAChoice(_),
            FieldKind::One(choices) | FieldKind::Many { choices, .. },
        ) => format!("one of {}", listed(choices, ", ")),
        (FieldProblem::Format(format), _) => example(format).unwrap_or_default().to_owned(),
        (problem, _) => problem.to_string(),
    }
}

/// Whether a field asks for a credential: it is marked, and the terminal does not echo it.
fn is_secret(field: &Field) -> bool {
    let is_password = matches!(
        &field.kind,
        FieldKind::Text { format: Some(TextFormat::Other(format)), .. } if format == "password"
    );
    is_password
        || is_secret_name(&field.name)
        || field.label().split_whitespace().any(is_secret_name)
}

fn question(field: &Field) -> String {
    let mark = if is_secret(field) { "(credential, not shown) " } else { "" };
    let mut text = format!("  {mark}{}", brief(field.label(), 80));
    if let Some(description) = &field.description {
        let _ = write!(text, " – {}", brief(description, 200));
    }
    match &field.kind {
        FieldKind::Boolean => text.push_str(" (yes or no)"),
        FieldKind::Number { is_integer: true, .. } => text.push_str(" (a whole number)"),
        FieldKind::Number { .. } => text.push_str(" (a number)"),
        FieldKind::One(choices) => drop(write!(text, " ({})", listed(choices, " or "))),
        FieldKind::Many { choices, .. } => {
            let _ = write!(text, " (any of {}, separated by commas)", listed(choices, ", "));
        }
        FieldKind::Text { format, .. } => {
            if let Some(example) = format.as_ref().and_then(example) {
                let _ = write!(text, " ({example})");
            }
        }
        _ => {}
    }
    match &field.default {
        Some(FieldValue::Text(default)) => drop(write!(text, " [{}]", brief(default, 80))),
        Some(default) => drop(write!(text, " [{}]", brief(&json!(default).to_string(), 80))),
        None if !field.is_required => text.push_str(" [leave out]"),
        None => {}
    }
    text + ": "
}

fn example(format: &TextFormat) -> Option<&'static str> {
    Some(match format {
        TextFormat::Email => "an address such as ada@example.com",
        TextFormat::Uri => "a URI such as https://example.com/a",
        TextFormat::Date => "a date such as 2026-03-31",
        TextFormat::DateTime => "a date and time such as 2026-03-31T12:30:00Z",
        _ => return None,
    })
}

fn listed(choices: &[Choice], between: &str) -> String {
    let shown = choices.iter().take(LISTED).map(|choice| match &choice.title {
        Some(title) if *title != choice.value => {
            format!("{} = {}", brief(&choice.value, 40), brief(title, 40))
        }
        _ => brief(&choice.value, 40),
    });
    shown.collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use mcp_client::ElicitRequest;

    use super::*;

    fn fields(schema: &str) -> Vec<Field> {
        ElicitRequest::form("?", RawJson::parse(schema.to_owned()).unwrap()).fields().unwrap()
    }

    fn form() -> Vec<Field> {
        fields(
            r#"{"type":"object","required":["size"],"properties":{
                "size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
                "count":{"type":"integer","minimum":1,"maximum":9,"default":1},
                "extra":{"type":"array","items":{"type":"string","enum":["olives","corn"]}},
                "note":{"type":"string","maxLength":5},
                "mail":{"type":"string","format":"email"},
                "gift":{"type":"boolean"}}}"#,
        )
    }

    fn read(name: &str, typed: &str) -> Result<Option<Value>, String> {
        super::read(form().iter().find(|field| field.name == name).unwrap(), typed)
    }

    #[test]
    fn typed_text_becomes_a_value_of_the_schema() {
        assert_eq!(read("size", "large"), Ok(Some(json!("l"))));
        assert_eq!(read("count", ""), Ok(Some(json!(1))));
        assert_eq!(read("extra", "corn, olives"), Ok(Some(json!(["corn", "olives"]))));
        assert_eq!(read("gift", "y"), Ok(Some(json!(true))));
        assert_eq!(read("note", ""), Ok(None));
    }

    #[test]
    fn invalid_values_get_a_correction() {
        assert_eq!(read("size", ""), Err("a value is required".into()));
        assert_eq!(read("size", "huge"), Err("one of s = Small, l = Large".into()));
        assert_eq!(read("count", "10"), Err("must be at most 9".into()));
        assert_eq!(read("count", "2.5"), Err("must be a whole number".into()));
        for endless in ["inf", "NaN", "1e999"] {
            assert_eq!(read("count", endless), Err("must be a number".into()), "{endless}");
        }
        assert_eq!(read("note", "too long"), Err("must have at most 5 characters".into()));
        assert_eq!(read("mail", "notanemail"), Err("an address such as ada@example.com".into()));
    }

    #[test]
    fn fields_that_ask_for_credentials_are_marked() {
        let form = fields(
            r#"{"type":"object","properties":{
                "a":{"type":"string","format":"password"},
                "api_key":{"type":"string"},
                "b":{"type":"string","title":"Your GitHub password"},
                "author":{"type":"string","title":"Who wrote it"}}}"#,
        );
        let marked = |field: &Field| question(field).starts_with("  (credential, not shown) ");
        let marked: Vec<bool> = form.iter().map(marked).collect();
        assert_eq!(marked, [true, true, true, false]);
    }

    #[test]
    fn fields_keep_their_order_and_a_required_one_has_no_default() {
        let names: Vec<_> = form().into_iter().map(|field| field.name).collect();
        assert_eq!(names, ["size", "count", "extra", "note", "mail", "gift"]);
        assert!(defaults(&form()).is_none());
        assert_eq!(needed(&form()), ["size"]);
    }
}
