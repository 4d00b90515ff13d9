//! Fits a schema to a dialect: unsupported keywords are removed, and the description gets a short form of
//! those that are useful to a model.

use std::{collections::HashSet, mem};

use mcp_safe::text;

use super::{Dialect, merge, report::Report};
use crate::{
    json::{Json, Object},
    loss::{Loss, Lost},
};

/// Keywords that no API supports at the top of an input schema. `allOf`, `anyOf` and `oneOf` are merged.
const NOT_AT_THE_TOP: &[&str] =
    &["not", "if", "then", "else", "dependentSchemas", "enum", "const", "unevaluatedProperties"];

const STRICT: &[&str] = &[
    "type",
    "title",
    "description",
    "enum",
    "const",
    "anyOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "pattern",
    "format",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];

const STRICT_FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

const GEMINI: &[&str] = &[
    "type",
    "title",
    "description",
    "format",
    "enum",
    "anyOf",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
];

const OPEN_API: &[&str] = &[
    "type",
    "title",
    "description",
    "format",
    "default",
    "enum",
    "anyOf",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
];

/// The maximum length of a removed value that is repeated in a description.
const LONGEST_HINT: usize = 80;

/// Fits `schema`, the schema of an object, and reports the losses.
pub(super) fn fit(schema: Object, dialect: Dialect) -> (Object, Vec<Loss>) {
    let mut fit = Fit { dialect, report: Report::default() };
    let schema = fit.top(schema);
    (schema, fit.report.into_losses())
}

struct Fit {
    dialect: Dialect,
    report: Report,
}

impl Fit {
    fn top(&mut self, schema: Object) -> Object {
        let mut schema = merge::any_of(merge::all_of(schema, &mut self.report), &mut self.report);
        for word in NOT_AT_THE_TOP {
            if schema.remove(word).is_some() {
                self.report.keyword(word);
            }
        }
        schema.set("type", "object");
        if !schema.has("properties") {
            schema.set("properties", Object::default());
        }
        self.schema(schema)
    }

    fn schema(&mut self, mut schema: Object) -> Object {
        if self.keywords().is_some() {
            schema = merge::all_of(schema, &mut self.report);
            self.rename(&mut schema);
        }
        let mut fitted = Object::default();
        let mut hints = Vec::new();
        for (name, value) in schema {
            if self.takes(&name, &value) {
                let value = self.inner(&name, value);
                fitted.set(name, value);
            } else {
                self.report.keyword(&name);
                hints.extend(hint(&name, &value));
            }
        }
        if let Some(description) = described(fitted.get("description"), &hints) {
            fitted.set("description", description);
        }
        self.properties(&mut fitted);
        if self.dialect != Dialect::Generic && has_type(&fitted, "array") && !fitted.has("items") {
            fitted.set("items", Object::default());
        }
        fitted
    }

    /// Replaces keywords that the dialect does not have with equivalent ones.
    fn rename(&self, schema: &mut Object) {
        let keeps = |word| self.keywords().is_none_or(|words| words.contains(&word));
        if !keeps("oneOf")
            && !schema.has("anyOf")
            && let Some(list) = schema.remove("oneOf")
        {
            schema.set("anyOf", list);
        }
        if !keeps("const")
            && !schema.has("enum")
            && let Some(value) = schema.remove("const")
        {
            schema.set("enum", vec![value]);
        }
    }

    /// The keywords of the dialect; `None` for all of draft 2020-12.
    fn keywords(&self) -> Option<&'static [&'static str]> {
        match self.dialect {
            Dialect::Generic | Dialect::Anthropic | Dialect::OpenAi => None,
            Dialect::OpenAiStrict => Some(STRICT),
            Dialect::Gemini => Some(GEMINI),
            Dialect::GeminiOpenApi => Some(OPEN_API),
        }
    }

    fn takes(&self, name: &str, value: &Json) -> bool {
        if self.keywords().is_some_and(|words| !words.contains(&name)) {
            return false;
        }
        match (self.dialect, name) {
            (Dialect::OpenAiStrict, "format") => {
                value.as_str().is_some_and(|format| STRICT_FORMATS.contains(&format))
            }
            // Lookaround, and groups with names or flags.
            (Dialect::OpenAiStrict, "pattern") => {
                value.as_str().is_some_and(|pattern| !pattern.replace("(?:", "").contains("(?"))
            }
            (Dialect::Gemini, "enum") => are_all(value, &["string", "integer", "number"]),
            (Dialect::GeminiOpenApi, "enum") => are_all(value, &["string"]),
            _ => true,
        }
    }

    /// Fits the schemas inside of a keyword.
    fn inner(&mut self, name: &str, value: Json) -> Json {
        self.report.push(name);
        let value = match (super::keyword::shape(name), value) {
            (Some(super::keyword::Shape::Schema), Json::Object(schema)) => {
                self.schema(schema).into()
            }
            (Some(super::keyword::Shape::Schemas), Json::Array(list)) => {
                let fit = |(index, schema): (usize, Json)| self.member(&index.to_string(), schema);
                Json::Array(list.into_iter().enumerate().map(fit).collect())
            }
            (Some(super::keyword::Shape::SchemaByName), Json::Object(map)) => {
                let fit = |(key, schema): (String, Json)| {
                    let schema = self.member(&key, schema);
                    (key, schema)
                };
                Json::Object(map.into_iter().map(fit).collect())
            }
            (_, value) => value,
        };
        self.report.pop();
        value
    }

    fn member(&mut self, step: &str, schema: Json) -> Json {
        let Json::Object(schema) = schema else { return schema };
        self.report.push(step);
        let schema = self.schema(schema);
        self.report.pop();
        schema.into()
    }

    /// Drops properties with names that the API does not support, and requires only the others.
    fn properties(&mut self, schema: &mut Object) {
        let Some(Json::Object(properties)) = schema.get_mut("properties") else {
            if self.keywords().is_some() && schema.remove("required").is_some() {
                self.report.keyword("required");
            }
            return;
        };
        let (kept, dropped): (Vec<_>, Vec<_>) =
            mem::take(properties).into_iter().partition(|(name, _)| self.takes_property(name));
        *properties = kept.into_iter().collect();
        let names: HashSet<String> = properties.iter().map(|(name, _)| name.to_owned()).collect();
        for (name, _) in &dropped {
            self.report.lose(Lost::Property(name.clone()));
        }
        let Some(Json::Array(required)) = schema.get_mut("required") else { return };
        let was_empty = required.is_empty();
        required.retain(|name| {
            let name = name.as_str().unwrap_or_default();
            if names.contains(name) || dropped.iter().any(|(dropped, _)| dropped == name) {
                return names.contains(name);
            }
            // A dialect with a list of keywords requires a property for each name.
            if self.keywords().is_some() {
                self.report.lose(Lost::Property(name.to_owned()));
            }
            self.keywords().is_none()
        });
        if required.is_empty() && !was_empty {
            schema.remove("required");
        }
    }

    fn takes_property(&self, name: &str) -> bool {
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        match self.dialect {
            Dialect::Generic | Dialect::OpenAi | Dialect::OpenAiStrict => true,
            Dialect::Anthropic => {
                (1..=64).contains(&name.len())
                    && name.bytes().all(|b| is_word(b) || matches!(b, b'.' | b'-'))
            }
            Dialect::Gemini | Dialect::GeminiOpenApi => {
                (1..=64).contains(&name.len())
                    && name.bytes().all(is_word)
                    && !name.starts_with(|c: char| c.is_ascii_digit())
            }
        }
    }
}

fn are_all(values: &Json, types: &[&str]) -> bool {
    values
        .as_array()
        .is_some_and(|values| values.iter().all(|value| types.contains(&value.type_name())))
}

/// Whether values of the type `name` are allowed explicitly.
pub(super) fn has_type(schema: &Object, name: &str) -> bool {
    match schema.get("type") {
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some(name)),
        Some(kind) => kind.as_str() == Some(name),
        None => false,
    }
}

/// A lost keyword as text, if it is short enough.
fn hint(name: &str, value: &Json) -> Option<String> {
    if matches!(name, "title" | "deprecated" | "readOnly" | "writeOnly" | "additionalProperties") {
        return None;
    }
    let value = value.raw();
    let value = text::strip(value.as_str());
    (value.len() <= LONGEST_HINT).then(|| format!("{name}: {value}"))
}

fn described(description: Option<&Json>, hints: &[String]) -> Option<String> {
    if hints.is_empty() {
        return None;
    }
    let hints = format!("({})", hints.join(", "));
    Some(match description.and_then(Json::as_str) {
        Some(description) if !description.is_empty() => format!("{description} {hints}"),
        _ => hints,
    })
}
