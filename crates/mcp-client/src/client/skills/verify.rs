//! Verification of bytes against a listed size and digest.

use sha2::{Digest as _, Sha256};

use super::SkillError;

/// A SHA-256 digest.
pub(super) type Digest = [u8; 32];

/// Parses `sha256:` and 64 hexadecimal digits, the only kind of digest we can verify.
pub(super) fn digest(text: &str) -> Option<Digest> {
    let digits = text.strip_prefix("sha256:")?.as_bytes();
    let mut digest = Digest::default();
    if digits.len() != 2 * digest.len() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? << 4 | low?).ok()?;
    }
    Some(digest)
}

/// Checks bytes against the listed size and digest, the size first because it is cheap.
pub(super) fn check(bytes: &[u8], listed: u64, digest: &Digest) -> Result<(), SkillError> {
    let read = bytes.len() as u64;
    if read != listed {
        return Err(SkillError::WrongSize { listed, read });
    }
    if Sha256::digest(bytes).as_slice() != digest {
        return Err(SkillError::WrongDigest);
    }
    Ok(())
}

/// Decodes Base64 with the standard alphabet and padding.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.chunks(4) {
        let mut bits = 0;
        for at in 0..4 {
            bits = bits << 6 | group.get(at).map_or(Some(0), |digit| sextet(*digit))?;
        }
        // A group of n digits encodes n - 1 bytes.
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

fn sextet(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(base64(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(base64("+/+/").unwrap(), [0xfb, 0xff, 0xbf]);
        for wrong in
            ["Z", "Zg", "Zg=", "Z===", "====", "=", "Zm9v\n", "Zm 9", "-_-_", "Zg==Zg==", "é=="]
        {
            assert_eq!(base64(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_sha256_digests_are_parsed() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let known = digest(&format!("sha256:{empty}")).unwrap();
        assert!(check(b"", 0, &known).is_ok());
        assert_eq!(digest(&format!("sha256:{}", empty.to_uppercase())), Some(known));
        for wrong in [
            empty.to_owned(),
            format!("sha512:{empty}"),
            format!("SHA256:{empty}"),
            format!("sha256:{}", &empty[1..]),
            format!("sha256:{empty}0"),
            format!("sha256:+{}", &empty[1..]),
            format!("sha256:é{}", &empty[2..]),
            String::new(),
        ] {
            assert_eq!(digest(&wrong), None, "{wrong}");
        }
    }
}
