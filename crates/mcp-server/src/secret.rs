//! Unguessable random names.

/// 192 random bits of the operating system in hexadecimal. `None` if it provides no randomness.
pub(crate) fn random_name() -> Option<String> {
    use std::fmt::Write as _;
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::with_capacity(48), |mut name, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_names_are_hex_and_unique() {
        let (one, other) = (random_name().unwrap(), random_name().unwrap());
        assert!(one.len() == 48 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, other);
    }
}
