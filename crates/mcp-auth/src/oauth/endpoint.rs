//! Requests to the endpoints of an authorization server, and their responses.
//!
//! The crate `oauth2` builds the front-channel request ([`authorize_url`]): URL, `state` and PKCE. Requests to the
//! token, device and revocation endpoints use this crate's [forms](super::form) and readers, because `oauth2` 5
//! lacks the properties below. The tests named here run both on the same responses.
//!
//! - **Wiped memory.** Its tokens, codes and client secrets are plain `String`s, both bodies are plain `Vec<u8>`s
//!   that it drops internally, and a token response must implement `Serialize`. Ours are
//!   [`Secret`](crate::Secret)s.
//! - **Errors without the response.** `RequestTokenError::Parse` keeps the body, and with it the tokens
//!   (`oauth2_crate_keeps_response_bodies_in_errors`).
//! - **Responses of real servers.** It accepts status 200 and `application/json` only, ignores `error` in a
//!   response with status 200, and does not treat 429 and 5xx as transient failures
//!   (`oauth2_crate_rejects_responses_of_real_servers`).
//! - **Device codes.** `expires_in` and `interval` must be numbers, the verification URL is not checked, and polling
//!   starts before the first interval and uses the system clock (`oauth2_crate_rejects_lenient_device_codes`).
//! - **Revocation on this machine.** It rejects every endpoint that is not `https`
//!   (`oauth2_crate_rejects_revocation_on_this_machine`).
//! - **Missing grants and proofs.** `jwt-bearer`, token exchange and `private_key_jwt` need our form and reader
//!   anyway, so those of `oauth2` would be a second pair.

pub(crate) mod authorize_url;
pub(crate) mod device_code;
pub(crate) mod form_post;
pub(crate) mod revoke;
pub(crate) mod token;

#[cfg(test)]
mod tests;
