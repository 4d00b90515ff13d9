//! The key of a log.

use std::{fmt, io};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

const BYTES: usize = 32;

/// A keyed hash.
pub(crate) type Seal = [u8; BYTES];

/// The key of an audit log. Whoever has it can write lines that [`verify`](crate::verify) accepts, so it belongs in a
/// secret store.
///
/// ```
/// use mcp_audit::AuditKey;
///
/// let key = AuditKey::generate()?;
/// let restored = AuditKey::from_text(&key.to_text()).expect("the text of a key");
/// assert_eq!(*restored.to_text(), *key.to_text());
/// assert_eq!(format!("{key:?}"), "AuditKey(..)");
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct AuditKey {
    bytes: Zeroizing<Seal>,
    /// One key per purpose, so that the hash of an argument can never serve as the seal of a line.
    lines: Hmac<Sha256>,
    payloads: Hmac<Sha256>,
    heads: Hmac<Sha256>,
}

impl AuditKey {
    /// Creates a random key.
    ///
    /// # Errors
    /// When the system has no source of randomness.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = Zeroizing::new([0; BYTES]);
        getrandom::fill(&mut *bytes).map_err(io::Error::other)?;
        Ok(Self::new(bytes))
    }

    /// Reads the key that [`to_text`](Self::to_text) wrote; `None` for any other text.
    pub fn from_text(text: &str) -> Option<Self> {
        from_hex(text.trim()).map(|bytes| Self::new(Zeroizing::new(bytes)))
    }

    /// The key as text, for a secret store.
    pub fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(hex(&*self.bytes))
    }

    fn new(bytes: Zeroizing<Seal>) -> Self {
        let derived = |purpose: &str| {
            let key = Zeroizing::new(seal(&keyed(&*bytes), &[purpose.as_bytes()]));
            keyed(&*key)
        };
        Self { lines: derived("line"), payloads: derived("payload"), heads: derived("head"), bytes }
    }

    /// The seal of a line, which depends on the line before it.
    pub(crate) fn of_line(&self, previous: &Seal, body: &str) -> Seal {
        seal(&self.lines, &[previous, body.as_bytes()])
    }

    /// The keyed hash of arguments or a result.
    pub(crate) fn of_payload(&self, payload: &[u8]) -> Seal {
        seal(&self.payloads, &[payload])
    }

    /// The seal of the file that names the last line.
    pub(crate) fn of_head(&self, head: &str) -> Seal {
        seal(&self.heads, &[head.as_bytes()])
    }
}

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKey(..)")
    }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key of any length")
}

fn seal(key: &Hmac<Sha256>, parts: &[&[u8]]) -> Seal {
    let mut mac = key.clone();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// The bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|half| char::from(DIGITS[usize::from(half)]));
    bytes.iter().flat_map(digits).collect()
}

/// Reads a seal that [`hex`] wrote.
pub(crate) fn from_hex(text: &str) -> Option<Seal> {
    let is_written_by_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * BYTES || !text.bytes().all(is_written_by_hex) {
        return None;
    }
    let mut seal = [0; BYTES];
    for (byte, digits) in seal.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(seal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_different_purposes_differ() {
        let key = AuditKey::generate().unwrap();
        let seals = [key.of_line(&[0; 32], ""), key.of_payload(&[0; 32]), key.of_head("")];
        assert_ne!(seals[0], seals[1]);
        assert_ne!(seals[1], seals[2]);
        assert_ne!(seal(&keyed(&[0; 32]), &[]), key.of_payload(&[]));
    }

    #[test]
    fn only_the_text_of_a_key_is_a_key() {
        let text = "0123456789abcdef".repeat(4);
        assert_eq!(*AuditKey::from_text(&text).unwrap().to_text(), text);
        for wrong in ["", "00", &text.to_uppercase(), &text[1..], &format!("{text}0")] {
            assert!(AuditKey::from_text(wrong).is_none(), "{wrong}");
        }
    }

    /// Test case 2 of RFC 4231: the hash is HMAC-SHA-256 and not only something like it.
    #[test]
    fn seal_is_hmac_sha_256() {
        let found = hex(&seal(&keyed(b"Jefe"), &[b"what do ya want ", b"for nothing?"]));
        assert_eq!(found, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
