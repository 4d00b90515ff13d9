//! Encodes text as header values, unchanged where possible.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;

/// The value for `Mcp-Name` and `Mcp-Param-*`.
///
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding>
pub(super) fn header_value(text: &str) -> HeaderValue {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim_matches(' ').len() == text.len();
    // Text that looks encoded would be decoded by the receiver.
    let plain = plain && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let encoded = if plain {
        HeaderValue::from_str(text)
    } else {
        HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text)))
    };
    // Both forms consist of valid header bytes.
    encoded.unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_only_where_they_must_be() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("two words", "two words"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("tab\there", "=?base64?dGFiCWhlcmU=?="),
            ("line\nbreak", "=?base64?bGluZQpicmVhaw==?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
            ("file:///a%20b", "file:///a%20b"),
        ] {
            assert_eq!(header_value(text), expected, "{text:?}");
        }
    }
}
