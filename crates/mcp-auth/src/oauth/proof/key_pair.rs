//! Key pairs of the crypto provider that the features choose, which is also the one for TLS.

use zeroize::Zeroizing;

use crate::error::LoginError;

#[cfg(any(feature = "aws-lc-rs", feature = "ring"))]
pub(super) use self::provided::KeyPair;
#[cfg(not(any(feature = "aws-lc-rs", feature = "ring")))]
pub(super) use self::unavailable::KeyPair;

#[cfg(any(feature = "aws-lc-rs", feature = "ring"))]
mod provided {
    #[cfg(feature = "aws-lc-rs")]
    use aws_lc_rs as provider;
    use provider::{
        rand::SystemRandom,
        rsa,
        signature::{
            ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256,
        },
    };
    #[cfg(not(feature = "aws-lc-rs"))]
    use ring as provider;

    use super::{LoginError, Zeroizing};

    const FAILED: LoginError = LoginError::BadCredential("signing failed");

    pub(crate) enum KeyPair {
        P256(EcdsaKeyPair),
        Rsa(rsa::KeyPair),
    }

    impl KeyPair {
        /// Generates a P-256 key in PKCS#8.
        pub(crate) fn generate() -> Result<Zeroizing<Vec<u8>>, LoginError> {
            let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let der = EcdsaKeyPair::generate_pkcs8(curve, &SystemRandom::new())
                .map_err(|_| LoginError::BadCredential("a key could not be generated"))?;
            Ok(Zeroizing::new(der.as_ref().to_vec()))
        }

        pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, LoginError> {
            let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
            #[cfg(feature = "aws-lc-rs")]
            let p256 = EcdsaKeyPair::from_pkcs8(curve, der);
            #[cfg(not(feature = "aws-lc-rs"))]
            let p256 = EcdsaKeyPair::from_pkcs8(curve, der, &SystemRandom::new());
            if let Ok(pair) = p256 {
                return Ok(Self::P256(pair));
            }
            let unfit = |_| LoginError::BadCredential("the key is neither P-256 nor RSA");
            rsa::KeyPair::from_pkcs8(der).map(Self::Rsa).map_err(unfit)
        }

        /// The `alg` of signatures by this key: <https://www.rfc-editor.org/rfc/rfc7518#section-3.1>.
        pub(crate) fn algorithm(&self) -> &'static str {
            match self {
                Self::P256(_) => "ES256",
                Self::Rsa(_) => "RS256",
            }
        }

        /// Returns the two coordinates of a P-256 public key.
        pub(crate) fn public_point(&self) -> Option<(&[u8], &[u8])> {
            let Self::P256(pair) = self else { return None };
            // Uncompressed: the byte 4, then both coordinates.
            Some(pair.public_key().as_ref().get(1..65)?.split_at(32))
        }

        pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, LoginError> {
            let random = SystemRandom::new();
            match self {
                Self::P256(pair) => {
                    let signature = pair.sign(&random, message).map_err(|_| FAILED)?;
                    Ok(signature.as_ref().to_vec())
                }
                Self::Rsa(pair) => {
                    #[cfg(feature = "aws-lc-rs")]
                    let len = pair.public_modulus_len();
                    #[cfg(not(feature = "aws-lc-rs"))]
                    let len = pair.public().modulus_len();
                    let mut signature = vec![0; len];
                    pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                        .map_err(|_| FAILED)?;
                    Ok(signature)
                }
            }
        }
    }
}

/// Without a provider, logins work up to the first signature. TLS may still have a provider: the one of the host.
#[cfg(not(any(feature = "aws-lc-rs", feature = "ring")))]
mod unavailable {
    use super::{LoginError, Zeroizing};

    const NO_PROVIDER: LoginError = LoginError::BadCredential(
        "keys have no crypto provider: enable the feature `aws-lc-rs` or `ring` of mcp-auth",
    );

    pub(crate) enum KeyPair {}

    impl KeyPair {
        pub(crate) fn generate() -> Result<Zeroizing<Vec<u8>>, LoginError> {
            Err(NO_PROVIDER)
        }

        pub(crate) fn from_pkcs8(_: &[u8]) -> Result<Self, LoginError> {
            Err(NO_PROVIDER)
        }

        pub(crate) fn algorithm(&self) -> &'static str {
            match *self {}
        }

        pub(crate) fn public_point(&self) -> Option<(&[u8], &[u8])> {
            match *self {}
        }

        pub(crate) fn sign(&self, _: &[u8]) -> Result<Vec<u8>, LoginError> {
            match *self {}
        }
    }
}

#[cfg(test)]
#[cfg(feature = "aws-lc-rs")]
mod tests {
    //! The package has `ring` for its tests, which here is the other implementation.

    use ring::{
        rand::SystemRandom,
        signature::{
            ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
            RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
        },
    };

    use super::KeyPair;

    #[test]
    fn key_stored_by_ring_is_read_and_signs() {
        let (curve, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let der = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
        let theirs = EcdsaKeyPair::from_pkcs8(curve, der.as_ref(), &random).unwrap();
        let ours = KeyPair::from_pkcs8(der.as_ref()).unwrap();
        let public = theirs.public_key().as_ref();
        assert_eq!(ours.public_point(), Some((&public[1..33], &public[33..])));
        let signature = ours.sign(b"message").unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
        public.verify(b"message", &signature).unwrap();
    }

    #[test]
    fn generated_key_is_read_by_ring() {
        let der = KeyPair::generate().unwrap();
        let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
        EcdsaKeyPair::from_pkcs8(curve, &der, &SystemRandom::new()).unwrap();
    }

    #[test]
    fn rsa_signature_is_valid() {
        let generated =
            aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
        let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> =
            aws_lc_rs::encoding::AsDer::as_der(&generated).unwrap();
        let ours = KeyPair::from_pkcs8(der.as_ref()).unwrap();
        assert_eq!((ours.algorithm(), ours.public_point()), ("RS256", None));
        let public = aws_lc_rs::signature::KeyPair::public_key(&generated).as_ref();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
        public.verify(b"message", &ours.sign(b"message").unwrap()).unwrap();
    }
}
