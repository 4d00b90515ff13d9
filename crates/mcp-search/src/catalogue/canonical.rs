//! A canonical form of JSON, and its hash.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The hash of a tool definition: 64 hexadecimal digits of SHA-256 over its canonical form.
///
/// The order of object keys and whitespace do not matter. Any other change, such as one letter of
/// a description, gives another hash.
///
/// ```
/// use mcp_search::catalogue::definition_hash;
/// use serde_json::json;
///
/// let one = json!({ "name": "read", "description": "Read a file" });
/// let other = json!({ "description": "Read a file", "name": "read" });
/// assert_eq!(definition_hash(&one), definition_hash(&other));
/// ```
pub fn definition_hash(definition: &Value) -> String {
    let mut sorted = definition.clone();
    // The order of the map depends on a feature that any crate in the build may enable.
    sorted.sort_all_objects();
    sha256(sorted.to_string().as_bytes())
}

/// SHA-256 in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
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
