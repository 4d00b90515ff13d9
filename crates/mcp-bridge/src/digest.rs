//! Digests as text, for names and keys.

use std::fmt::Write as _;

/// The SHA-256 of `parts` in hexadecimal. Each part is hashed with its length, so that moving a boundary changes it.
#[cfg(feature = "sandbox")]
pub(crate) fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    use sha2::{Digest as _, Sha256};

    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(all(test, feature = "sandbox"))]
mod tests {
    use super::*;

    #[test]
    fn digest_depends_on_the_boundaries_of_its_parts() {
        let of = |parts: &[&str]| of_parts(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&["a", "bc"]).len(), 64);
        assert_eq!(of(&["a", "bc"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
        assert_eq!(hex(&[0, 0xab]), "00ab");
    }
}
