//! Who is let in: by name, origin and token, and only with a message that we can read.

use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{self, HeaderName},
    request::Parts,
};
use mcp_client::ErrorObject;

use super::{
    body::{Body, complaint},
    options::HttpServeOptions,
};
use crate::serve::secret::same_secret;

type Checked = Result<(), Box<Response<Body>>>;

/// What every request has to pass.
pub(super) fn check(head: &Parts, options: &HttpServeOptions) -> Checked {
    // HTTP/1 has the name in a header, HTTP/2 in the address.
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let host = authority.or_else(|| text(&head.headers, header::HOST));
    if !host.is_some_and(|host| is_allowed(host, options)) {
        return refuse(StatusCode::FORBIDDEN, "this server does not go by that name");
    }
    if let Some(origin) = head.headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("null");
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_listed = options.allowed_origins.iter().any(|known| known == origin);
        if !is_listed && !host.is_some_and(|host| is_allowed(host, options)) {
            return refuse(StatusCode::FORBIDDEN, "pages of that origin are not welcome");
        }
    }
    if let Some(token) = &options.bearer
        && !has_token(&head.headers, token)
    {
        let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, "a token is required");
        let mut response = complaint(StatusCode::UNAUTHORIZED, error);
        let challenge = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        return Err(Box::new(response));
    }
    if head.uri.path() != options.path {
        return refuse(StatusCode::NOT_FOUND, "there is nothing here");
    }
    if head.method == Method::GET && !accepts(&head.headers, "text/event-stream") {
        return refuse(StatusCode::NOT_ACCEPTABLE, "a GET has to accept `text/event-stream`");
    }
    Ok(())
}

/// What a message has to come with.
pub(super) fn check_post(headers: &HeaderMap) -> Checked {
    let kind = text(headers, header::CONTENT_TYPE).and_then(|kind| kind.split(';').next());
    if !kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is `application/json`");
    }
    if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
        let problem = "a POST has to accept `application/json` and `text/event-stream`";
        return refuse(StatusCode::NOT_ACCEPTABLE, problem);
    }
    Ok(())
}

pub(super) fn method_not_allowed() -> Response<Body> {
    let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, "not by this method");
    let mut response = complaint(StatusCode::METHOD_NOT_ALLOWED, error);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    response
}

fn refuse(status: StatusCode, problem: &str) -> Checked {
    let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, problem);
    Err(Box::new(complaint(status, error)))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether `host`, with or without a port, is one of ours.
fn is_allowed(host: &str, options: &HttpServeOptions) -> bool {
    let port_at = host.rfind(':').filter(|at| *at > host.rfind(']').unwrap_or(0));
    let name = port_at.map_or(host, |at| &host[..at]);
    options.allowed_hosts.iter().any(|allowed| {
        allowed == "*" || allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name)
    })
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let shown = text(headers, header::AUTHORIZATION).and_then(|shown| shown.split_once(' '));
    shown.is_some_and(|(scheme, shown)| {
        scheme.eq_ignore_ascii_case("bearer")
            && same_secret(shown.trim().as_bytes(), token.as_bytes())
    })
}

/// Whether a media type is accepted. `*/*` is taken for all of them: old clients are not that precise.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|entry| {
        let kind = entry.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case(wanted) || kind == "*/*"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_known_by_name_with_any_port_or_with_theirs() {
        let mut options = HttpServeOptions::default();
        for ours in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:80"] {
            assert!(is_allowed(ours, &options), "{ours}");
        }
        for foreign in
            ["evil.example.com", "localhost.evil.com:80", "", "[::2]:80", "127.0.0.1.nip.io"]
        {
            assert!(!is_allowed(foreign, &options), "{foreign}");
        }
        options.allowed_hosts = vec!["a.example:8443".into()];
        assert!(is_allowed("a.example:8443", &options) && !is_allowed("a.example:1", &options));
        options.allowed_hosts = vec!["*".into()];
        assert!(is_allowed("anything", &options));
    }

    #[test]
    fn media_types_are_read_as_lists() {
        let mut headers = HeaderMap::new();
        let line = HeaderValue::from_static("application/json;q=0.9, text/event-stream");
        headers.append(header::ACCEPT, line);
        assert!(accepts(&headers, "application/json") && accepts(&headers, "text/event-stream"));
        assert!(!accepts(&headers, "text/html"));
    }
}
