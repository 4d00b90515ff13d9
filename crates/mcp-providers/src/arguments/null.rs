//! Removes null members that mean absent ones.

use mcp_jsonrpc::RawJson;

use crate::{
    json::{Json, Object},
    schema::resolve,
};

/// The maximum number of references followed from one schema to the next.
const MOST_STEPS: usize = 32;

/// Removes the members from `arguments` that are null, not required, and not allowed to be null. Returns the
/// same text if there are none.
pub(super) fn without(arguments: RawJson, schema: &RawJson) -> RawJson {
    if !arguments.as_str().contains("null") {
        return arguments;
    }
    let root = Json::read(schema);
    let mut clean = Clean { root: &root, has_changed: false };
    let cleaned = clean.value(Json::read(&arguments), &[&root]);
    if clean.has_changed { cleaned.raw() } else { arguments }
}

struct Clean<'a> {
    root: &'a Json,
    has_changed: bool,
}

impl<'a> Clean<'a> {
    /// `schemas` are all schemas that may apply to the value.
    fn value(&mut self, value: Json, schemas: &[&'a Json]) -> Json {
        let schemas = self.expand(schemas);
        match value {
            Json::Object(members) => self.object(members, &schemas).into(),
            Json::Array(items) => {
                let inner: Vec<&Json> =
                    schemas.iter().filter_map(|schema| schema.get("items")).collect();
                let clean = |item| self.value(item, &inner);
                Json::Array(items.into_iter().map(clean).collect())
            }
            scalar => scalar,
        }
    }

    fn object(&mut self, members: Object, schemas: &[&'a Json]) -> Object {
        let mut kept = Vec::new();
        for (name, value) in members {
            let inner: Vec<&Json> =
                schemas.iter().filter_map(|schema| schema.get("properties")?.get(&name)).collect();
            if value.is_null() && !inner.is_empty() && self.is_absent(&name, &inner, schemas) {
                self.has_changed = true;
            } else {
                let value = self.value(value, &inner);
                kept.push((name, value));
            }
        }
        kept.into_iter().collect()
    }

    fn is_absent(&self, name: &str, inner: &[&'a Json], schemas: &[&'a Json]) -> bool {
        let requires = |schema: &&Json| {
            let names = schema.get("required").and_then(Json::as_array).unwrap_or_default();
            names.iter().any(|required| required.as_str() == Some(name))
        };
        !schemas.iter().any(requires) && !self.expand(inner).iter().any(|schema| takes_null(schema))
    }

    /// The schemas, those they refer to, and those they are composed of.
    fn expand(&self, schemas: &[&'a Json]) -> Vec<&'a Json> {
        let mut all: Vec<&Json> = schemas.to_vec();
        let mut at = 0;
        while let Some(schema) = all.get(at).copied() {
            at += 1;
            let parts = ["allOf", "anyOf", "oneOf"]
                .iter()
                .filter_map(|word| schema.get(word)?.as_array())
                .flatten();
            let to = schema.get("$ref").and_then(Json::as_str);
            let referred = to.and_then(|to| resolve(self.root, to));
            for part in parts.chain(referred) {
                if all.len() < MOST_STEPS && !all.iter().any(|known| std::ptr::eq(*known, part)) {
                    all.push(part);
                }
            }
        }
        all
    }
}

/// Whether a schema itself allows null. One that only refers to others does not.
fn takes_null(schema: &Json) -> bool {
    let Some(object) = schema.as_object() else { return schema.as_bool() == Some(true) };
    if object.get("nullable").and_then(Json::as_bool) == Some(true) {
        return true;
    }
    if let Some(values) = object.get("enum").and_then(Json::as_array) {
        return values.iter().any(Json::is_null);
    }
    if let Some(value) = object.get("const") {
        return value.is_null();
    }
    match object.get("type") {
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some("null")),
        Some(kind) => kind.as_str() == Some("null"),
        None => !["$ref", "allOf", "anyOf", "oneOf"].iter().any(|word| object.has(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(arguments: &str, schema: &str) -> String {
        let raw = |text: &str| RawJson::parse(text.to_owned()).unwrap();
        without(raw(arguments), &raw(schema)).as_str().to_owned()
    }

    #[test]
    fn null_is_absent_unless_the_schema_takes_it_or_requires_the_member() {
        let schema = r##"{"required":["must"],"$defs":{"n":{"type":"integer"}},"properties":{
            "must":{"type":"string"},"text":{"type":"string"},"maybe":{"type":["string","null"]},
            "any":{},"ref":{"$ref":"#/$defs/n"},"either":{"anyOf":[{"type":"string"},{"type":"null"}]},
            "list":{"type":"array","items":{"properties":{"x":{"type":"string"}}}}}}"##;
        let all = r#"{"must":null,"text":null,"maybe":null,"any":null,"ref":null,"either":null,"new":null,"list":[{"x":null,"y":1}]}"#;
        assert_eq!(
            clean(all, schema),
            r#"{"must":null,"maybe":null,"any":null,"either":null,"new":null,"list":[{"y":1}]}"#
        );
        let same = r#"{ "text" : "null", "maybe": null }"#;
        assert_eq!(clean(same, schema), same, "unchanged arguments keep their text");
    }

    #[test]
    fn recursive_schemas_end() {
        let schema = r##"{"$ref":"#","properties":{"a":{"$ref":"#"},"b":{"type":"string"}}}"##;
        assert_eq!(clean(r#"{"a":{"a":{"b":null}}}"#, schema), r#"{"a":{"a":{}}}"#);
    }
}
