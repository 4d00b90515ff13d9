//! Device authorization requests: <https://www.rfc-editor.org/rfc/rfc8628#section-3.1>.

use std::time::Duration;

use url::Url;

use super::form_post::FormEndpoint;
use crate::{
    error::{LoginError, Refusal},
    http::HttpResponse,
    interact::{DeviceCode, browser::is_fit_for_browser},
    oauth::{
        document::{object, seconds, text},
        form::Form,
    },
    secret::Secret,
};

const ASKING: &str = "a device code";
const LONGEST_LIFE: Duration = Duration::from_secs(30 * 60);
/// The longest interval between two token requests.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The response to a device authorization request.
pub(crate) struct Issued {
    pub(crate) device_code: Secret,
    pub(crate) shown: DeviceCode,
    pub(crate) pause: Duration,
}

/// Requests a device code.
pub(crate) async fn request(endpoint: FormEndpoint<'_>, form: Form) -> Result<Issued, LoginError> {
    read(&endpoint.post(form, ASKING).await?)
}

pub(crate) fn read(response: &HttpResponse) -> Result<Issued, LoginError> {
    let bad = |why| LoginError::BadDocument { what: ASKING, why };
    if matches!(response.status, 429 | 500..=599) {
        let refusal = Refusal::new("temporarily_unavailable", None);
        return Err(LoginError::Refused { asking: ASKING, refusal });
    }
    let document = object(&response.body).ok_or(bad("the response is not a JSON object"))?;
    if let Some(code) = document["error"].as_str() {
        let refusal = Refusal::new(code, document["error_description"].as_str());
        return Err(LoginError::Refused { asking: ASKING, refusal });
    }
    // Show the parsed URL: the original text may contain terminal control characters.
    let page = |name| {
        let url = text(&document, name).filter(|url| is_fit_for_browser(url))?;
        Url::parse(&url).ok().map(String::from)
    };
    let verification_uri = page("verification_uri")
        .ok_or(bad("its verification URL is missing, or neither https nor on this machine"))?;
    let user_code = text(&document, "user_code").filter(|code| is_code(code));
    let device_code =
        text(&document, "device_code").ok_or(bad("the response lacks `device_code`"))?;
    let life = document.get("expires_in").and_then(seconds).unwrap_or(LONGEST_LIFE);
    // 5 seconds without it: https://www.rfc-editor.org/rfc/rfc8628#section-3.2
    let pause = document.get("interval").and_then(seconds).unwrap_or(Duration::from_secs(5));
    Ok(Issued {
        device_code: Secret::new(device_code),
        shown: DeviceCode {
            verification_uri,
            verification_uri_complete: page("verification_uri_complete"),
            user_code: user_code.ok_or(bad("the response lacks a valid `user_code`"))?,
            life: life.min(LONGEST_LIFE),
        },
        pause: pause.clamp(Duration::from_secs(1), LONGEST_PAUSE),
    })
}

/// Whether a user can read the code aloud, and it contains letters, digits, `-` and spaces only.
fn is_code(code: &str) -> bool {
    code.len() <= 64 && code.chars().all(|c| c.is_alphanumeric() || "- ".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_body(body: &str) -> Result<Issued, LoginError> {
        read(&HttpResponse::new(200, Vec::new(), body.as_bytes().to_vec()))
    }

    #[test]
    fn device_code_response_is_read() {
        let issued = read_body(
            r#"{"device_code":"d","user_code":"AB-CD","verification_uri":"https://as.test/d",
                "expires_in":"600","interval":0}"#,
        )
        .unwrap();
        assert_eq!(issued.shown.user_code, "AB-CD");
        assert_eq!(issued.shown.life, Duration::from_secs(600));
        assert_eq!(issued.pause, Duration::from_secs(1));
    }

    #[test]
    fn verification_url_is_shown_as_parsed() {
        let issued = read_body(
            r#"{"device_code":"d","user_code":"A",
                "verification_uri":"\n https://as.test/\u001b[2Jx"}"#,
        )
        .unwrap();
        assert_eq!(issued.shown.verification_uri, "https://as.test/%1B[2Jx");
    }

    #[test]
    fn unsafe_verification_urls_and_codes_are_rejected() {
        for body in [
            "<html>",
            r#"{"device_code":"d","user_code":"A","verification_uri":"javascript:x"}"#,
            r#"{"device_code":"d","user_code":"\u001b[2J","verification_uri":"https://as.test"}"#,
            r#"{"user_code":"A","verification_uri":"https://as.test"}"#,
        ] {
            assert!(matches!(read_body(body), Err(LoginError::BadDocument { .. })), "{body}");
        }
    }
}
