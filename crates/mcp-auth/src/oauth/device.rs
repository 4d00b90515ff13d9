//! The device flow, RFC 8628: the person enters a code on any device, and we ask until they have.

use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::{
    Shared,
    client::Client,
    error::{LoginError, Refusal},
    flow::{Agreed, Gain, Plan},
    metadata::{object, text},
    registration,
    token::{Form, TokenResponse, seconds},
};
use crate::{
    guard::is_fit_for_browser,
    http::HttpResponse,
    interact::{DeviceCode, Interact},
    secret::Secret,
};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const ASKING: &str = "a code for the device";
const LONGEST_LIFE: Duration = Duration::from_secs(30 * 60);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A code that was handed out.
pub(super) struct Issued {
    pub(super) device_code: Secret,
    pub(super) shown: DeviceCode,
    pub(super) pause: Duration,
}

/// Shows a code and asks until the person has entered it.
pub(super) async fn agree(
    shared: &Shared,
    plan: &Plan,
    interact: &dyn Interact,
) -> Result<Agreed, LoginError> {
    let endpoint = plan.found.server.device_authorization_endpoint.as_deref();
    let endpoint = endpoint.ok_or(LoginError::NotOffered("a login with a device code"))?;
    let client = shared.client(plan, None, GRANT).await?;
    let issued = match ask(shared, plan, &client, endpoint).await {
        Ok(issued) => issued,
        Err(error) => return Err(shared.disown(error, plan).await),
    };
    if shared.has_registered(&client) {
        let registrar = shared.registrar(&plan.found.server.issuer);
        registration::keep(&shared.options.vault, &registrar, &client, None).await;
    }
    interact.show_code(&issued.shown).await?;
    let form = Form::new(GRANT)
        .with("device_code", issued.device_code.expose())
        .with("resource", &plan.found.resource);
    let until = Instant::now() + issued.shown.life;
    let response = poll(shared, plan, &client, &form, issued.pause, until).await?;
    Ok(Agreed { client, gain: Gain::Token(response) })
}

async fn ask(
    shared: &Shared,
    plan: &Plan,
    client: &Client,
    endpoint: &str,
) -> Result<Issued, LoginError> {
    let mut form = Form::empty()
        .with_some("scope", plan.scopes.to_param().as_deref())
        .with("resource", &plan.found.resource);
    let header = client.authenticate(&mut form, &plan.found.server.issuer)?;
    let request = shared.fetch.request("POST", endpoint);
    let mut request = request.header("content-type", "application/x-www-form-urlencoded");
    request.headers.extend(header.map(|header| ("authorization", header)));
    request.body = form.encode();
    read(&shared.fetch.send(request, ASKING).await?)
}

pub(super) fn read(response: &HttpResponse) -> Result<Issued, LoginError> {
    let bad = |why| LoginError::BadDocument { what: ASKING, why };
    if matches!(response.status, 429 | 500..=599) {
        let refusal = Refusal::new("temporarily_unavailable", None);
        return Err(LoginError::Refused { asking: ASKING, refusal });
    }
    let document = object(&response.body).ok_or(bad("the answer is not a JSON object"))?;
    if let Some(code) = document["error"].as_str() {
        let refusal = Refusal::new(code, document["error_description"].as_str());
        return Err(LoginError::Refused { asking: ASKING, refusal });
    }
    // As it was understood, not as it was written: that may hold what moves a terminal's cursor.
    let page = |name| {
        let url = text(&document, name).filter(|url| is_fit_for_browser(url))?;
        Url::parse(&url).ok().map(String::from)
    };
    let verification_uri = page("verification_uri").ok_or(bad("its page cannot be opened"))?;
    let user_code = text(&document, "user_code").filter(|code| is_code(code));
    let device_code = text(&document, "device_code").ok_or(bad("there is no code"))?;
    let life = document.get("expires_in").and_then(seconds).unwrap_or(LONGEST_LIFE);
    let pause = document.get("interval").and_then(seconds).unwrap_or(Duration::from_secs(5));
    Ok(Issued {
        device_code: Secret::new(device_code),
        shown: DeviceCode {
            verification_uri,
            verification_uri_complete: page("verification_uri_complete"),
            user_code: user_code.ok_or(bad("there is no code to enter"))?,
            life: life.min(LONGEST_LIFE),
        },
        pause: pause.clamp(Duration::from_secs(1), LONGEST_PAUSE),
    })
}

/// Something a person can read aloud, and that cannot move a terminal's cursor.
fn is_code(code: &str) -> bool {
    code.len() <= 64 && code.chars().all(|c| c.is_alphanumeric() || "- ".contains(c))
}

/// Asks for the token until the person has agreed, refused, or let the code expire.
async fn poll(
    shared: &Shared,
    plan: &Plan,
    client: &Client,
    form: &Form,
    mut pause: Duration,
    until: Instant,
) -> Result<TokenResponse, LoginError> {
    loop {
        tokio::time::sleep(pause).await;
        if Instant::now() >= until {
            return Err(LoginError::Denied(Refusal::new("expired_token", None)));
        }
        match shared.ask_for_token(plan, client, form.clone(), "a token").await {
            Err(LoginError::Refused { refusal, asking }) => match refusal.code.as_str() {
                "authorization_pending" | "temporarily_unavailable" => {}
                "slow_down" => pause = (pause + Duration::from_secs(5)).min(LONGEST_PAUSE),
                "access_denied" | "expired_token" => return Err(LoginError::Denied(refusal)),
                _ => return Err(LoginError::Refused { refusal, asking }),
            },
            // RFC 8628 §3.5: a time-out is a reason to ask less often.
            Err(LoginError::Http { .. }) => pause = (pause * 2).min(LONGEST_PAUSE),
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> Result<Issued, LoginError> {
        read(&HttpResponse::new(200, Vec::new(), body.as_bytes().to_vec()))
    }

    #[test]
    fn a_code_has_a_page_a_life_and_a_pace() {
        let issued = answer(
            r#"{"device_code":"d","user_code":"AB-CD","verification_uri":"https://as.test/d",
                "expires_in":"600","interval":0}"#,
        )
        .unwrap();
        assert_eq!(issued.shown.user_code, "AB-CD");
        assert_eq!(issued.shown.life, Duration::from_secs(600));
        assert_eq!(issued.pause, Duration::from_secs(1));
    }

    #[test]
    fn a_page_is_shown_as_it_was_understood() {
        let issued = answer(
            r#"{"device_code":"d","user_code":"A",
                "verification_uri":"\n https://as.test/\u001b[2Jx"}"#,
        )
        .unwrap();
        assert_eq!(issued.shown.verification_uri, "https://as.test/%1B[2Jx");
    }

    #[test]
    fn pages_and_codes_that_cannot_be_shown_are_refused() {
        for body in [
            "<html>",
            r#"{"device_code":"d","user_code":"A","verification_uri":"javascript:x"}"#,
            r#"{"device_code":"d","user_code":"\u001b[2J","verification_uri":"https://as.test"}"#,
            r#"{"user_code":"A","verification_uri":"https://as.test"}"#,
        ] {
            assert!(matches!(answer(body), Err(LoginError::BadDocument { .. })), "{body}");
        }
    }
}
