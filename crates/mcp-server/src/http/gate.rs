//! Checks of every HTTP request: `Host`, `Origin`, bearer token, path and media types.

use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{self, HeaderName},
    request::Parts,
};
use mcp_jsonrpc::ErrorObject;

use super::{
    body::{Body, error_response},
    options::HttpServeOptions,
    token::AccessToken,
};

type Checked = Result<(), Box<Response<Body>>>;

/// The checks that apply to every request, against DNS rebinding among others:
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning>
pub(super) fn check(head: &Parts, options: &HttpServeOptions) -> Checked {
    // A proxy and this server must not read different hosts from one request.
    if head.headers.get_all(header::HOST).iter().count() > 1 {
        return refuse(StatusCode::BAD_REQUEST, "the request has more than one `Host` header");
    }
    // HTTP/1 has the host in a header, HTTP/2 in the URI.
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let host = authority.or_else(|| text(&head.headers, header::HOST));
    if !host.is_some_and(|host| is_allowed(host, options)) {
        return refuse(StatusCode::FORBIDDEN, "this `Host` is not allowed");
    }
    if let Some(origin) = head.headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("null");
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_listed = options.allowed_origins.iter().any(|known| known == origin);
        if !is_listed && !host.is_some_and(|host| is_allowed(host, options)) {
            return refuse(StatusCode::FORBIDDEN, "this `Origin` is not allowed");
        }
    }
    if let Some(token) = &options.bearer
        && !has_token(&head.headers, token)
    {
        let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, "missing or wrong bearer token");
        let mut response = error_response(StatusCode::UNAUTHORIZED, error);
        let challenge = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        return Err(Box::new(response));
    }
    if head.uri.path() != options.path {
        return refuse(StatusCode::NOT_FOUND, "no MCP endpoint at this path");
    }
    if head.method == Method::GET && !accepts(&head.headers, "text/event-stream") {
        return refuse(StatusCode::NOT_ACCEPTABLE, "a GET must accept `text/event-stream`");
    }
    Ok(())
}

/// The checks that apply to POST.
pub(super) fn check_post(headers: &HeaderMap) -> Checked {
    let kind = text(headers, header::CONTENT_TYPE).and_then(|kind| kind.split(';').next());
    if !kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the content type must be `application/json`",
        );
    }
    if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
        let problem = "a POST must accept `application/json` and `text/event-stream`";
        return refuse(StatusCode::NOT_ACCEPTABLE, problem);
    }
    Ok(())
}

pub(super) fn method_not_allowed() -> Response<Body> {
    let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, "this HTTP method is not allowed");
    let mut response = error_response(StatusCode::METHOD_NOT_ALLOWED, error);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    response
}

fn refuse(status: StatusCode, problem: &str) -> Checked {
    let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, problem);
    Err(Box::new(error_response(status, error)))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether `host`, with or without a port, is an allowed host.
fn is_allowed(host: &str, options: &HttpServeOptions) -> bool {
    let port_at = host.rfind(':').filter(|at| *at > host.rfind(']').unwrap_or(0));
    let name = port_at.map_or(host, |at| &host[..at]);
    options.allowed_hosts.iter().any(|allowed| {
        allowed == "*" || allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name)
    })
}

fn has_token(headers: &HeaderMap, token: &AccessToken) -> bool {
    let shown = text(headers, header::AUTHORIZATION).and_then(|shown| shown.split_once(' '));
    shown.is_some_and(|(scheme, shown)| {
        scheme.eq_ignore_ascii_case("bearer") && token.is(shown.trim())
    })
}

/// Whether a media type is accepted. `*/*` accepts all: some older clients send only that.
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
    fn allowed_hosts_match_by_name_and_optional_port() {
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
    fn accept_header_is_parsed_as_a_list() {
        let mut headers = HeaderMap::new();
        let line = HeaderValue::from_static("application/json;q=0.9, text/event-stream");
        headers.append(header::ACCEPT, line);
        assert!(accepts(&headers, "application/json") && accepts(&headers, "text/event-stream"));
        assert!(!accepts(&headers, "text/html"));
    }

    fn head(uri: &str, method: Method, headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::builder().uri(uri).method(method);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn status(checked: Checked) -> u16 {
        checked.map_or_else(|response| response.status().as_u16(), |()| 200)
    }

    fn options() -> HttpServeOptions {
        HttpServeOptions { path: "/mcp".into(), bearer: None, ..HttpServeOptions::default() }
    }

    #[test]
    fn request_needs_exactly_one_allowed_host() {
        let status = |uri: &str, headers: &[(&str, &str)]| {
            status(check(&head(uri, Method::POST, headers), &options()))
        };
        assert_eq!(status("/mcp", &[("host", "localhost:1")]), 200);
        assert_eq!(status("http://localhost/mcp", &[]), 200);
        assert_eq!(status("http://evil.test/mcp", &[("host", "localhost")]), 403);
        assert_eq!(status("/mcp", &[("host", "evil.test")]), 403);
        assert_eq!(status("/mcp", &[]), 403);
        assert_eq!(status("/mcp", &[("host", "localhost"), ("host", "localhost")]), 400);
    }

    #[test]
    fn origin_must_be_listed_or_an_allowed_host() {
        let mut options = options();
        options.allowed_origins = vec!["https://app.test".into()];
        for (origin, expected) in [
            ("https://app.test", 200),
            ("http://localhost:3000", 200),
            ("https://127.0.0.1", 200),
            ("http://app.test", 403),
            ("https://evil.test", 403),
            ("localhost", 403),
            ("null", 403),
            ("\u{e9}", 403),
        ] {
            let headers = [("host", "localhost"), ("origin", origin)];
            let checked = check(&head("/mcp", Method::POST, &headers), &options);
            assert_eq!(status(checked), expected, "{origin}");
        }
    }

    #[test]
    fn bearer_token_is_required_in_any_spelling_of_its_scheme() {
        let mut options = options();
        options.bearer = Some("0123456789abcdef".parse().unwrap());
        for (authorization, expected) in [
            ("Bearer 0123456789abcdef", 200),
            ("bearer  0123456789abcdef", 200),
            ("Basic 0123456789abcdef", 401),
            ("Bearer 0123456789abcdee", 401),
            ("0123456789abcdef", 401),
            ("", 401),
        ] {
            let headers = [("host", "localhost"), ("authorization", authorization)];
            let checked = check(&head("/mcp", Method::POST, &headers), &options);
            assert_eq!(status(checked), expected, "{authorization}");
        }
        // Also at other paths, which would otherwise be told apart without a token.
        let refused = check(&head("/", Method::POST, &[("host", "localhost")]), &options);
        let response = refused.unwrap_err();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
    }

    #[test]
    fn path_and_accepted_types_are_checked() {
        let (host, events) = (("host", "localhost"), ("accept", "text/event-stream"));
        let status = |uri: &str, method: Method, headers: &[(&str, &str)]| {
            status(check(&head(uri, method, headers), &options()))
        };
        assert_eq!(status("/other", Method::POST, &[host]), 404);
        assert_eq!(status("/mcp?query", Method::GET, &[host, events]), 200);
        assert_eq!(status("/mcp", Method::GET, &[host, ("accept", "*/*")]), 200);
        assert_eq!(status("/mcp", Method::GET, &[host]), 406);
        assert_eq!(status("/mcp", Method::DELETE, &[host]), 200);
    }

    #[test]
    fn post_has_json_and_accepts_json_and_events() {
        let both = ("accept", "application/json, text/event-stream");
        for (headers, expected) in [
            (&[("content-type", "application/json"), both][..], 200),
            (&[("content-type", "Application/JSON ; charset=utf-8"), both], 200),
            (&[("content-type", "text/plain"), both], 415),
            (&[both], 415),
            (&[("content-type", "application/json"), ("accept", "application/json")], 406),
            (&[("content-type", "application/json"), ("accept", "text/event-stream")], 406),
            (&[("content-type", "application/json")], 406),
        ] {
            let head = head("/mcp", Method::POST, headers);
            assert_eq!(status(check_post(&head.headers)), expected, "{headers:?}");
        }
        let response = method_not_allowed();
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(response.headers()[header::ALLOW], "POST, GET, DELETE");
    }

    #[test]
    fn text_before_the_port_is_the_name_of_a_host() {
        let allowed_hosts = vec![String::new(), "a".into()];
        let options = HttpServeOptions { allowed_hosts, ..options() };
        assert!(is_allowed("a:1", &options) && !is_allowed(":1", &options));
    }
}
