//! Unescapes JSON strings.

use super::skip::{self, Stop};

/// Reads the string that starts at `start`, behind its opening quote. Everything
/// before the first escape, at `at`, is known to be plain. Returns its text and its end.
///
/// Checks and unescapes in one pass. A surrogate without its partner, which JavaScript servers do
/// send, becomes U+FFFD instead of failing the message.
pub(crate) fn read_string(
    json: &str,
    start: usize,
    mut at: usize,
) -> Result<(String, usize), Stop> {
    let bytes = json.as_bytes();
    let mut text = String::new();
    make_room(&mut text, at - start, bytes.len() - start);
    text.push_str(&json[start..at]);
    loop {
        for _ in 0..PIECES {
            if bytes.get(at) != Some(&b'\\') {
                let end = skip::closing_quote(bytes, at)?;
                if text.capacity() > 2 * text.len() {
                    text.shrink_to_fit();
                }
                return Ok((text, end));
            }
            at = unescape(bytes, at, &mut text)?;
            at = push_plain(json, at, &mut text);
        }
        if text.capacity() - text.len() < ROOM {
            let known = text.len();
            make_room(&mut text, known, bytes.len() - at);
        }
    }
}

/// The number of pieces read between two capacity checks.
const PIECES: usize = 32;
/// The space of `PIECES` pieces of at most two blocks each.
const ROOM: usize = PIECES * 2 * skip::BLOCK;

/// Makes room in the text of a string of which `known` bytes are known, and of which at most `left` are left.
///
/// The final length is unknown, and searching for the end costs more than growing. The text grows in few
/// large steps, never beyond the rest of the message, and returns unused capacity at the end.
#[cold]
fn make_room(text: &mut String, known: usize, left: usize) {
    text.reserve_exact((16 * known).clamp(64, left.max(64)));
}

/// Appends what needs no unescaping, and returns where it ends.
///
/// Text with escapes has one every few words, so most of these pieces are shorter than a call to copy
/// them would be worth: the first are copied in blocks of a fixed size, a little too far, and cut back.
#[inline]
fn push_plain(json: &str, mut at: usize, text: &mut String) -> usize {
    const BLOCK: usize = skip::BLOCK;
    for _ in 0..4 {
        // Not the end of a character, or not that much left.
        let Some(block) = json.get(at..at + BLOCK) else { break };
        let Some(bytes) = block.as_bytes().first_chunk() else { break };
        text.push_str(block);
        let plain = skip::plain_in(bytes);
        if plain < BLOCK {
            // A special byte is ASCII, so a character begins there.
            text.truncate(text.len() - BLOCK + plain);
            return at + plain;
        }
        at += BLOCK;
    }
    let end = skip::plain(json.as_bytes(), at);
    // Both ends are next to a quote or a backslash, so whole characters lie between them.
    text.push_str(&json[at..end]);
    end
}

/// Appends the character of the escape sequence at `at`, and returns the end of the sequence.
#[inline]
fn unescape(bytes: &[u8], at: usize, text: &mut String) -> Result<usize, Stop> {
    let kind = bytes.get(at + 1).copied().unwrap_or_default();
    let plain = SIMPLE[usize::from(kind)];
    if plain != 0 {
        text.push(char::from(plain));
        return Ok(at + 2);
    }
    let (character, end) = code_point(bytes, at)?;
    text.push(character);
    Ok(end)
}

/// Maps the character behind a backslash to the escaped character. A table, because a branch would be
/// mispredicted too often.
const SIMPLE: [u8; 256] = {
    let mut table = [0; 256];
    let pairs = [
        (b'"', b'"'),
        (b'\\', b'\\'),
        (b'/', b'/'),
        (b'b', 0x8),
        (b'f', 0xc),
        (b'n', b'\n'),
        (b'r', b'\r'),
        (b't', b'\t'),
    ];
    let mut i = 0;
    while i < pairs.len() {
        table[pairs[i].0 as usize] = pairs[i].1;
        i += 1;
    }
    table
};

/// The character that starts with the `\uXXXX` at `at`, and where it ends.
fn code_point(bytes: &[u8], at: usize) -> Result<(char, usize), Stop> {
    let end = skip::escape(bytes, at)?;
    let unit = |at: usize| {
        let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let pair = [unit(at), unit(end)].map(Option::unwrap_or_default);
    Ok(match char::decode_utf16(pair).next() {
        Some(Ok(character)) => (character, end + if character.len_utf16() == 2 { 6 } else { 0 }),
        _ => (char::REPLACEMENT_CHARACTER, end),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::scanner::Scanner;

    fn text(json: &str) -> String {
        Scanner::new(json).string().unwrap().into_owned()
    }

    #[test]
    fn surrogates_pair_up_or_become_the_replacement_character() {
        assert_eq!(text(r#""\ud83d\ude00!""#), "😀!");
        assert_eq!(text(r#""\uD83D\uDE00""#), "😀");
        assert_eq!(text(r#""\ud83d!""#), "\u{fffd}!");
        assert_eq!(text(r#""\ude00\ud83d""#), "\u{fffd}\u{fffd}");
        assert_eq!(text(r#""\ud83dA""#), "\u{fffd}A");
        assert_eq!(text(r#""\ud83d\u0041""#), "\u{fffd}A");
        assert_eq!(text(r#""\ud83d\n""#), "\u{fffd}\n");
    }

    #[test]
    fn every_escape_stands_for_its_character() {
        assert_eq!(text(r#""\"\\\/\b\f\n\r\t\u00e9\u0000""#), "\"\\/\u{8}\u{c}\n\r\té\0");
    }

    #[test]
    fn a_string_is_checked_behind_its_first_escape_too() {
        for bad in [
            r#""\n\x""#,
            r#""\n\u12""#,
            r#""\n\u12g4""#,
            "\"\\n\n\"",
            r#""\n"#,
            r#""\"#,
            r#""\u+123""#,
        ] {
            assert!(Scanner::new(bad).string().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_text_keeps_no_more_than_twice_the_room_it_needs() {
        for words in [1, 100, 10_000] {
            let value = r"word\n".repeat(words);
            // The text that follows could be part of the string.
            let message = format!(r#""{value}",{}"#, "9".repeat(1 << 20));
            let text = text(&message);
            assert_eq!(text, "word\n".repeat(words));
            assert!(text.capacity() <= 2 * text.len(), "{} for {}", text.capacity(), text.len());
        }
    }

    proptest! {
        #[test]
        fn unescapes_text_escaped_by_serde_json(words in prop::collection::vec(any::<String>(), 0..4)) {
            let whole = words.join(" and then some plain text between the escapes \n");
            prop_assert_eq!(text(&serde_json::to_string(&whole).unwrap()), whole);
        }
    }
}
