//! Compares the crate `oauth2` and our readers on the same responses. A failure here shows that `oauth2` has gained one
//! of the properties listed in the docs of the parent module.

use std::{cell::RefCell, convert::Infallible};

use mcp_transport::net::Guard;
use oauth2::{
    AccessToken, AuthorizationCode, ClientId, ClientSecret, ConfigurationError,
    DeviceAuthorizationUrl, PkceCodeVerifier, RequestTokenError, RevocationUrl,
    StandardDeviceAuthorizationResponse, TokenResponse as _, TokenUrl,
    basic::{BasicClient, BasicErrorResponse, BasicTokenResponse},
    http::{Request, Response, header::CONTENT_TYPE},
};
use zeroize::ZeroizeOnDrop;

use super::{device_code, token};
use crate::{
    error::LoginError,
    http::{HttpRequest, HttpResponse},
};

type Theirs<T> = Result<T, RequestTokenError<Infallible, BasicErrorResponse>>;

fn client() -> BasicClient {
    BasicClient::new(ClientId::new("me".into()))
}

fn response(status: u16, kind: &str, body: &str) -> Response<Vec<u8>> {
    let response = Response::builder().status(status).header(CONTENT_TYPE, kind);
    response.body(body.as_bytes().to_vec()).unwrap()
}

fn theirs(status: u16, kind: &str, body: &str) -> Theirs<BasicTokenResponse> {
    let client = client().set_token_uri(TokenUrl::new("https://as.test/token".into()).unwrap());
    let request = client.exchange_code(AuthorizationCode::new("c".into()));
    request.request(&|_| Ok::<_, Infallible>(response(status, kind, body)))
}

fn ours(status: u16, body: &str) -> Result<token::TokenResponse, LoginError> {
    token::read(&HttpResponse::new(status, Vec::new(), body.as_bytes().to_vec()), "a token")
}

#[test]
fn oauth2_crate_rejects_responses_of_real_servers() {
    let good = r#"{"access_token":"t","token_type":"bearer"}"#;
    assert!(theirs(200, "application/json", good).is_ok());
    for (status, kind) in [(201, "application/json"), (200, "text/plain")] {
        assert!(theirs(status, kind, good).is_err(), "{status} {kind}");
        assert!(ours(status, good).is_ok());
    }
    for body in [r#"{"access_token":"t"}"#, r#"{"access_token":"t","expires_in":"3600"}"#] {
        assert!(theirs(200, "application/json", body).is_err(), "{body}");
        assert!(ours(200, body).is_ok());
    }
    let refused = [
        (200, r#"{"error":"invalid_grant"}"#, "invalid_grant"),
        (503, "<html>", "temporarily_unavailable"),
        (429, r#"{"error":"x"}"#, "temporarily_unavailable"),
    ];
    for (status, body, code) in refused {
        let said = match theirs(status, "application/json", body).unwrap_err() {
            RequestTokenError::ServerResponse(said) => said.error().to_string(),
            other => other.to_string(),
        };
        assert_ne!(said, code);
        let Err(LoginError::Refused { refusal, .. }) = ours(status, body) else { panic!("{body}") };
        assert_eq!(refusal.code, code);
    }
}

#[test]
fn oauth2_crate_keeps_response_bodies_in_errors() {
    let body = r#"{"access_token":["canary"],"token_type":"bearer"}"#;
    let error = theirs(200, "application/json", body).unwrap_err();
    assert!(matches!(error, RequestTokenError::Parse(_, kept) if kept == body.as_bytes()));
    assert!(!format!("{:?}", ours(200, body).unwrap_err()).contains("canary"));
}

/// Tells types that wipe their memory from others: the inherent method exists only for the former, and takes precedence.
struct Probe<'a, T>(&'a T);

trait NotWiped {
    fn is_wiped_on_drop(&self) -> bool {
        false
    }
}

impl<T> NotWiped for Probe<'_, T> {}

impl<T: ZeroizeOnDrop> Probe<'_, T> {
    fn is_wiped_on_drop(&self) -> bool {
        let _: &T = self.0;
        true
    }
}

#[test]
fn oauth2_crate_neither_wipes_nor_hides_tokens() {
    let body = r#"{"access_token":"canary","token_type":"bearer","refresh_token":"r"}"#;
    let theirs = theirs(200, "application/json", body).unwrap();
    assert!(!Probe(theirs.access_token()).is_wiped_on_drop());
    assert!(!Probe(theirs.refresh_token().unwrap()).is_wiped_on_drop());
    assert!(!Probe(&ClientSecret::new("s".into())).is_wiped_on_drop());
    assert!(!Probe(&PkceCodeVerifier::new("v".into())).is_wiped_on_drop());
    assert!(!Probe(&AuthorizationCode::new("c".into())).is_wiped_on_drop());
    let request: oauth2::HttpRequest = Request::new(Vec::new());
    assert!(!Probe(request.body()).is_wiped_on_drop());
    assert!(serde_json::to_string(&theirs).unwrap().contains("canary"));

    let ours = ours(200, body).unwrap();
    assert!(Probe(&ours.access).is_wiped_on_drop());
    assert!(Probe(&ours.refresh.unwrap()).is_wiped_on_drop());
    let request =
        HttpRequest::new("POST", "https://as.test/token", Guard::for_server("https://as.test"));
    assert!(Probe(&request.body).is_wiped_on_drop());
    let response = HttpResponse::new(200, Vec::new(), Vec::new());
    assert!(Probe(&response.body).is_wiped_on_drop());
}

/// Reads a response to a device authorization request with `oauth2`.
fn their_device_code(body: &str) -> Theirs<StandardDeviceAuthorizationResponse> {
    let url = DeviceAuthorizationUrl::new("https://as.test/device".into()).unwrap();
    let client = client().set_device_authorization_url(url);
    let send = |_| Ok::<_, Infallible>(response(200, "application/json", body));
    client.exchange_device_code().request(&send)
}

fn our_device_code(body: &str) -> Result<device_code::Issued, LoginError> {
    device_code::read(&HttpResponse::new(200, Vec::new(), body.as_bytes().to_vec()))
}

#[test]
fn oauth2_crate_rejects_lenient_device_codes() {
    let body = r#"{"device_code":"d","user_code":"A","verification_uri":"https://as.test/d",
        "expires_in":"600","interval":"5"}"#;
    assert!(their_device_code(body).is_err());
    assert!(our_device_code(body).is_ok());
}

#[test]
fn oauth2_crate_accepts_unsafe_verification_urls() {
    let body = r#"{"device_code":"d","user_code":"A","verification_uri":"javascript:alert(1)",
        "expires_in":600}"#;
    assert!(their_device_code(body).is_ok());
    assert!(our_device_code(body).is_err());
}

#[test]
fn oauth2_crate_polls_before_the_first_interval() {
    let body = r#"{"device_code":"d","user_code":"A","verification_uri":"https://as.test/d",
        "expires_in":600,"interval":5}"#;
    let issued = their_device_code(body).unwrap();
    let client = client().set_token_uri(TokenUrl::new("https://as.test/token".into()).unwrap());
    let steps = RefCell::new(Vec::new());
    let send = |_| {
        steps.borrow_mut().push("request");
        let (status, body) = match steps.borrow().len() {
            1 => (400, r#"{"error":"authorization_pending"}"#),
            _ => (200, r#"{"access_token":"t","token_type":"bearer"}"#),
        };
        Ok::<_, Infallible>(response(status, "application/json", body))
    };
    let request = client.exchange_device_access_token(&issued);
    request.request(&send, |_| steps.borrow_mut().push("pause"), None).unwrap();
    assert_eq!(*steps.borrow(), ["request", "pause", "request"]);
}

#[test]
fn oauth2_crate_rejects_revocation_on_this_machine() {
    let url = RevocationUrl::new("http://127.0.0.1:1/revoke".into()).unwrap();
    let client = client().set_revocation_url(url);
    let request = client.revoke_token(AccessToken::new("t".into()).into());
    assert!(matches!(request, Err(ConfigurationError::InsecureUrl(_))));
}
