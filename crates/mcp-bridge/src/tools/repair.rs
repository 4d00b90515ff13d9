//! Repairs arguments that are almost valid.
//!
//! Models write `"{\"a\":1}"` where a schema requires an object, and `"5"` where it requires a number. Such
//! values are converted if the schema allows only one interpretation, and each change is reported. An absent
//! required member with a default in the schema is filled in: schemas generated from a server's own types list
//! such members as required, although the server accepts calls without them.

mod defaults;

use serde_json::Value;

/// The maximum depth of repairs.
const DEEPEST: usize = 16;
/// The maximum number of reported changes.
const MOST_CHANGES: usize = 16;

/// Repairs `arguments` where `schema` is unambiguous. Returns each change as `path: change`.
pub(crate) fn repair(arguments: &mut Value, schema: &Value) -> Vec<String> {
    let mut repair = Repair { root: schema, changes: Vec::new() };
    if arguments.is_null() {
        *arguments = Value::Object(serde_json::Map::new());
    }
    repair.value(arguments, schema, &mut String::new(), 0);
    if let Value::String(text) = &*arguments {
        // Arguments are always an object, even if the schema does not say so.
        if let Ok(object @ Value::Object(_)) = serde_json::from_str(text) {
            *arguments = object;
            repair.note("", "text", "object");
            repair.value(arguments, schema, &mut String::new(), 1);
        }
    }
    defaults::fill_in(&mut repair, arguments, schema);
    repair.changes
}

struct Repair<'a> {
    root: &'a Value,
    changes: Vec<String>,
}

impl<'a> Repair<'a> {
    fn value(&mut self, value: &mut Value, schema: &'a Value, path: &mut String, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let schema = resolve(self.root, schema);
        if let Value::String(text) = value
            && let Some((meant, kind)) = meant(text, schema)
        {
            *value = meant;
            self.note(path, "text", kind);
        }
        match value {
            Value::Object(members) => {
                let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                    return;
                };
                for (name, member) in members {
                    if let Some(schema) = properties.get(name) {
                        self.at(path, &format!(".{name}"), |this, path| {
                            this.value(member, schema, path, depth + 1);
                        });
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.get("items").filter(|items| items.is_object()) else {
                    return;
                };
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(path, &format!("[{index}]"), |this, path| {
                        this.value(item, schema, path, depth + 1);
                    });
                }
            }
            _ => {}
        }
    }

    fn at<T>(
        &mut self,
        path: &mut String,
        step: &str,
        act: impl FnOnce(&mut Self, &mut String) -> T,
    ) -> T {
        let length = path.len();
        path.push_str(step);
        let done = act(self, path);
        path.truncate(length);
        done
    }

    fn note(&mut self, path: &str, from: &str, to: &str) {
        if self.changes.len() < MOST_CHANGES {
            let path = path.strip_prefix('.').unwrap_or(path);
            let place = if path.is_empty() { "arguments" } else { path };
            let place: String = place.chars().take(100).collect();
            self.changes.push(format!("{place}: {from} → {to}"));
        }
    }
}

/// Follows references within the document only.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..4 {
        let Some(pointer) = schema.get("$ref").and_then(Value::as_str) else { break };
        let Some(target) = pointer.strip_prefix('#').and_then(|at| root.pointer(at)) else {
            break;
        };
        schema = target;
    }
    schema
}

/// The value that `text` encodes, if `schema` accepts that type and not text.
fn meant(text: &str, schema: &Value) -> Option<(Value, &'static str)> {
    let takes = |kind: &str| match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(any)) => any.iter().any(|one| one == kind),
        _ => false,
    };
    if schema.get("type").is_none() || takes("string") {
        return None;
    }
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let kind = match &value {
        Value::Object(_) if takes("object") => "object",
        Value::Array(_) if takes("array") => "array",
        Value::Bool(_) if takes("boolean") => "boolean",
        Value::Number(n) if (n.is_i64() || n.is_u64()) && (takes("integer") || takes("number")) => {
            "number"
        }
        Value::Number(_) if takes("number") => "number",
        Value::Null if takes("null") => "null",
        _ => return None,
    };
    Some((value, kind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn repaired(mut arguments: Value, schema: &Value) -> (Value, Vec<String>) {
        let changes = repair(&mut arguments, schema);
        (arguments, changes)
    }

    #[test]
    fn objects_and_numbers_sent_as_text_are_converted_by_the_schema() {
        let schema = json!({"type": "object", "$defs": {"point": {"type": "object",
            "properties": {"x": {"type": "number"}}}}, "properties": {
            "filter": {"type": "object"}, "tags": {"type": "array", "items": {"type": "integer"}},
            "at": {"$ref": "#/$defs/point"}, "deep": {"type": ["boolean", "null"]}}});
        let sent = json!({"filter": "{\"a\":1}", "tags": "[\"1\",2]", "at": "{\"x\":\"1.5\"}",
            "deep": "true"});
        let (fixed, changes) = repaired(sent, &schema);
        assert_eq!(
            fixed,
            json!({"filter": {"a": 1}, "tags": [1, 2], "at": {"x": 1.5}, "deep": true})
        );
        assert_eq!(
            changes,
            [
                "at: text → object",
                "at.x: text → number",
                "deep: text → boolean",
                "filter: text → object",
                "tags: text → array",
                "tags[0]: text → number",
            ]
        );
        assert_eq!(repaired(json!("{\"filter\":{}}"), &schema).0, json!({"filter": {}}));
        assert_eq!(repaired(Value::Null, &schema).0, json!({}));
    }

    #[test]
    fn ambiguous_arguments_are_not_changed() {
        let schema = json!({"type": "object", "properties": {
            "text": {"type": "string"}, "either": {"type": ["string", "object"]}, "any": {},
            "n": {"type": "integer"}, "o": {"type": "object"}}});
        let sent =
            json!({"text": "{}", "either": "{}", "any": "5", "n": "1.5", "o": "[]", "x": "1"});
        let (same, changes) = repaired(sent.clone(), &schema);
        assert_eq!((same, changes.len()), (sent, 0));
    }

    #[test]
    fn repair_with_a_recursive_schema_terminates() {
        let schema = json!({"$ref": "#"});
        assert_eq!(repaired(json!({"a": "1"}), &schema).1.len(), 0);
    }
}
