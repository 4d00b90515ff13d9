//! Token revocation: <https://www.rfc-editor.org/rfc/rfc7009>.

use super::form_post::FormEndpoint;
use crate::{oauth::form::Form, secret::Secret};

const ASKING: &str = "the revocation of a token";

/// Revokes `token`, and returns whether the server confirmed it.
pub(crate) async fn revoke(endpoint: FormEndpoint<'_>, token: &Secret, kind: &str) -> bool {
    let form = Form::default().with("token", token.expose()).with("token_type_hint", kind);
    match endpoint.post(form, ASKING).await {
        // 200 also for a token that the server does not know: https://www.rfc-editor.org/rfc/rfc7009#section-2.2
        Ok(response) => (200..300).contains(&response.status),
        Err(error) => {
            tracing::debug!(%error, "could not revoke a token");
            false
        }
    }
}
