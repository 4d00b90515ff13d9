//! The answer that comes back through the browser: whether it is ours, and whose it is.

use url::Url;

use super::error::{LoginError, Refusal};
use crate::{origin::origin, secret::Secret};

/// What the answer to one authorization must say.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) state: Secret,
    pub(crate) issuer: Issuer,
    /// Whether the server promised to name itself.
    pub(crate) needs_iss: bool,
}

/// Who may have answered.
#[derive(Clone, Debug)]
pub(crate) enum Issuer {
    /// This one: from validated metadata, as it was received.
    Known(String),
    /// Whoever is at one of these origins: nobody has said more than where the endpoints are.
    At(Vec<String>),
}

impl Issuer {
    /// Whether `iss` is its name. One that is known is compared without any forgiveness.
    fn is_called(&self, iss: &str) -> bool {
        match self {
            Self::Known(issuer) => iss == issuer,
            Self::At(origins) => origin(iss).is_some_and(|iss| origins.contains(&iss)),
        }
    }
}

impl Expected {
    /// The code in the URL that the browser was redirected to.
    ///
    /// First the state, then the issuer, and only then anything else: an answer from somebody else is not
    /// read any further, and its error is nobody's business.
    pub(crate) fn code(&self, redirected: &str) -> Result<Secret, LoginError> {
        let answer = Answer::read(redirected).ok_or(LoginError::WrongState)?;
        if !same(answer.state.as_deref().unwrap_or_default(), self.state.expose()) {
            return Err(LoginError::WrongState);
        }
        match &answer.iss {
            Some(iss) if !self.issuer.is_called(iss) => return Err(LoginError::WrongIssuer),
            None if self.needs_iss => return Err(LoginError::WrongIssuer),
            _ => {}
        }
        if let Some(code) = &answer.error {
            return Err(LoginError::Denied(Refusal::new(code, answer.description.as_deref())));
        }
        answer.code.filter(|code| !code.is_empty()).ok_or(LoginError::WrongState)
    }
}

#[derive(Default)]
struct Answer {
    code: Option<Secret>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

impl Answer {
    fn read(redirected: &str) -> Option<Self> {
        let url = Url::parse(redirected.trim()).ok()?;
        let mut answer = Self::default();
        for (name, value) in url.query_pairs() {
            let value = value.into_owned();
            let field = match &*name {
                "code" if answer.code.is_none() => {
                    answer.code = Some(Secret::new(value));
                    continue;
                }
                "state" => &mut answer.state,
                "iss" => &mut answer.iss,
                "error" => &mut answer.error,
                "error_description" => &mut answer.description,
                "code" => return None,
                _ => continue,
            };
            // RFC 6749 §3.1: parameters do not repeat. Two of one name are an attempt at something.
            if field.replace(value).is_some() {
                return None;
            }
        }
        Some(answer)
    }
}

/// Compares without telling by its time how much was right.
fn same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(query: &str, needs_iss: bool) -> Result<String, String> {
        from(Issuer::Known("https://as.test".into()), query, needs_iss)
    }

    fn from(issuer: Issuer, query: &str, needs_iss: bool) -> Result<String, String> {
        let expected = Expected { state: Secret::new("s"), issuer, needs_iss };
        let code = expected.code(&format!("http://127.0.0.1:1/callback?{query}"));
        code.map(|code| code.expose().to_owned()).map_err(|error| match error {
            LoginError::Denied(refusal) => refusal.code,
            LoginError::WrongIssuer => "issuer".into(),
            LoginError::WrongState => "state".into(),
            other => other.to_string(),
        })
    }

    fn is(result: &Result<String, String>, expected: &str) -> bool {
        result.as_deref().unwrap_or_else(|error| error) == expected
    }

    #[test]
    fn the_issuer_is_compared_as_it_is() {
        let named = "code=c&state=s&iss=https%3A%2F%2Fas.test";
        assert!(is(&answer(named, true), "c") && is(&answer(named, false), "c"));
        assert!(is(&answer("code=c&state=s", false), "c"));
        assert!(is(&answer("code=c&state=s", true), "issuer"));
        for wrong in ["https%3A%2F%2Fas.test%2F", "https%3A%2F%2FAS.test", "https%3A%2F%2Fx", ""] {
            let query = format!("code=c&state=s&iss={wrong}");
            assert!(is(&answer(&query, false), "issuer"), "{wrong}");
            assert!(is(&answer(&query, true), "issuer"), "{wrong}");
        }
    }

    #[test]
    fn an_issuer_that_is_known_by_its_endpoints_is_at_one_of_them() {
        let at = |iss: &str| {
            let issuer = Issuer::At(vec!["https://as.test".into(), "https://token.test".into()]);
            from(issuer, &format!("code=c&state=s{iss}"), false)
        };
        for right in
            ["", "&iss=https://as.test", "&iss=https://as.test/t/1", "&iss=https://token.test/"]
        {
            assert!(is(&at(right), "c"), "{right}");
        }
        for wrong in ["&iss=", "&iss=https://evil.test", "&iss=http://as.test", "&iss=urn:as.test"]
        {
            assert!(is(&at(wrong), "issuer"), "{wrong}");
        }
    }

    #[test]
    fn the_state_must_be_ours() {
        for query in ["code=c", "code=c&state=", "code=c&state=S", "code=c&state=s2", "state=s"] {
            assert!(is(&answer(query, false), "state"), "{query}");
        }
        assert!(is(&answer("code=c&state=s&state=s", false), "state"));
        assert!(is(&answer("code=c&code=d&state=s", false), "state"));
        assert!(is(&answer("error=access_denied&state=x", false), "state"));
    }

    #[test]
    fn an_error_is_shown_only_when_it_is_from_whom_we_asked() {
        let denied = "error=access_denied&error_description=no&state=s";
        assert!(is(&answer(denied, false), "access_denied"));
        assert!(is(&answer(denied, true), "issuer"));
        assert!(is(&answer(&format!("{denied}&iss=https%3A%2F%2Fevil.test"), false), "issuer"));
    }

    #[test]
    fn what_is_no_url_is_no_answer() {
        let issuer = Issuer::Known(String::new());
        let expected = Expected { state: Secret::new("s"), issuer, needs_iss: false };
        for pasted in ["", "code", "/callback?code=c&state=s", "\u{0}"] {
            assert!(matches!(expected.code(pasted), Err(LoginError::WrongState)));
        }
        // People paste with blanks around.
        assert!(expected.code(" http://localhost/?code=c&state=s\n").is_ok());
    }
}
