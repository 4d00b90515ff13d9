//! Fills in absent required members that have a default in the schema.

use serde_json::{Map, Value};

use super::{DEEPEST, Repair, resolve};

/// The maximum number of members to fill in. A recursive schema may require more; then none is filled in.
const MOST_FILLED: usize = 64;

/// Adds the defaults of absent required members at every level of the given arguments: all of them or none.
pub(super) fn fill_in<'a>(repair: &mut Repair<'a>, arguments: &mut Value, schema: &'a Value) {
    if !lacks(repair.root, arguments, schema, 0) {
        return;
    }
    let (before, changes) = (arguments.clone(), repair.changes.len());
    let mut left = MOST_FILLED;
    if fill(repair, arguments, schema, &mut String::new(), 0, &mut left).is_none() {
        *arguments = before;
        repair.changes.truncate(changes);
    }
}

/// Whether an absent required member has a default.
fn lacks(root: &Value, value: &Value, schema: &Value, depth: usize) -> bool {
    if depth > DEEPEST {
        return false;
    }
    let schema = resolve(root, schema);
    match value {
        Value::Object(members) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let Some(properties) = properties else { return false };
            absent(schema, members).any(|name| default_of(root, properties, name).is_some())
                || members.iter().any(|(name, member)| {
                    let schema = properties.get(name);
                    schema.is_some_and(|schema| lacks(root, member, schema, depth + 1))
                })
        }
        Value::Array(items) => {
            let schema = schema.get("items").filter(|items| items.is_object());
            schema
                .is_some_and(|schema| items.iter().any(|item| lacks(root, item, schema, depth + 1)))
        }
        _ => false,
    }
}

/// Fills in the members. Returns `None` if there are too many.
fn fill<'a>(
    repair: &mut Repair<'a>,
    value: &mut Value,
    schema: &'a Value,
    path: &mut String,
    depth: usize,
    left: &mut usize,
) -> Option<()> {
    if depth > DEEPEST {
        return Some(());
    }
    let schema = resolve(repair.root, schema);
    match value {
        Value::Object(members) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let Some(properties) = properties else { return Some(()) };
            let names: Vec<&str> = absent(schema, members).collect();
            for name in names {
                let Some(default) = default_of(repair.root, properties, name) else { continue };
                *left = left.checked_sub(1)?;
                let shown: String = default.to_string().chars().take(40).collect();
                let mut filled = default.clone();
                repair.at(path, &format!(".{name}"), |repair, path| {
                    repair.note(path, "absent", &shown);
                    repair.value(&mut filled, &properties[name], path, depth + 1);
                });
                members.insert(name.to_owned(), filled);
            }
            for (name, member) in members {
                let Some(schema) = properties.get(name) else { continue };
                repair.at(path, &format!(".{name}"), |repair, path| {
                    fill(repair, member, schema, path, depth + 1, left)
                })?;
            }
        }
        Value::Array(items) => {
            let schema = schema.get("items").filter(|items| items.is_object());
            let Some(schema) = schema else { return Some(()) };
            for (index, item) in items.iter_mut().enumerate() {
                repair.at(path, &format!("[{index}]"), |repair, path| {
                    fill(repair, item, schema, path, depth + 1, left)
                })?;
            }
        }
        _ => {}
    }
    Some(())
}

/// The required members that an object lacks.
fn absent<'a>(schema: &'a Value, members: &Map<String, Value>) -> impl Iterator<Item = &'a str> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str).filter(|name| !members.contains_key(*name))
}

/// The default of a property. One next to a reference takes precedence over that of the target.
fn default_of<'a>(
    root: &'a Value,
    properties: &'a Map<String, Value>,
    name: &str,
) -> Option<&'a Value> {
    let property = properties.get(name)?;
    property.get("default").or_else(|| resolve(root, property).get("default"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::repair;

    #[test]
    fn absent_required_member_with_a_default_is_filled_in() {
        let schema = json!({"type": "object", "required": ["scale", "kind", "name", "box"],
            "$defs": {"kind": {"enum": ["png", "jpeg"], "default": "png"}},
            "properties": {"scale": {"default": "css"}, "kind": {"$ref": "#/$defs/kind"},
                "name": {"type": "string"}, "other": {"default": 1},
                "box": {"type": "object", "required": ["w"], "properties": {"w": {"default": 5}}}}});
        let mut given = json!({"box": {}});
        let changes = repair(&mut given, &schema);
        assert_eq!(given, json!({"scale": "css", "kind": "png", "box": {"w": 5}}));
        assert_eq!(
            changes,
            [r#"scale: absent → "css""#, r#"kind: absent → "png""#, "box.w: absent → 5"]
        );
        assert!(repair(&mut given, &schema).is_empty());
        let mut whole = json!({"scale": null, "kind": "jpeg", "box": {"w": 1}});
        assert!(repair(&mut whole, &schema).is_empty());
    }

    #[test]
    fn defaults_that_multiply_are_not_filled_in() {
        let child = json!({"$ref": "#", "default": {}});
        let schema = json!({"required": ["a", "b"], "properties": {"a": child, "b": child}});
        let mut given = json!({});
        assert!(repair(&mut given, &schema).is_empty());
        assert_eq!(given, json!({}));
    }
}
