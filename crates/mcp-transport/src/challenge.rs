//! The challenge of a server that refuses a request for lack of credentials. The parser of `WWW-Authenticate` follows
//! <https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1>, strict enough to be safe and lenient enough for deployed servers.

use std::fmt;

/// The refusal of a request. `Debug` omits the query of the URL, which may contain a secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// 401 or 403.
    pub status: u16,
    /// The URL of the refused request.
    pub url: String,
    /// The schemes that the server accepts, in its order. Empty if it does not name any.
    pub schemes: Vec<Scheme>,
    /// The `DPoP-Nonce` header of the response.
    pub dpop_nonce: Option<String>,
    /// Which credentials were refused: [`Credentials::stamp`](crate::auth::Credentials::stamp).
    pub stamp: u64,
}

/// One authentication scheme, with its parameters. All of it is foreign text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scheme {
    /// The name as the server writes it. Compare it with [`is`](Self::is), which ignores case.
    pub name: String,
    /// Parameter names in lower case, and their unquoted values.
    pub params: Vec<(String, String)>,
}

/// Further schemes and parameters are ignored: legitimate servers send far fewer.
const MOST_SCHEMES: usize = 16;
const MOST_PARAMS: usize = 64;
/// Longer headers are ignored.
const LONGEST: usize = 16 * 1024;

impl Challenge {
    /// A challenge without parameters.
    pub fn new(status: u16, url: impl Into<String>) -> Self {
        Self { status, url: url.into(), schemes: Vec::new(), dpop_nonce: None, stamp: 0 }
    }

    /// Parses one `WWW-Authenticate` header and adds its schemes. Malformed parts are skipped.
    pub fn read(&mut self, header: &str) {
        if header.len() <= LONGEST {
            Reader { rest: header }.schemes(&mut self.schemes);
        }
    }

    /// Returns the first value of a parameter. `Bearer` and `DPoP` schemes take precedence over others.
    ///
    /// ```
    /// let mut challenge = mcp_transport::auth::Challenge::new(401, "https://example.com/mcp");
    /// challenge.read(r#"Basic realm="a, b", Bearer error="invalid_token", scope="x y""#);
    /// assert_eq!(challenge.param("scope"), Some("x y"));
    /// ```
    pub fn param(&self, name: &str) -> Option<&str> {
        let ours = |scheme: &&Scheme| scheme.is("bearer") || scheme.is("dpop");
        let (first, rest): (Vec<_>, Vec<_>) = self.schemes.iter().partition(ours);
        first.into_iter().chain(rest).find_map(|scheme| scheme.param(name))
    }
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Challenge")
            .field("status", &self.status)
            .field("url", &self.url.split(['?', '#']).next().unwrap_or_default())
            .field("schemes", &self.schemes)
            .field("dpop_nonce", &self.dpop_nonce)
            .field("stamp", &self.stamp)
            .finish()
    }
}

impl Scheme {
    /// Whether the scheme has this name, ignoring case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns the value of a parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn schemes(&mut self, schemes: &mut Vec<Scheme>) {
        while schemes.len() < MOST_SCHEMES {
            self.skip(|c| c == ',' || c.is_ascii_whitespace());
            let Some(name) = self.token() else { return };
            let mut scheme = Scheme { name: name.to_owned(), params: Vec::new() };
            self.blanks();
            self.params(&mut scheme);
            schemes.push(scheme);
        }
    }

    /// Parses parameters up to the end, or up to a token without `=`, which names the next scheme.
    fn params(&mut self, scheme: &mut Scheme) {
        loop {
            let before = self.rest;
            self.skip(|c| c == ',' || c.is_ascii_whitespace());
            let Some(name) = self.token() else {
                // Not a token, so a token68 or malformed: skip to the next comma.
                match self.rest.find(',') {
                    Some(comma) => self.rest = &self.rest[comma..],
                    None => self.rest = "",
                }
                if self.rest.is_empty() {
                    return;
                }
                continue;
            };
            self.blanks();
            let Some(rest) = self.rest.strip_prefix('=') else {
                self.rest = before;
                return;
            };
            self.rest = rest;
            self.blanks();
            let Some(value) = self.value() else { continue };
            // A parameter must occur only once: <https://www.rfc-editor.org/rfc/rfc9110#section-11.2>. The first one counts.
            let known = scheme.params.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
            if !known && scheme.params.len() < MOST_PARAMS {
                scheme.params.push((name.to_ascii_lowercase(), value));
            }
        }
    }

    fn value(&mut self) -> Option<String> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            return self.token().map(str::to_owned);
        };
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &quoted[at + 1..];
                    return Some(value);
                }
                '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
                c => value.push(c),
            }
        }
        // The quoted string is not closed, so the rest cannot be trusted.
        self.rest = "";
        None
    }

    fn token(&mut self) -> Option<&'a str> {
        let end = self.rest.find(|c| !is_token(c)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!token.is_empty()).then_some(token)
    }

    fn blanks(&mut self) {
        self.skip(|c| c == ' ' || c == '\t');
    }

    fn skip(&mut self, what: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(what);
    }
}

/// A `tchar`: <https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2>.
pub(crate) fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(header: &str) -> String {
        let mut challenge = Challenge::new(401, "");
        challenge.read(header);
        let schemes = challenge.schemes.iter().map(|scheme| {
            let params: Vec<_> = scheme.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
            format!("{}({})", scheme.name, params.join(";"))
        });
        schemes.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn challenges_are_told_apart() {
        assert_eq!(read("Bearer"), "Bearer()");
        assert_eq!(read(r#"bearer realm="x""#), "bearer(realm=x)");
        assert_eq!(
            read(r#"Basic realm="a, b" , Bearer Scope="x y",error=invalid_token"#),
            "Basic(realm=a, b) Bearer(scope=x y;error=invalid_token)"
        );
        assert_eq!(
            read(r#"DPoP algs="ES256 \"quoted\"", Bearer"#),
            r#"DPoP(algs=ES256 "quoted") Bearer()"#
        );
        assert_eq!(read("Negotiate abc==, Bearer a=b"), "Negotiate() Bearer(a=b)");
        assert_eq!(read(r#"Bearer a = "1" , , b=2"#), "Bearer(a=1;b=2)");
    }

    #[test]
    fn malformed_challenge_parameters_are_skipped() {
        assert_eq!(read(""), "");
        assert_eq!(read(r#"Bearer a="never closed, b=1"#), "Bearer()");
        assert_eq!(read("Bearer =, a=1"), "Bearer(a=1)");
        assert_eq!(read("Bearer a=1, a=2"), "Bearer(a=1)");
        assert_eq!(read(&"x,".repeat(LONGEST)), "");
    }

    proptest! {
        #[test]
        fn any_challenge_header_is_read_within_limits(header in ".{0,80}") {
            let mut challenge = Challenge::new(401, "");
            challenge.read(&header);
            prop_assert!(challenge.schemes.len() <= MOST_SCHEMES);
        }
    }
}
