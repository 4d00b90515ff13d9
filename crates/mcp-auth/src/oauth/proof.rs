//! Proofs sent with requests: signed JWTs, and `DPoP` keys that access tokens are bound to.

pub(crate) mod dpop;
pub(crate) mod jwt;
mod key_pair;
