//! Turning escaped JSON strings into text, and text into escaped JSON strings.

/// The text that `escaped` stands for.
///
/// `escaped` has been through the scanner, so every sequence is well formed. A surrogate without
/// its partner, which JavaScript servers do send, becomes U+FFFD instead of failing the message.
pub(crate) fn unescape(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let kind = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
        let mut used = 2;
        text.push(match kind {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let (character, length) = code_point(&rest[at..]);
                used = length;
                character
            }
            other => char::from(other),
        });
        rest = rest.get(at + used..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The character that starts with `\uXXXX`, and how many bytes it takes.
fn code_point(text: &str) -> (char, usize) {
    let unit = |at: usize| {
        text.get(at + 2..at + 6)
            .filter(|_| text[at..].starts_with("\\u"))
            .and_then(|hex| u16::from_str_radix(hex, 16).ok())
    };
    let Some(first) = unit(0) else { return (char::REPLACEMENT_CHARACTER, text.len().min(6)) };
    if let Some(character) = char::from_u32(u32::from(first)) {
        return (character, 6);
    }
    let pair = unit(6).and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    pair.map_or((char::REPLACEMENT_CHARACTER, 6), |character| (character, 12))
}

/// Appends `text` to `out` as a JSON string.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    // Writing a string into a vector cannot fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn surrogates_pair_up_or_become_the_replacement_character() {
        assert_eq!(unescape(r"\ud83d\ude00!"), "😀!");
        assert_eq!(unescape(r"\ud83d!"), "\u{fffd}!");
        assert_eq!(unescape(r"\ude00\ud83d"), "\u{fffd}\u{fffd}");
        assert_eq!(unescape(r"\ud83dA"), "\u{fffd}A");
    }

    proptest! {
        #[test]
        fn undoes_what_serde_json_escapes(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(unescape(&json[1..json.len() - 1]), text);
        }
    }
}
