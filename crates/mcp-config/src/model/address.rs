//! Server URLs as text: normalised for comparison and shortened for display.

use std::borrow::Cow;

use url::Url;

use super::template::{Part, Template};

/// URL schemes of local sockets and pipes.
pub(crate) const SOCKETS: [&str; 3] = ["unix", "pipe", "http+unix"];

/// Normalises a URL: lower-cases scheme and host, drops default port, user, fragment and trailing slash,
/// sorts the query, and brings IPv6 and socket addresses to one form.
pub(crate) fn normalise(text: &str) -> Option<String> {
    let text = clean(text);
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    if SOCKETS.contains(&scheme.as_str()) {
        return Some(format!("{scheme}:{}", socket_path(rest)));
    }
    let url = Url::parse(&text).ok()?;
    let host = url.host_str()?.trim_end_matches('.');
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = unescape(url.path().trim_end_matches('/'));
    let mut query: Vec<&str> =
        url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).collect();
    // Few servers depend on the order, and the result is only compared with that of other entries.
    query.sort_unstable();
    let query = query.join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    Some(format!("{scheme}://{}{port}{path}{mark}{query}", host.to_ascii_lowercase()))
}

/// The host that `text` connects to, with its port unless that is the scheme's default; for a local socket,
/// its path.
pub(crate) fn host(text: &str) -> Option<String> {
    let text = clean(text);
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.to_ascii_lowercase();
    if SOCKETS.contains(&scheme.as_str()) {
        return Some(socket_path(rest));
    }
    let url = Url::parse(&text).ok()?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}{port}", url.host_str()?))
}

/// Whether a variable appears before an `@` in the authority of `url`. Its value could turn the visible host
/// into a user name and connect to a different host; see <https://www.rfc-editor.org/rfc/rfc3986#section-7.6>.
pub(crate) fn hides_host(url: &Template) -> bool {
    let text = masked(url);
    let authority = authority(&text);
    match (authority.find(MASK), authority.rfind('@')) {
        (Some(variable), Some(at)) => variable < at,
        _ => false,
    }
}

/// Whether `url` contains user information, either as written or once expanded to `value`.
pub(crate) fn has_user(url: &Template, value: Option<&str>) -> bool {
    let parsed = value.and_then(|value| Url::parse(&clean(value)).ok());
    authority(&masked(url)).contains('@')
        || parsed.is_some_and(|url| !url.username().is_empty() || url.password().is_some())
}

/// Placeholder for the value of a variable. Not a control character, because `clean` removes those.
const MASK: char = '\u{fffc}';

/// The text of `url` with every variable masked. An `@` in a default stays visible.
fn masked(url: &Template) -> String {
    if url.parts().is_empty() {
        return clean(url.unexpanded()).into_owned();
    }
    let mut text = String::new();
    for part in url.parts() {
        match part {
            Part::Text(plain) => text.push_str(plain),
            Part::Variable { default: Some(default), .. } if default.unexpanded().contains('@') => {
                text.extend([MASK, '@']);
            }
            _ => text.push(MASK),
        }
    }
    clean(&text).into_owned()
}

/// The authority component: user, host and port. See <https://www.rfc-editor.org/rfc/rfc3986#section-3.2>.
fn authority(text: &str) -> &str {
    let rest = match text.split_once(':') {
        // URL parsers treat any number of slashes, including none, as two:
        // <https://url.spec.whatwg.org/#special-authority-ignore-slashes-state>.
        Some((scheme, rest))
            if scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) =>
        {
            rest.trim_start_matches(['/', '\\'])
        }
        _ => text,
    };
    &rest[..rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len())]
}

/// Removes the characters that URL parsers ignore: surrounding blanks, and tabs and line breaks anywhere. See
/// <https://url.spec.whatwg.org/#concept-basic-url-parser>.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    if text.contains(['\t', '\r', '\n']) {
        Cow::Owned(text.replace(['\t', '\r', '\n'], ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// The normalised path of a socket: `unix:/run/x`, `unix:///run//x` and `unix://localhost/run/./x` are equal.
pub(crate) fn socket_path(rest: &str) -> String {
    let local =
        rest.get(.."//localhost/".len()).filter(|start| start.eq_ignore_ascii_case("//localhost/"));
    let rest = local.map_or(rest, |start| &rest[start.len() - 1..]);
    let mut steps: Vec<&str> = Vec::new();
    let plain = unescape(rest);
    for step in plain.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    let root = if plain.starts_with('/') { "/" } else { "" };
    format!("{root}{}", steps.join("/"))
}

/// Normalises percent escapes: unreserved characters are decoded, the others get upper-case digits, so that
/// spellings that servers treat as equal are equal. See <https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2>.
pub(crate) fn unescape(path: &str) -> String {
    if !path.contains('%') {
        return path.to_owned();
    }
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(code) = rest.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok())
        else {
            out.push('%');
            rest = &rest[1..];
            continue;
        };
        if code.is_ascii_alphanumeric() || b"-._~".contains(&code) {
            out.push(char::from(code));
        } else {
            out.push_str(&rest[..3].to_ascii_uppercase());
        }
        rest = &rest[3..];
    }
    out + rest
}

/// A URL for display: without user, password and query.
pub(crate) fn shown_url(text: &str) -> String {
    let cut = text.find(['?', '#']).unwrap_or(text.len());
    // The `?` may be inside `${VAR:-x}`. The template is then cut there, which hides too much rather than too
    // little.
    let (address, hidden) = text.split_at(cut);
    let dots = if hidden.is_empty() { "" } else { "?…" };
    let Some((scheme, rest)) = address.split_once("://") else {
        // Parsers accept missing slashes, so user information may appear without them.
        let user = address.rfind('@').map(|at| (address.split_once(':'), &address[at + 1..]));
        return match user {
            Some((Some((scheme, _)), rest)) => format!("{scheme}:{rest}{dots}"),
            Some((None, rest)) => format!("{rest}{dots}"),
            None => format!("{address}{dots}"),
        };
    };
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    // The text after the last colon is a port, or the start of a password that contains a slash.
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let user = match authority.rfind('@') {
        None if !is_port && hidden.contains('@') => return format!("{scheme}://{dots}"),
        None if !is_port => rest.rfind('@'),
        user => user,
    };
    if let Some(at) = user {
        return format!("{scheme}://{}{dots}", &rest[at + 1..]);
    }
    format!("{address}{dots}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_url_hides_user_password_and_query() {
        for (address, shown) in [
            ("https://u:s3cret@h/x?k=s3cret", "https://h/x?…"),
            ("https:u:s3cret@h/x", "https:h/x"),
            ("https:/u:s3cret@h/x", "https:h/x"),
            ("s3cret@h/x", "h/x"),
            ("https://u:s3/cret@h/x", "https://h/x"),
            ("https://u:s3?cret@h/x", "https://?…"),
            ("https://u:s3#cret@h/x", "https://?…"),
            ("${URL:-https://u:s3cret@h/x}", "${URL:-https://h/x}"),
            ("https://h:8443/@scope/x", "https://h:8443/@scope/x"),
            ("https://${HOST}/x", "https://${HOST}/x"),
            ("unix:/run/x", "unix:/run/x"),
        ] {
            assert_eq!(shown_url(address), shown, "{address}");
        }
    }

    #[test]
    fn equivalent_urls_normalise_to_the_same_text() {
        for (a, b) in [
            ("HTTP://EXAMPLE.com:80", "http://example.com/"),
            ("https://u:p@example.com/mcp#x", "https://example.com/mcp/"),
            ("https://example.com/mcp?b=2&a=1", "https://example.com/mcp/?a=1&&b=2"),
            ("https://example.com./%7Euser/%2f", "https://example.com/~user/%2F"),
            ("http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080"),
            ("wss://h:443/ws", "wss://h/ws"),
            ("unix:///run/mcp.sock", "unix:/run/mcp.sock"),
            ("UNIX://localhost/run//x/../mcp.sock", "unix:/run/mcp.sock"),
            ("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(normalise(a), normalise(b), "{a} {b}");
            assert!(normalise(a).is_some());
        }
        for (a, b) in [
            ("https://example.com/a", "https://example.com/A"),
            ("https://example.com/", "http://example.com/"),
            ("https://example.com/?a=1", "https://example.com/?a=2"),
            ("https://example.com:8443/", "https://example.com/"),
            ("unix:run/x", "unix:/run/x"),
        ] {
            assert_ne!(normalise(a), normalise(b), "{a} {b}");
        }
    }

    #[test]
    fn variable_before_at_sign_is_detected_as_hiding_the_host() {
        for url in [
            "http://${H}@mcp.notion.com/mcp",
            "http://${file:h}@x.example.com/mcp",
            "http://u:${input:pw}@h/",
            "http:${H}@h/x",
            "${URL}@h/x",
            "http://${H:-a@b}/x",
            "http://a${workspaceFolderBasename}b@h",
        ] {
            assert!(hides_host(&Template::parse(url)), "{url}");
        }
        for url in [
            "https://${HOST}/mcp",
            "https://h/${USER}/@scope/x",
            "https://h/?q=${X}@y",
            "https://u:p@h/${X}",
            "${URL}",
            "https://h:${PORT}/x",
        ] {
            assert!(!hides_host(&Template::parse(url)), "{url}");
        }
        assert!(!hides_host(&Template::literal("http://${H}@h/")));
    }

    #[test]
    fn user_in_url_is_detected_as_written_and_as_expanded() {
        let plain = |url: &str| has_user(&Template::parse(url), None);
        assert!(plain("https://me@h/") && plain("https://me:pw@h/") && plain("https:me@h"));
        assert!(!plain("https://h/a@b") && !plain("https://${X}/"));
        let expanded = |value| has_user(&Template::parse("https://${X}/"), Some(value));
        assert!(expanded("https://me@h/") && expanded("https://:pw@h/"));
        assert!(!expanded("https://h/me@h"));
    }

    #[test]
    fn host_is_the_one_a_request_connects_to() {
        for (url, to) in [
            ("http://127.0.0.1:18098/?@mcp.notion.com/mcp", Some("127.0.0.1:18098")),
            ("HTTPS://Example.com:443/x", Some("example.com")),
            ("unix:///run//x.sock", Some("/run/x.sock")),
            ("no url", None),
        ] {
            assert_eq!(host(url).as_deref(), to, "{url}");
        }
    }

    #[test]
    fn shown_url_contains_no_secret() {
        assert_eq!(shown_url("https://me:pw@h/p?key=s3cret"), "https://h/p?…");
        assert_eq!(shown_url("https://h/p"), "https://h/p");
        assert_eq!(shown_url("https://h/p@2"), "https://h/p@2");
    }
}
