//! One text, and one hash, for every way to write the same JSON.

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The hash of a tool definition: 64 hexadecimal digits of SHA-256 over its canonical form.
///
/// The order of object keys and the blanks between them do not matter; everything else does, so a
/// description that changed by one letter has another hash.
///
/// ```
/// use mcp_search::definition_hash;
/// use serde_json::json;
///
/// let one = json!({ "name": "read", "description": "Read a file" });
/// let other = json!({ "description": "Read a file", "name": "read" });
/// assert_eq!(definition_hash(&one), definition_hash(&other));
/// ```
pub fn definition_hash(definition: &Value) -> String {
    let mut text = String::new();
    write_sorted(definition, &mut text);
    sha256(text.as_bytes())
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}

/// Writes `value` with sorted keys. The map's own order depends on a feature that any crate in the
/// build may switch on.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (n, (key, value)) in entries.into_iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_sorted(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write_sorted(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{definition_hash, sha256};

    #[test]
    fn the_hash_is_sha256() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(definition_hash(&json!({})), sha256(b"{}"));
    }

    #[test]
    fn the_order_of_array_items_matters() {
        assert_ne!(definition_hash(&json!([1, 2])), definition_hash(&json!([2, 1])));
    }
}
