//! Requests to the endpoints of an authorization server, and their responses.
//!
//! The crate `oauth2` builds the front-channel request ([`authorize_url`]): URL, `state` and PKCE. Requests to the
//! token, device and revocation endpoints use this crate's [forms](super::form) and readers, because `oauth2` 5
//! lacks the properties below. The tests named here run both on the same responses.
//!
//! - **Wiped memory.** Its tokens, codes and client secrets are plain `String`s, both bodies are plain `Vec<u8>`s
//!   that it drops internally, and its token responses implement `Serialize`. Ours are wiped on drop; the buffers of
//!   the HTTP stack are not (`oauth2_crate_neither_wipes_nor_hides_tokens`).
//! - **Errors without the response.** `RequestTokenError::Parse` keeps the body, and with it the tokens
//!   (`oauth2_crate_keeps_response_bodies_in_errors`).
//! - **Responses of real servers.** It accepts status 200 and `application/json` only, ignores `error` in a
//!   response with status 200, and does not treat 429 and 5xx as transient failures
//!   (`oauth2_crate_rejects_responses_of_real_servers`).
//! - **Device codes.** `expires_in` and `interval` must be numbers (`oauth2_crate_rejects_lenient_device_codes`), the
//!   verification URL is not checked (`oauth2_crate_accepts_unsafe_verification_urls`), and polling starts before the
//!   first interval (`oauth2_crate_polls_before_the_first_interval`).
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
