//! Gemini's subset of OpenAPI 3.0: types in capitals, `nullable`, counts as text.

use super::report::Report;
use crate::{
    json::{Json, Object, object},
    loss::{Loss, Lost},
};

const COUNTS: &[&str] =
    &["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];

/// Writes a fitted schema in this form.
pub(super) fn write(schema: Object, losses: &mut Vec<Loss>) -> Object {
    let mut writer = Writer { report: Report::default() };
    let schema = writer.schema(schema);
    losses.extend(writer.report.into_losses());
    schema
}

struct Writer {
    report: Report,
}

impl Writer {
    fn schema(&mut self, mut schema: Object) -> Object {
        let (kinds, is_nullable) = kinds(&schema);
        schema.remove("type");
        let mut written = Object::default();
        match &kinds[..] {
            [] if !schema.has("anyOf") => {
                self.report.lose(Lost::AnyValue);
                written.set("anyOf", any_value());
            }
            [] => {}
            [kind] => drop(written.set("type", kind.to_uppercase())),
            many if !schema.has("anyOf") => {
                let list = self.alternatives(many, &mut schema);
                written.set("anyOf", list);
            }
            _ => self.report.keyword("type"),
        }
        for (name, value) in schema {
            self.keyword(name, value, &mut written);
        }
        if is_nullable {
            written.set("nullable", true);
        }
        if written.get("type").and_then(Json::as_str) == Some("OBJECT")
            && !written.has("properties")
        {
            self.free_object(&mut written);
        }
        written
    }

    fn keyword(&mut self, name: String, value: Json, written: &mut Object) {
        match (name.as_str(), value) {
            ("items", Json::Object(items)) => {
                self.report.push("items");
                let items = self.schema(items);
                self.report.pop();
                written.set("items", items);
            }
            ("items", _) => self.report.keyword("items"),
            ("properties", Json::Object(map)) if map.is_empty() => {}
            ("properties", Json::Object(map)) => {
                let map = self.map(map);
                written.set("properties", map);
            }
            ("anyOf", Json::Array(list)) => {
                let list = self.list(list);
                written.set("anyOf", list);
            }
            ("enum", values) => drop(written.set("format", "enum").set("enum", values)),
            ("format", _) if written.has("enum") => self.report.keyword("format"),
            (count, number) if COUNTS.contains(&count) => {
                written.set(count, number.raw().as_str());
            }
            (_, value) => drop(written.set(name, value)),
        }
    }

    /// One schema for each type, with the keywords that are about values of that type.
    fn alternatives(&mut self, kinds: &[String], schema: &mut Object) -> Vec<Json> {
        let list = kinds
            .iter()
            .map(|kind| {
                let mut part = object! { "type" => kind.as_str() };
                for word in keywords_of(kind) {
                    if let Some(value) = schema.get(word) {
                        part.set(*word, value.clone());
                    }
                }
                if kind == "array" && !part.has("items") {
                    part.set("items", Object::default());
                }
                self.schema(part).into()
            })
            .collect();
        for word in kinds.iter().flat_map(|kind| keywords_of(kind)) {
            schema.remove(word);
        }
        list
    }

    /// An object must list its properties. One that accepts any is sent as text, which the bridge parses as an
    /// object.
    fn free_object(&mut self, schema: &mut Object) {
        if self.report.is_at_the_top() {
            return;
        }
        self.report.lose(Lost::FurtherProperties);
        let description = schema.get("description").and_then(Json::as_str).unwrap_or_default();
        let description = format!("{description} (a JSON object as text)");
        schema.set("type", "STRING").set("description", description.trim_start());
        for word in keywords_of("object") {
            schema.remove(word);
        }
    }

    fn map(&mut self, map: Object) -> Object {
        self.report.push("properties");
        let mut written = Vec::with_capacity(map.len());
        for (name, schema) in map {
            self.report.push(&name);
            let schema = self.member(schema);
            self.report.pop();
            written.push((name, schema));
        }
        self.report.pop();
        written.into_iter().collect()
    }

    fn list(&mut self, list: Vec<Json>) -> Vec<Json> {
        self.report.push("anyOf");
        let mut written = Vec::with_capacity(list.len());
        for (index, schema) in list.into_iter().enumerate() {
            self.report.push(&index.to_string());
            written.push(self.member(schema));
            self.report.pop();
        }
        self.report.pop();
        written
    }

    fn member(&mut self, schema: Json) -> Json {
        match schema {
            Json::Object(schema) => self.schema(schema).into(),
            _ => Object::default().into(),
        }
    }
}

/// The types except null, and whether null is one of them.
fn kinds(schema: &Object) -> (Vec<String>, bool) {
    let names = match schema.get("type") {
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        Some(kind) => Vec::from_iter(kind.as_str()),
        // Enum values are text here and require a type.
        None if schema.has("enum") => vec!["string"],
        None => Vec::new(),
    };
    let kinds: Vec<String> =
        names.iter().filter(|name| **name != "null").map(|name| (*name).to_owned()).collect();
    let is_nullable = kinds.len() < names.len();
    if kinds.is_empty() && is_nullable {
        (vec!["null".to_owned()], false)
    } else {
        (kinds, is_nullable)
    }
}

/// The keywords that restrict only values of this type.
fn keywords_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "string" => &["format", "enum", "pattern", "minLength", "maxLength"],
        "number" | "integer" => &["minimum", "maximum"],
        "array" => &["items", "minItems", "maxItems"],
        "object" => &["properties", "required", "minProperties", "maxProperties"],
        _ => &[],
    }
}

fn any_value() -> Vec<Json> {
    ["STRING", "NUMBER", "BOOLEAN"].map(|kind| object! { "type" => kind }.into()).into()
}
