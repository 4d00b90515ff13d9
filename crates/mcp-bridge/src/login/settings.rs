//! Converts the OAuth settings of a configuration into options of `mcp-auth`.

use mcp_auth::{ClientProof, Grant, OAuthOptions, PreRegistered, Secret, Source};
use mcp_config::{Template, model::OAuth};

/// Applies the settings in `oauth` to `options`. The loopback port is not one of them: it belongs to the code that
/// opens the browser.
pub(super) fn apply(options: &mut OAuthOptions, oauth: &OAuth) {
    let text = |template: &Option<Template>| {
        template.as_ref().map(|template| template.expose().to_owned())
    };
    options.scopes.clone_from(&oauth.scopes);
    options.metadata_url = text(&oauth.metadata_url);
    options.authorization_url = text(&oauth.authorization_url);
    options.token_url = text(&oauth.token_url);
    options.resource = text(&oauth.resource);
    options.redirect_uri = text(&oauth.redirect_uri);
    options.client = oauth.client_id.as_ref().map(|id| {
        let proof = oauth.client_secret.as_ref().map_or(ClientProof::None, |secret| {
            ClientProof::Secret(Source::Value(Secret::new(secret.expose())))
        });
        PreRegistered::new(id.expose(), proof)
    });
    // A client with a secret and a token endpoint, but no authorization page, uses the client credentials grant.
    let is_machine = oauth.token_url.is_some()
        && oauth.authorization_url.is_none()
        && oauth.client_id.is_some()
        && oauth.client_secret.is_some();
    if is_machine {
        options.grant = Grant::ClientCredentials;
    }
}
