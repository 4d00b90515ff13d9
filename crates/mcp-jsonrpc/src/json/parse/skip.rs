//! Finds the ends of JSON values: plain functions over bytes, and the only hot loops of this crate.
//!
//! Each takes the position where something starts and returns the position behind it, having
//! checked every byte on the way. Positions live in registers and errors are made elsewhere, which
//! is what lets these loops run several times faster than the code that calls them.

/// The nesting limit. It equals that of `serde_json`, so that every accepted value can
/// be read by it later.
pub(crate) const MAX_DEPTH: u32 = 127;

/// Why a value could not be stepped over, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub(crate) at: usize,
    pub(crate) fault: Fault,
}

/// The reason a scan stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// This belongs there, and something else stands there.
    Expected(&'static str),
    /// This stands there, and it is not JSON.
    Syntax(&'static str),
}

#[cold]
fn expected(what: &'static str, at: usize) -> Stop {
    Stop { at, fault: Fault::Expected(what) }
}

#[cold]
fn syntax(what: &'static str, at: usize) -> Stop {
    Stop { at, fault: Fault::Syntax(what) }
}

/// Past the white space at `at`.
#[inline]
pub(crate) fn space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Past the value that starts at `at`.
pub(crate) fn value(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    value_in(bytes, at, Shallow::default())
}

/// Skips one value at any depth, for callers that do not read its contents.
pub(crate) fn deep_value(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    value_in(bytes, at, Deep::default())
}

/// The containers that are open, and whether each is an object: no recursion.
trait Open {
    /// Pushes one level; `false` if the stack is full.
    fn push(&mut self, is_object: bool) -> bool;
    /// The innermost one.
    fn last(&self) -> Option<bool>;
    fn pop(&mut self);
}

/// One bit for each, 1 for an object: no allocation.
#[derive(Default)]
struct Shallow {
    kinds: u128,
    depth: u32,
}

impl Open for Shallow {
    #[inline]
    fn push(&mut self, is_object: bool) -> bool {
        if self.depth >= MAX_DEPTH {
            return false;
        }
        self.depth += 1;
        self.kinds = self.kinds << 1 | u128::from(is_object);
        true
    }

    #[inline]
    fn last(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.kinds & 1 == 1)
    }

    #[inline]
    fn pop(&mut self) {
        self.kinds >>= 1;
        self.depth -= 1;
    }
}

/// As many as the text has opening brackets, which its own limit bounds.
#[derive(Default)]
struct Deep(Vec<bool>);

impl Open for Deep {
    fn push(&mut self, is_object: bool) -> bool {
        self.0.push(is_object);
        true
    }

    fn last(&self) -> Option<bool> {
        self.0.last().copied()
    }

    fn pop(&mut self) {
        self.0.pop();
    }
}

#[inline]
fn value_in(bytes: &[u8], mut at: usize, mut open: impl Open) -> Result<usize, Stop> {
    'value: loop {
        at = space(bytes, at);
        match bytes.get(at) {
            Some(b'"') => at = string(bytes, at + 1)?,
            Some(&bracket @ (b'{' | b'[')) => {
                if !open.push(bracket == b'{') {
                    return Err(syntax("values nested too deeply", at));
                }
                at = space(bytes, at + 1);
                // An opening bracket and its closing one are two apart in ASCII.
                if bytes.get(at) != Some(&(bracket + 2)) {
                    if bracket == b'{' {
                        at = name(bytes, at)?;
                    }
                    continue 'value;
                }
            }
            Some(b'-' | b'0'..=b'9') => at = number(bytes, at)?,
            Some(b't') => at = literal(bytes, at, "true")?,
            Some(b'f') => at = literal(bytes, at, "false")?,
            Some(b'n') => at = literal(bytes, at, "null")?,
            _ => return Err(expected("a JSON value", at)),
        }
        // A value just ended, or a container was opened that is empty.
        while let Some(in_object) = open.last() {
            at = space(bytes, at);
            match bytes.get(at) {
                Some(b',') => {
                    at += 1;
                    if in_object {
                        at = name(bytes, space(bytes, at))?;
                    }
                    continue 'value;
                }
                Some(b'}') if in_object => at += 1,
                Some(b']') if !in_object => at += 1,
                _ => return Err(expected("a comma or a closing bracket", at)),
            }
            open.pop();
        }
        return Ok(at);
    }
}

/// Past `"name":`.
#[inline]
fn name(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    if bytes.get(at) != Some(&b'"') {
        return Err(expected("a string", at));
    }
    let at = space(bytes, string(bytes, at + 1)?);
    if bytes.get(at) == Some(&b':') { Ok(at + 1) } else { Err(expected("a colon", at)) }
}

/// The position after the string that starts at `at`, behind its opening quote.
#[inline]
fn string(bytes: &[u8], mut at: usize) -> Result<usize, Stop> {
    loop {
        at = plain(bytes, at);
        match bytes.get(at) {
            Some(b'\\') => at = escape(bytes, at)?,
            _ => return closing_quote(bytes, at),
        }
    }
}

/// Past the quote, escape or control character at `at` inside a string.
#[inline]
pub(crate) fn closing_quote(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    match bytes.get(at) {
        Some(b'"') => Ok(at + 1),
        Some(_) => Err(syntax("a control character in a string", at)),
        None => Err(syntax("a string without an end", at)),
    }
}

/// Past the escape sequence at `at`.
#[inline]
pub(crate) fn escape(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u')
            if bytes
                .get(at + 2..at + 6)
                .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
        {
            Ok(at + 6)
        }
        _ => Err(syntax("an unknown escape in a string", at)),
    }
}

/// Past the number at `at`.
#[inline]
pub(crate) fn number(bytes: &[u8], mut at: usize) -> Result<usize, Stop> {
    at += usize::from(bytes.get(at) == Some(&b'-'));
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        Some(b'1'..=b'9') => digits(bytes, at),
        _ => return Err(expected("a number", at)),
    };
    if bytes.get(at) == Some(&b'.') {
        let end = digits(bytes, at + 1);
        if end == at + 1 {
            return Err(syntax("a number that ends in a point", at));
        }
        at = end;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let start = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(bytes, start);
        if end == start {
            return Err(syntax("a number without its exponent", at));
        }
        at = end;
    }
    Ok(at)
}

#[inline]
fn digits(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b'0'..=b'9')) {
        at += 1;
    }
    at
}

/// Past `word`, which is a literal.
#[inline]
pub(crate) fn literal(bytes: &[u8], at: usize, word: &'static str) -> Result<usize, Stop> {
    let end = at + word.len();
    if bytes.get(at..end) == Some(word.as_bytes()) {
        Ok(end)
    } else {
        Err(syntax("an unknown word", at))
    }
}

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;
/// Names and short values are shorter than this.
const SHORT: usize = 32;

/// The position of the first quote, backslash or control character from `at` on, or the end.
///
/// Names and short values are scanned eight bytes at a time. Long ones use a loop that the compiler
/// turns into vector instructions, which pays for a megabyte of text.
#[inline]
pub(crate) fn plain(bytes: &[u8], mut at: usize) -> usize {
    let long = at + SHORT;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        if let Some(special) = first_special(*word) {
            return at + special;
        }
        at += 8;
        if at == long {
            at = plain_blocks(bytes, at);
        }
    }
    bytes[at..].iter().position(|&b| is_special(b)).map_or(bytes.len(), |n| at + n)
}

/// How many bytes [`plain_in`] looks at.
pub(crate) const BLOCK: usize = 32;

/// How many bytes of `block` come before the first quote, backslash or control character.
///
/// Branch-free: in text with many escapes the next one cannot be predicted, and a misprediction
/// costs more than looking at all four words.
#[inline]
pub(crate) fn plain_in(block: &[u8; BLOCK]) -> usize {
    let (words, _) = block.as_chunks::<8>();
    let mut first = BLOCK;
    for at in (0..words.len()).rev() {
        let special = special_bytes(words[at]);
        let position = at * 8 + special.trailing_zeros() as usize / 8;
        first = if special == 0 { first } else { position };
    }
    first
}

/// Past the blocks from `at` on that have nothing special in them.
fn plain_blocks(bytes: &[u8], at: usize) -> usize {
    let (blocks, _) = bytes[at..].as_chunks::<32>();
    let plain = blocks.iter().take_while(|block| is_plain(block)).count();
    at + plain * 32
}

/// Looks at all of `block` even when its first byte decides: that is what makes it vectors.
#[inline]
fn is_plain(block: &[u8; 32]) -> bool {
    block.iter().fold(0, |seen, &byte| seen | u8::from(is_special(byte))) == 0
}

#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "branches keep the loop over blocks from vectors")]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// The position of the first special byte among eight.
#[inline]
fn first_special(word: [u8; 8]) -> Option<usize> {
    let special = special_bytes(word);
    (special != 0).then(|| special.trailing_zeros() as usize / 8)
}

/// The high bit of each byte that is special. Bits above the lowest set one may be wrong, since
/// borrows travel upwards; the lowest one is right.
#[inline]
fn special_bytes(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    // With this bit turned a quote is the byte behind the control characters, and nothing else is: one
    // comparison is enough for both.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (quote_or_control | backslash) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_special_among_eight_as_it_is_alone() {
        for byte in 0..=u8::MAX {
            let special = is_special(byte).then_some(0);
            assert_eq!(first_special([byte; 8]), special, "{byte:#x}");
            // Behind the byte that a borrow could come from.
            let behind = is_special(byte).then_some(1);
            assert_eq!(first_special([b'#', byte, 0x80, 0xff, b' ', b'!', b'~', 0x7f]), behind);
        }
    }

    #[test]
    fn a_special_byte_is_found_at_every_offset() {
        for length in 0..200 {
            for special in [b'"', b'\\', 0x1f, b'\n'] {
                let mut bytes = vec![b'x'; length];
                bytes.push(special);
                bytes.extend_from_slice("é\"\\".as_bytes());
                assert_eq!(plain(&bytes, 0), length);
            }
        }
    }
}
