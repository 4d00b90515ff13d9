//! Fuzz targets for input from authorization servers and browsers.
#![expect(clippy::missing_panics_doc, reason = "fuzz targets report by panicking")]

use std::time::Duration;

use mcp_transport::net::Guard;
use url::Url;

use super::{
    client::{AuthMethod, Client},
    discover::urls::{is_about, issuer_urls, resource_urls},
    document::object,
    endpoint::{authorize_url::begin, device_code, token},
    metadata::{ResourceMetadata, ServerMetadata},
    scopes::Scopes,
};
use crate::{
    error::{LoginError, Refusal},
    http::HttpResponse,
    interact::{
        browser::is_fit_for_browser,
        callback::{Expected, Issuer},
        loopback::{page, target},
    },
    origin::same_origin,
    secret::Secret,
};

/// In upper case, so that it cannot pass as an error code.
const CANARY: &str = "C4NARY";
const ENDPOINT: &str = "https://mcp.example/v1/mcp";

/// Reads any discovery document: values are bounded, and derived URLs stay at their origin.
pub fn metadata(data: &[u8]) {
    if let Ok(resource) = ResourceMetadata::read(data) {
        assert!((1..=256).contains(&resource.authorization_servers.len()));
        assert!(resource.scopes_supported.len() <= 256 && resource.resource.len() <= 2048);
        if is_about(&resource.resource, ENDPOINT) {
            assert!(same_origin(&resource.resource, ENDPOINT));
        }
        for issuer in &resource.authorization_servers {
            for url in issuer_urls(issuer).unwrap_or_default() {
                assert!(same_origin(&url, issuer), "{url} is not of {issuer}");
                Guard::for_server(ENDPOINT).check_url(&url).ok();
            }
        }
        for url in resource_urls(&resource.resource, None) {
            assert!(same_origin(&url, &resource.resource), "{url} is somewhere else");
        }
    }
    if let Ok(server) = ServerMetadata::read(data) {
        assert!(!server.issuer.is_empty() && server.issuer.len() <= 2048);
        let lists = [&server.scopes_supported, &server.signing_algs, &server.dpop_algs];
        assert!(lists.iter().all(|list| list.len() <= 256));
        let scopes = Scopes::of(&server.scopes_supported);
        let param = scopes.to_param().unwrap_or_default();
        assert_eq!(Scopes::parse(&param), scopes);
    }
}

/// Reads any response of a token, device or registration endpoint: errors show no secret, and the polling interval
/// is bounded.
pub fn tokens(data: &[u8]) {
    let Some((&pick, body)) = data.split_first() else { return };
    let status = [200, 200, 200, 201, 400, 401, 403, 429, 500][usize::from(pick) % 9];
    let response = HttpResponse::new(status, Vec::new(), body.to_vec());
    let read = token::read(&response, "a token");
    if let Ok(token) = &read {
        assert!(token.access.expose().bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(!token.access.is_empty() && (200..300).contains(&status));
    }
    hides(&read.map(|token| token.access));
    let issued = device_code::read(&response);
    if let Ok(issued) = &issued {
        assert!(is_fit_for_browser(&issued.shown.verification_uri));
        assert!(issued.shown.verification_uri.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(!issued.shown.user_code.contains(char::is_control));
        assert!(issued.pause >= Duration::from_secs(1) && issued.pause < Duration::from_secs(600));
    }
    hides(&issued.map(|issued| issued.device_code));
    if let Some(client) =
        object(body).and_then(|document| Client::from_registration(&document, AuthMethod::None))
    {
        let again = Client::from_json(&client.to_json()).expect("a stored client");
        assert_eq!(format!("{again:?}"), format!("{client:?}"));
    }
}

fn hides(result: &Result<Secret, LoginError>) {
    assert!(!format!("{result:?}").contains(CANARY), "{result:?}");
    if let Err(error) = result {
        assert!(!error.to_string().contains(CANARY), "{error}");
        assert!(!error.to_failure("log in").message.contains(CANARY));
        if let LoginError::Denied(refusal) | LoginError::Refused { refusal, .. } = error {
            is_sanitized(refusal);
        }
    }
}

fn is_sanitized(refusal: &Refusal) {
    assert!((1..=64).contains(&refusal.code.len()) && refusal.code.is_ascii());
    let text = refusal.description.as_deref().unwrap_or_default();
    assert!(text.chars().count() <= 300 && !text.contains(char::is_control));
    let shown = page("no", text);
    assert_eq!(shown.matches('<').count(), page("no", "").matches('<').count(), "{shown}");
}

/// Builds an authorization URL from any metadata: it is encrypted or on this machine, has all required parameters, and
/// does not contain the PKCE verifier.
pub fn authorize_url(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let server = ServerMetadata {
        issuer: "https://as.example".into(),
        authorization_endpoint: Some(line().into()),
        code_challenge_methods: Some(vec!["S256".into()]),
        ..ServerMetadata::default()
    };
    let (client, scopes) = (line(), Scopes::parse(line()));
    let redirect = "http://127.0.0.1:1/callback";
    let Ok(begun) = begin(&server, client, redirect, ENDPOINT, &scopes) else { return };
    assert!(is_fit_for_browser(&begun.url), "{}", begun.url);
    assert!(!begun.url.contains(begun.verifier.expose()), "the URL contains the verifier");
    let url = Url::parse(&begun.url).expect("a URL");
    let has = |name: &str, value: &str| {
        let mut pairs = url.query_pairs();
        assert!(pairs.any(|(n, v)| n == name && v == value), "no {name} {value:?} in {url}");
    };
    has("state", begun.expected.state.expose());
    has("client_id", client);
    has("redirect_uri", redirect);
    has("resource", ENDPOINT);
    has("response_type", "code");
    has("code_challenge_method", "S256");
    if let Some(scopes) = scopes.to_param() {
        has("scope", &scopes);
    }
}

/// Reads any browser request and any pasted URL: a code is accepted only with our state, and with our issuer if `iss`
/// is present.
pub fn callback(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let redirected = match target(text, "/callback") {
        Some(target) => format!("http://127.0.0.1:1{target}"),
        None => text.to_owned(),
    };
    for needs_iss in [false, true] {
        let issuer = Issuer::Known("https://as.example".to_owned());
        let expected = Expected { state: Secret::new("s1"), issuer, needs_iss };
        let found = expected.code(&redirected);
        hides(&found);
        let Ok(code) = found else { continue };
        let url = Url::parse(redirected.trim()).expect("an accepted URL");
        let all = |wanted: &str| -> Vec<String> {
            let pairs = url.query_pairs().filter(|(name, _)| name == wanted);
            pairs.map(|(_, value)| value.into_owned()).collect()
        };
        assert_eq!(all("state"), ["s1"]);
        assert_eq!(all("code"), [code.expose()]);
        assert!(all("error").is_empty());
        let iss = all("iss");
        assert!(iss == ["https://as.example"] || iss.is_empty() && !needs_iss, "{iss:?}");
    }
}
