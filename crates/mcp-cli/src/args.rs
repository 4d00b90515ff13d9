//! `key=value` on the command line, as a tool's schema wants it.

use serde_json::{Map, Value};

/// Turns `key=value` and `key:=JSON` into arguments. What the schema calls a string stays one, everything
/// else is read as JSON where it is JSON. A key given twice makes a list.
///
/// # Errors
/// Which word is wrong, and how.
pub(crate) fn read(words: &[String], schema: &Value) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!("`{word}` is not `key=value`"));
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => {
                let value = serde_json::from_str(value);
                (key, value.map_err(|error| format!("`{word}`: not JSON: {error}"))?)
            }
            None => (key, typed(value, &schema["properties"][key])),
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
    fn the_schema_decides_what_a_value_is() {
        assert_eq!(words(&["id=42", "n=42"]), Ok(json!({"id": "42", "n": 42})));
        assert_eq!(words(&["tags=a", "tags=b"]), Ok(json!({"tags": ["a", "b"]})));
        assert_eq!(words(&["tags=[\"x\"]"]), Ok(json!({"tags": ["x"]})));
        assert_eq!(words(&["other=true", "text=a=b"]), Ok(json!({"other": true, "text": "a=b"})));
        assert_eq!(words(&["id:={\"a\":1}"]), Ok(json!({"id": {"a": 1}})));
    }

    #[test]
    fn a_word_that_is_none_is_named() {
        assert_eq!(words(&["oops"]), Err("`oops` is not `key=value`".into()));
        assert_eq!(words(&["=x"]), Err("`=x` has no key".into()));
        assert!(words(&["a:={"]).unwrap_err().starts_with("`a:={`: not JSON"));
    }
}
