//! OpenAI's strict mode: objects have exactly the listed properties, all are required, and optional ones become
//! nullable.

use super::{fit::has_type, report::Report};
use crate::{
    json::{Json, Object, object},
    loss::{Loss, Lost, NotStrict},
};

const MOST_PROPERTIES: usize = 5_000;
const DEEPEST: usize = 10;
const MOST_VALUES: usize = 1_000;
const MOST_CHARACTERS: usize = 120_000;

/// The schema in strict form, with the losses.
pub(super) fn close(schema: Object) -> Result<(Object, Vec<Loss>), NotStrict> {
    let mut close = Close::default();
    let schema = close.schema(schema, 0)?;
    let is_small = close.properties <= MOST_PROPERTIES
        && close.values <= MOST_VALUES
        && close.characters <= MOST_CHARACTERS;
    if is_small { Ok((schema, close.report.into_losses())) } else { Err(NotStrict::TooLarge) }
}

#[derive(Default)]
struct Close {
    report: Report,
    properties: usize,
    values: usize,
    characters: usize,
}

impl Close {
    fn schema(&mut self, mut schema: Object, depth: usize) -> Result<Object, NotStrict> {
        if let Some(Json::Array(list)) = schema.remove("anyOf") {
            // Beside alternatives strict mode allows only a description.
            if schema.iter().any(|(name, _)| !matches!(name, "description" | "title")) {
                return Err(NotStrict::Unsupported);
            }
            let mut closed = Vec::with_capacity(list.len());
            for part in list {
                let Json::Object(part) = part else { return Err(NotStrict::Untyped) };
                closed.push(self.schema(part, depth)?.into());
            }
            schema.set("anyOf", closed);
            return Ok(schema);
        }
        self.values(&mut schema)?;
        if has_type(&schema, "object") {
            self.object(&mut schema, depth)?;
        }
        if has_type(&schema, "array") {
            let Some(Json::Object(items)) = schema.remove("items") else {
                return Err(NotStrict::Untyped);
            };
            self.report.push("items");
            schema.set("items", self.schema(items, depth)?);
            self.report.pop();
        }
        Ok(schema)
    }

    /// Counts enum values, and derives a missing type from them.
    fn values(&mut self, schema: &mut Object) -> Result<(), NotStrict> {
        let values: Vec<&Json> = match (schema.get("enum"), schema.get("const")) {
            (Some(Json::Array(values)), _) => values.iter().collect(),
            (_, Some(value)) => vec![value],
            _ => Vec::new(),
        };
        self.values += values.len();
        self.characters += values.iter().map(|value| value.raw().as_str().len()).sum::<usize>();
        if schema.has("type") {
            return Ok(());
        }
        let mut kinds: Vec<Json> = Vec::new();
        for value in values {
            let kind = Json::from(value.type_name());
            if matches!(value, Json::Array(_) | Json::Object(_)) {
                return Err(NotStrict::Untyped);
            }
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        match kinds.len() {
            0 => return Err(NotStrict::Untyped),
            1 => schema.set("type", kinds.remove(0)),
            _ => schema.set("type", kinds),
        };
        Ok(())
    }

    fn object(&mut self, schema: &mut Object, depth: usize) -> Result<(), NotStrict> {
        if depth >= DEEPEST {
            return Err(NotStrict::TooLarge);
        }
        let properties = match schema.remove("properties") {
            Some(Json::Object(properties)) => properties,
            _ => Object::default(),
        };
        match schema.remove("additionalProperties") {
            Some(flag) if flag.as_bool() == Some(false) => {}
            None if !properties.is_empty() => self.report.lose(Lost::FurtherProperties),
            // A tool without parameters.
            None if depth == 0 => {}
            _ => return Err(NotStrict::OpenObject),
        }
        let required = match schema.remove("required") {
            Some(Json::Array(required)) => required,
            _ => Vec::new(),
        };
        self.properties += properties.len();
        let mut closed = Object::default();
        self.report.push("properties");
        for (name, property) in properties {
            let Json::Object(property) = property else { return Err(NotStrict::Untyped) };
            self.characters += name.len();
            self.report.push(&name);
            let mut property = self.schema(property, depth + 1)?;
            self.report.pop();
            if !required.iter().any(|required| required.as_str() == Some(&name)) {
                property = nullable(property);
            }
            closed.set(name, property);
        }
        self.report.pop();
        let names: Vec<Json> = closed.iter().map(|(name, _)| name.into()).collect();
        schema.set("properties", closed);
        schema.set("required", names).set("additionalProperties", false);
        Ok(())
    }
}

/// The same schema that also allows null.
fn nullable(mut schema: Object) -> Object {
    let null = || Json::from(object! { "type" => "null" });
    if let Some(Json::Array(list)) = schema.get_mut("anyOf") {
        if !list.contains(&null()) {
            list.push(null());
        }
        return schema;
    }
    if has_type(&schema, "null") {
        return schema;
    }
    if schema.has("const") {
        let description = schema.remove("description");
        let mut wrapped = object! { "anyOf" => vec![schema.into(), null()] };
        if let Some(description) = description {
            wrapped.set("description", description);
        }
        return wrapped;
    }
    let kinds = match schema.remove("type") {
        Some(Json::Array(kinds)) => kinds,
        Some(kind) => vec![kind],
        None => Vec::new(),
    };
    let kinds: Vec<Json> = kinds.into_iter().chain(["null".into()]).collect();
    schema.set("type", kinds);
    if let Some(Json::Array(values)) = schema.get_mut("enum")
        && !values.iter().any(Json::is_null)
    {
        values.push(Json::null());
    }
    schema
}
