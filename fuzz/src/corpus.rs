//! Inputs worth keeping: one file for each target, one input a line.
//!
//! A line is text with `\n`, `\r`, `\t`, `\\` and `\xNN` for what is not printable ASCII, so that a
//! person can read what a change adds. Lines that begin with `#` are for people. What is below
//! `FOUND` was found by libFuzzer and is replaced by [`pack`].

use std::{fmt::Write as _, fs, io, path::PathBuf};

use crate::Target;

/// Stands above what nobody wrote by hand.
const FOUND: &str = "# Found by libFuzzer; `cargo xtask fuzz --guided` replaces what follows.";
/// How much of that is kept: the shortest first.
const MOST_BYTES: usize = 4 << 10;
const LONGEST: usize = 512;

/// Where the corpus of a target is.
pub fn path(target: &Target) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus");
    folder.join(target.name).with_extension("txt")
}

/// The inputs of a target, by the number of their line.
pub fn read(target: &Target) -> io::Result<Vec<(usize, Vec<u8>)>> {
    let text = fs::read_to_string(path(target))?;
    let lines = text.lines().enumerate();
    let inputs = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    Ok(inputs.map(|(at, line)| (at + 1, unescape(line))).collect())
}

/// Replaces what was found before by the shortest of `inputs`.
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

/// One input as a line.
pub fn escape(input: &[u8]) -> String {
    let mut line = String::with_capacity(input.len());
    let last = input.len().saturating_sub(1);
    for (at, byte) in input.iter().enumerate() {
        // Editors eat white space at the ends of lines, and a hash there means something else.
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

/// What a line stands for. What is no escape stands for itself.
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
    fn any_input_survives_its_line() {
        let all: Vec<u8> = (0..=255).collect();
        for input in [&all[..], b" # ", b"#", b"a\\x20", b"{\"a\":\"\\n\"}\r\n", "é".as_bytes()] {
            let line = escape(input);
            assert_eq!(unescape(&line), input, "{line}");
            assert!(line.is_ascii() && line.trim() == line && !line.starts_with('#'), "{line}");
        }
        assert_eq!(escape(br#"{"a": "b"}"#), r#"{"a": "b"}"#);
    }
}
