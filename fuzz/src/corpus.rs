//! Corpus files: one file per target, one input per line.
//!
//! Bytes that are not printable ASCII are escaped as `\n`, `\r`, `\t`, `\\` and `\xNN`, so that changes can be
//! reviewed. Lines that begin with `#` are comments. Lines below `FOUND` were found by libFuzzer; [`pack`] replaces
//! them.

use std::{fmt::Write as _, fs, io, path::PathBuf};

use crate::Target;

/// The comment above the inputs that libFuzzer found.
const FOUND: &str = "# Found by libFuzzer; `cargo xtask fuzz --guided` replaces what follows.";
/// The maximum size of these inputs; the shortest are kept.
const MOST_BYTES: usize = 4 << 10;
const LONGEST: usize = 512;

/// The file with the corpus of a target.
pub fn path(target: &Target) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus");
    folder.join(target.name).with_extension("txt")
}

/// The inputs of a target with their line numbers.
pub fn read(target: &Target) -> io::Result<Vec<(usize, Vec<u8>)>> {
    let text = fs::read_to_string(path(target))?;
    let lines = text.lines().enumerate();
    let inputs = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    Ok(inputs.map(|(at, line)| (at + 1, unescape(line))).collect())
}

/// Replaces the inputs found earlier by the shortest of `inputs`.
pub fn pack(target: &Target, mut inputs: Vec<Vec<u8>>) -> io::Result<()> {
    let text = fs::read_to_string(path(target))?;
    let written = text.split_once(FOUND).map_or(&*text, |(written, _)| written).trim_end();
    inputs.retain(|input| !input.is_empty() && input.len() <= LONGEST);
    inputs.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    let mut packed = format!("{written}\n\n{FOUND}\n");
    let start = packed.len();
    for line in inputs.iter().map(|input| escape(input)) {
        if packed.len() - start + line.len() > MOST_BYTES {
            break;
        }
        if !written.lines().any(|known| known == line) {
            let _ = writeln!(packed, "{line}");
        }
    }
    fs::write(path(target), packed)
}

/// Escapes an input as a line.
pub fn escape(input: &[u8]) -> String {
    let mut line = String::with_capacity(input.len());
    let last = input.len().saturating_sub(1);
    for (at, byte) in input.iter().enumerate() {
        // Editors strip trailing whitespace, and a leading `#` begins a comment.
        let at_end = at == 0 || at == last;
        match byte {
            b'\\' => line.push_str("\\\\"),
            b'\n' => line.push_str("\\n"),
            b'\r' => line.push_str("\\r"),
            b'\t' => line.push_str("\\t"),
            b' ' | b'#' if at_end => drop(write!(line, "\\x{byte:02x}")),
            b' '..=b'~' => line.push(char::from(*byte)),
            _ => drop(write!(line, "\\x{byte:02x}")),
        }
    }
    line
}

/// The input of a line. Invalid escapes are taken literally.
pub fn unescape(line: &str) -> Vec<u8> {
    let mut input = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, taken) = match (first, after) {
            (b'\\', [b'n', ..]) => (b'\n', 1),
            (b'\\', [b'r', ..]) => (b'\r', 1),
            (b'\\', [b't', ..]) => (b'\t', 1),
            (b'\\', [b'\\', ..]) => (b'\\', 1),
            (b'\\', [b'x', high, low, ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => (b'\\', 0),
            },
            _ => (*first, 0),
        };
        input.push(byte);
        rest = &after[taken..];
    }
    input
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_round_trip_through_lines() {
        let all: Vec<u8> = (0..=255).collect();
        for input in [&all[..], b" # ", b"#", b"a\\x20", b"{\"a\":\"\\n\"}\r\n", "é".as_bytes()] {
            let line = escape(input);
            assert_eq!(unescape(&line), input, "{line}");
            assert!(line.is_ascii() && line.trim() == line && !line.starts_with('#'), "{line}");
        }
        assert_eq!(escape(br#"{"a": "b"}"#), r#"{"a": "b"}"#);
    }
}
