//! Names nobody can guess, and comparing without telling how far one got.

use sha2::{Digest as _, Sha256};

/// 192 bits from the operating system, in visible ASCII. `None` if it has none to give.
pub(crate) fn random_name() -> Option<String> {
    use std::fmt::Write as _;
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::with_capacity(48), |mut name, byte| {
        // Writing into a string cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    }))
}

/// Whether two secrets are the same, in a time that depends on neither's content: their hashes are
/// compared to the last bit.
#[cfg_attr(not(feature = "serve-http"), allow(dead_code, reason = "only HTTP has tokens"))]
pub(crate) fn same_secret(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (Sha256::digest(one), Sha256::digest(other));
    one.iter().zip(other.iter()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_visible_and_differ() {
        let (one, other) = (random_name().unwrap(), random_name().unwrap());
        assert!(one.len() == 48 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, other);
    }

    #[test]
    fn secrets_are_the_same_or_not() {
        assert!(same_secret(b"abc", b"abc"));
        assert!(!same_secret(b"abc", b"abd") && !same_secret(b"abc", b"ab"));
    }
}
