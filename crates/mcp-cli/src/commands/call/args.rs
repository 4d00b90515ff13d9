//! Parses `key=value` arguments according to a tool's schema.

use std::fs;

use serde_json::{Map, Value};

/// Turns `key=value`, `key=@FILE` and `key:=JSON` into arguments. A property of type string is taken literally;
/// any other value is parsed as JSON if possible. A repeated key makes a list. `key=@@x` is the text `@x`.
///
/// # Errors
/// Returns a message with the invalid argument and the reason.
pub(crate) fn read(words: &[String], schema: &Value) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!("`{word}` is not `key=value`{}", other_form(word)));
        };
        let (key, value) = if let Some(key) = key.strip_suffix(':') {
            let value = serde_json::from_str(value);
            (key, value.map_err(|error| format!("`{word}`: not JSON: {error}"))?)
        } else {
            let value = match value.strip_prefix('@') {
                Some(rest) if rest.starts_with('@') => rest.to_owned(),
                Some(path) if !path.is_empty() => fs::read_to_string(path)
                    .map_err(|error| format!("`{word}`: can't read {path}: {error}"))?,
                _ => value.to_owned(),
            };
            (key, typed(&value, &schema["properties"][key]))
        };
        if key.is_empty() {
            return Err(format!("`{word}` has no key"));
        }
        match arguments.get_mut(key) {
            None => {
                let is_list = schema["properties"][key]["type"] == "array" && !value.is_array();
                let value = if is_list { Value::Array(vec![value]) } else { value };
                arguments.insert(key.to_owned(), value);
            }
            Some(Value::Array(items)) => items.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Ok(arguments)
}

/// Suggests the correct form of an invalid argument.
fn other_form(word: &str) -> &'static str {
    if word.contains(':') && !word.contains("://") {
        "; write key=value, or key:=JSON"
    } else if word.contains('(') {
        "; write `mcp call server/tool key=value`"
    } else {
        ""
    }
}

fn typed(text: &str, schema: &Value) -> Value {
    let is = |kind: &str| match &schema["type"] {
        Value::String(only) => only == kind,
        Value::Array(several) => several.iter().any(|each| each == kind),
        _ => false,
    };
    if is("string") {
        return Value::String(text.to_owned());
    }
    if is("array") && schema["items"]["type"] == "string" && !text.starts_with('[') {
        return Value::String(text.to_owned());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(words: &[&str]) -> Result<Value, String> {
        let schema = json!({"properties": {
            "id": {"type": "string"}, "n": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}}}});
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read(&words, &schema).map(Value::Object)
    }

    #[test]
    fn values_are_parsed_as_the_schema_requires() {
        assert_eq!(words(&["id=42", "n=42"]), Ok(json!({"id": "42", "n": 42})));
        assert_eq!(words(&["tags=a", "tags=b"]), Ok(json!({"tags": ["a", "b"]})));
        assert_eq!(words(&["tags=[\"x\"]"]), Ok(json!({"tags": ["x"]})));
        assert_eq!(words(&["other=true", "text=a=b"]), Ok(json!({"other": true, "text": "a=b"})));
        assert_eq!(words(&["id:={\"a\":1}"]), Ok(json!({"id": {"a": 1}})));
    }

    #[test]
    fn file_contents_become_a_value() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "[\"a\", \"b\"]").unwrap();
        let path = file.path().display();
        assert_eq!(words(&[&format!("id=@{path}")]), Ok(json!({"id": "[\"a\", \"b\"]"})));
        assert_eq!(words(&[&format!("tags=@{path}")]), Ok(json!({"tags": ["a", "b"]})));
        assert_eq!(words(&["id=@@home"]), Ok(json!({"id": "@home"})));
        assert!(words(&["id=@/no/such/file"]).unwrap_err().contains("can't read /no/such/file"));
    }

    #[test]
    fn invalid_arguments_are_named_in_the_error() {
        assert_eq!(words(&["oops"]), Err("`oops` is not `key=value`".into()));
        assert_eq!(words(&["=x"]), Err("`=x` has no key".into()));
        assert!(words(&["a:={"]).unwrap_err().starts_with("`a:={`: not JSON"));
    }
}
