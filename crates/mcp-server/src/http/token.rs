//! The token that clients send in `Authorization: Bearer`.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

use crate::secret::random_name;

/// A bearer token of at least [`AccessToken::SHORTEST`] characters. `Debug` does not show it.
///
/// ```
/// use mcp_server::http::AccessToken;
///
/// let token: AccessToken = "0123456789abcdef".parse()?;
/// assert_eq!(token.expose(), "0123456789abcdef");
/// assert!("short".parse::<AccessToken>().is_err());
/// # Ok::<(), mcp_server::http::TokenError>(())
/// ```
#[derive(Clone)]
pub struct AccessToken(Box<str>);

impl AccessToken {
    /// The fewest characters a token may have.
    pub const SHORTEST: usize = 16;

    /// A new token with 192 bits of randomness.
    ///
    /// # Errors
    /// When the operating system provides no randomness.
    pub fn generate() -> Result<Self, TokenError> {
        let text = random_name().ok_or(TokenError::NoRandomness)?;
        Ok(Self(text.into_boxed_str()))
    }

    /// The text of the token.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares hashes in constant time, so that the duration reveals nothing about the token.
    pub(super) fn is(&self, shown: &str) -> bool {
        let (one, other) = (Sha256::digest(self.0.as_bytes()), Sha256::digest(shown.as_bytes()));
        one.iter().zip(other.iter()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

impl FromStr for AccessToken {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::NotVisibleAscii);
        }
        if text.len() < Self::SHORTEST {
            return Err(TokenError::TooShort(text.len()));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken(..)")
    }
}

/// Why a text is not a valid token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It has this many characters, fewer than [`AccessToken::SHORTEST`].
    TooShort(usize),
    /// It contains spaces, control characters or non-ASCII characters.
    NotVisibleAscii,
    /// The operating system provided no randomness.
    NoRandomness,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shortest = AccessToken::SHORTEST;
        match self {
            Self::TooShort(length) => {
                write!(f, "the token has {length} characters; it needs at least {shortest}")
            }
            Self::NotVisibleAscii => {
                f.write_str("the token has characters other than visible ASCII")
            }
            Self::NoRandomness => f.write_str("the operating system provided no randomness"),
        }
    }
}

impl std::error::Error for TokenError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_unprintable_tokens_are_refused() {
        let error = |text: &str| text.parse::<AccessToken>().unwrap_err();
        assert_eq!(error(""), TokenError::TooShort(0));
        assert_eq!(error("fifteen-letters"), TokenError::TooShort(15));
        assert_eq!(error("sixteen letters!"), TokenError::NotVisibleAscii);
        assert_eq!(error("sixteen-lettersé"), TokenError::NotVisibleAscii);
        assert!("sixteen-letters!".parse::<AccessToken>().is_ok());
    }

    #[test]
    fn only_an_identical_token_matches() {
        let token: AccessToken = "0123456789abcdef".parse().unwrap();
        assert!(token.is("0123456789abcdef"));
        for other in ["0123456789abcdeg", "0123456789abcde", "0123456789abcdef0", ""] {
            assert!(!token.is(other), "{other}");
        }
    }

    #[test]
    fn generated_tokens_are_long_and_hidden_from_debug() {
        let token = AccessToken::generate().unwrap();
        assert!(token.expose().len() >= 40);
        assert!(!format!("{token:?}").contains(token.expose()));
    }

    #[test]
    fn hashes_are_compared_completely() {
        let token: AccessToken = "0123456789abcdef".parse().unwrap();
        // Some of these differ in a way that sums up to nothing over all bytes of the hash.
        assert!((0..4096).all(|number| !token.is(&format!("{number:016}"))));
    }

    #[test]
    fn errors_name_the_length_and_never_the_token() {
        let text = "short".parse::<AccessToken>().unwrap_err().to_string();
        assert_eq!(text, "the token has 5 characters; it needs at least 16");
        let text = "sixteen letters!".parse::<AccessToken>().unwrap_err().to_string();
        assert_eq!(text, "the token has characters other than visible ASCII");
        assert!(TokenError::NoRandomness.to_string().contains("no randomness"));
        let debug = format!("{:?}", "0123456789abcdef".parse::<AccessToken>().unwrap());
        assert_eq!(debug, "AccessToken(..)");
    }
}
