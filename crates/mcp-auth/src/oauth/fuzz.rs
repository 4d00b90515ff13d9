//! Targets for the fuzzer: what authorization servers and browsers send.
#![expect(clippy::missing_panics_doc, reason = "panicking is what they are for")]

use std::time::Duration;

use url::Url;

use super::{
    authorize_url::begin,
    callback::{Expected, Issuer},
    client::{AuthMethod, Client},
    device,
    discovery::{is_about, issuer_urls, resource_urls},
    error::{LoginError, Refusal},
    metadata::{ResourceMetadata, ServerMetadata, object},
    scopes::Scopes,
    token,
};
use crate::{
    guard::{Guard, is_fit_for_browser},
    http::HttpResponse,
    interact::loopback::{page, target},
    origin::same_origin,
    secret::Secret,
};

/// In capitals, so that no error code can be it.
const CANARY: &str = "C4NARY";
const ENDPOINT: &str = "https://mcp.example/v1/mcp";

/// Any discovery document: what is read is bounded, and leads nowhere but to the place it is about.
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

/// Any answer of a token, device or registration endpoint: no secret is shown, whatever was wrong,
/// and no number makes us wait for ever.
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
    let issued = device::read(&response);
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
        let again = Client::from_json(&client.to_json()).expect("what was stored");
        assert_eq!(format!("{again:?}"), format!("{client:?}"));
    }
}

fn hides(result: &Result<Secret, LoginError>) {
    assert!(!format!("{result:?}").contains(CANARY), "{result:?}");
    if let Err(error) = result {
        assert!(!error.to_string().contains(CANARY), "{error}");
        assert!(!error.to_failure("log in").message.contains(CANARY));
        if let LoginError::Denied(refusal) | LoginError::Refused { refusal, .. } = error {
            is_tame(refusal);
        }
    }
}

fn is_tame(refusal: &Refusal) {
    assert!((1..=64).contains(&refusal.code.len()) && refusal.code.is_ascii());
    let text = refusal.description.as_deref().unwrap_or_default();
    assert!(text.chars().count() <= 300 && !text.contains(char::is_control));
    let shown = page("no", text);
    assert_eq!(shown.matches('<').count(), page("no", "").matches('<').count(), "{shown}");
}

/// Any metadata, as the place where a browser is sent to: encrypted or on this machine, with all
/// that is needed to recognise the answer, and without what only we may know.
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
    assert!(!begun.url.contains(begun.verifier.expose()), "the verifier is told");
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

/// Any request from a browser, and any URL that somebody pastes: a code is taken only from an
/// answer that has our state, and our issuer where it names one.
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
        let url = Url::parse(redirected.trim()).expect("a URL that was read");
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
