//! Forms that servers ask the user to fill in, one line for each field.

use std::fmt::Write;

use mcp_client::RawJson;
use serde_json::{Map, Value, json};

use crate::out::brief;

/// The fields of a form, in the order its server gave them.
#[derive(Debug, Default)]
pub(crate) struct Form {
    pub(crate) fields: Vec<Field>,
}

/// One thing to fill in.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    label: String,
    description: Option<String>,
    kind: Kind,
    is_required: bool,
    default: Option<Value>,
}

#[derive(Debug)]
enum Kind {
    Text {
        least: Option<u64>,
        most: Option<u64>,
    },
    Number {
        is_integer: bool,
        least: Option<f64>,
        most: Option<f64>,
    },
    Boolean,
    /// Values, and what people are shown for them.
    One(Vec<(String, String)>),
    Many(Vec<(String, String)>),
}

impl Form {
    /// Reads a flat object schema. What it cannot make sense of is a field of text.
    pub(crate) fn read(schema: Option<&RawJson>) -> Self {
        let Some(schema) = schema else { return Self::default() };
        let whole: Value = serde_json::from_str(schema.as_str()).unwrap_or_default();
        let required: Vec<&str> = whole["required"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let properties = schema.get("properties");
        // Not from the parsed object: that has lost the order.
        let names = properties.iter().flat_map(RawJson::members).map(|(name, _)| name);
        let fields = names.map(|name| {
            let property = &whole["properties"][&name];
            Field::new(&name, property, required.contains(&name.as_str()))
        });
        Self { fields: fields.collect() }
    }

    /// What the form is worth untouched; `None` if it has to be filled in.
    pub(crate) fn defaults(&self) -> Option<RawJson> {
        let mut content = Map::new();
        for field in &self.fields {
            match &field.default {
                Some(value) => drop(content.insert(field.name.clone(), value.clone())),
                None if field.is_required => return None,
                None => {}
            }
        }
        RawJson::encode(&content).ok()
    }
}

impl Field {
    fn new(name: &str, schema: &Value, is_required: bool) -> Self {
        let text = |key: &str| schema[key].as_str().map(str::to_owned);
        let kind = match schema["type"].as_str() {
            Some("boolean") => Kind::Boolean,
            Some(kind @ ("number" | "integer")) => Kind::Number {
                is_integer: kind == "integer",
                least: schema["minimum"].as_f64(),
                most: schema["maximum"].as_f64(),
            },
            Some("array") => Kind::Many(choices(&schema["items"])),
            _ => match choices(schema) {
                choices if !choices.is_empty() => Kind::One(choices),
                _ => Kind::Text {
                    least: schema["minLength"].as_u64(),
                    most: schema["maxLength"].as_u64(),
                },
            },
        };
        Self {
            label: text("title").unwrap_or_else(|| name.to_owned()),
            description: text("description"),
            default: schema.get("default").cloned(),
            name: name.to_owned(),
            kind,
            is_required,
        }
    }

    /// What the user is shown.
    pub(crate) fn question(&self) -> String {
        let mut text = format!("  {}", brief(&self.label, 80));
        if let Some(description) = &self.description {
            let _ = write!(text, " – {}", brief(description, 200));
        }
        match &self.kind {
            Kind::Boolean => text.push_str(" (yes or no)"),
            Kind::Number { is_integer: true, .. } => text.push_str(" (a whole number)"),
            Kind::Number { .. } => text.push_str(" (a number)"),
            Kind::One(choices) => drop(write!(text, " ({})", listed(choices, " or "))),
            Kind::Many(choices) => {
                let _ = write!(text, " (any of {}, by commas)", listed(choices, ", "));
            }
            Kind::Text { .. } => {}
        }
        match &self.default {
            Some(Value::String(default)) => drop(write!(text, " [{}]", brief(default, 80))),
            Some(default) => drop(write!(text, " [{}]", brief(&default.to_string(), 80))),
            None if !self.is_required => text.push_str(" [leave out]"),
            None => {}
        }
        text + ": "
    }

    /// What was typed, as the schema wants it; `None` to leave it out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        if typed.is_empty() {
            return match (&self.default, self.is_required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err("this one is needed".into()),
            };
        }
        let value = match &self.kind {
            Kind::Boolean => match typed.to_lowercase().as_str() {
                "y" | "yes" | "true" | "1" => json!(true),
                "n" | "no" | "false" | "0" => json!(false),
                _ => return Err("yes or no".into()),
            },
            Kind::Number { is_integer, least, most } => number(typed, *is_integer, *least, *most)?,
            Kind::Text { least, most } => {
                let length = typed.chars().count() as u64;
                if least.is_some_and(|least| length < least) {
                    return Err(format!("at least {} characters", least.unwrap_or_default()));
                }
                if most.is_some_and(|most| length > most) {
                    return Err(format!("at most {} characters", most.unwrap_or_default()));
                }
                json!(typed)
            }
            Kind::One(choices) => json!(chosen(choices, typed)?),
            Kind::Many(choices) => {
                let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty());
                let values: Result<Vec<_>, _> = words.map(|word| chosen(choices, word)).collect();
                json!(values?)
            }
        };
        Ok(Some(value))
    }
}

fn number(
    typed: &str,
    is_integer: bool,
    least: Option<f64>,
    most: Option<f64>,
) -> Result<Value, String> {
    let value: Option<f64> = typed.parse().ok().filter(|value: &f64| value.is_finite());
    let value = value.ok_or_else(|| "not a number".to_owned())?;
    if least.is_some_and(|least| value < least) || most.is_some_and(|most| value > most) {
        let bound = |bound: Option<f64>| bound.map_or("any".into(), |bound| bound.to_string());
        return Err(format!("from {} to {}", bound(least), bound(most)));
    }
    match typed.parse::<i64>() {
        Ok(whole) => Ok(json!(whole)),
        Err(_) if is_integer => Err("not a whole number".into()),
        Err(_) => Ok(json!(value)),
    }
}

/// `enum` with `enumNames`, or `oneOf`/`anyOf` of constants with titles.
fn choices(schema: &Value) -> Vec<(String, String)> {
    let texts = |key: &str| schema[key].as_array().cloned().unwrap_or_default();
    let named = texts("enumNames");
    let plain = texts("enum").into_iter().enumerate().filter_map(|(at, value)| {
        let value = value.as_str()?.to_owned();
        let title = named.get(at).and_then(Value::as_str).unwrap_or(&value).to_owned();
        Some((value, title))
    });
    let titled = texts("oneOf").into_iter().chain(texts("anyOf")).filter_map(|choice| {
        let value = choice["const"].as_str()?.to_owned();
        let title = choice["title"].as_str().unwrap_or(&value).to_owned();
        Some((value, title))
    });
    plain.chain(titled).take(64).collect()
}

fn listed(choices: &[(String, String)], between: &str) -> String {
    let names: Vec<String> = choices
        .iter()
        .map(|(value, title)| {
            if value == title {
                brief(value, 40)
            } else {
                format!("{} = {}", brief(value, 40), brief(title, 40))
            }
        })
        .collect();
    names.join(between)
}

fn chosen(choices: &[(String, String)], typed: &str) -> Result<String, String> {
    let fits = |(value, title): &&(String, String)| {
        value == typed || title.eq_ignore_ascii_case(typed) || value.eq_ignore_ascii_case(typed)
    };
    match choices.iter().find(fits) {
        Some((value, _)) => Ok(value.clone()),
        None if choices.is_empty() => Ok(typed.to_owned()),
        None => Err(format!("one of {}", listed(choices, ", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Form {
        let schema = RawJson::parse(
            r#"{"type":"object","required":["size"],"properties":{
                "size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
                "count":{"type":"integer","minimum":1,"maximum":9,"default":1},
                "extra":{"type":"array","items":{"type":"string","enum":["olives","corn"]}},
                "note":{"type":"string","maxLength":5},
                "gift":{"type":"boolean"}}}"#,
        );
        Form::read(Some(&schema.unwrap()))
    }

    fn read(name: &str, typed: &str) -> Result<Option<Value>, String> {
        let form = form();
        form.fields.iter().find(|field| field.name == name).unwrap().read(typed)
    }

    #[test]
    fn what_is_typed_becomes_what_the_schema_wants() {
        assert_eq!(read("size", "large"), Ok(Some(json!("l"))));
        assert_eq!(read("count", ""), Ok(Some(json!(1))));
        assert_eq!(read("extra", "corn, olives"), Ok(Some(json!(["corn", "olives"]))));
        assert_eq!(read("gift", "y"), Ok(Some(json!(true))));
        assert_eq!(read("note", ""), Ok(None));
    }

    #[test]
    fn what_does_not_fit_is_asked_again_with_a_reason() {
        assert_eq!(read("size", ""), Err("this one is needed".into()));
        assert_eq!(read("size", "huge"), Err("one of s = Small, l = Large".into()));
        assert_eq!(read("count", "10"), Err("from 1 to 9".into()));
        assert_eq!(read("count", "2.5"), Err("not a whole number".into()));
        for endless in ["inf", "NaN", "1e999"] {
            assert_eq!(read("count", endless), Err("not a number".into()), "{endless}");
        }
        assert_eq!(read("note", "too long"), Err("at most 5 characters".into()));
    }

    #[test]
    fn fields_keep_their_order_and_a_needed_one_has_no_default() {
        let names: Vec<_> = form().fields.into_iter().map(|field| field.name).collect();
        assert_eq!(names, ["size", "count", "extra", "note", "gift"]);
        assert!(form().defaults().is_none());
    }
}
