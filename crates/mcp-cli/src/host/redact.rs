//! Redacts secrets in recordings and logs.

mod secrets;

use std::borrow::Cow;

use mcp_config::{ServerConfig, expand};
use mcp_safe::secrets::{REDACTED, Redactor, is_secret_member};
use serde_json::Value;

use super::{config::Config, secrets::StoredSecrets};

/// Redacts the secrets of the server's entry, and text that looks like a secret, in a recording.
pub(crate) fn recording(
    config: &Config,
    stored: &StoredSecrets,
    server: &ServerConfig,
    cassette: &str,
) -> String {
    let environment = &config.environment;
    let expanded = expand(server, environment, stored);
    let redactor = expanded.map(|expanded| secrets::redactor(&expanded, environment));
    self::cassette(cassette, &redactor.unwrap_or_default())
}

/// Teaches `redactor` the secrets of all these servers, besides those it knows.
pub(crate) fn learn(
    mut redactor: Redactor,
    config: &Config,
    stored: &StoredSecrets,
    servers: &[ServerConfig],
) -> Redactor {
    for server in servers {
        // One that cannot be expanded is not started, and is told none of its secrets.
        if let Ok(expanded) = expand(server, &config.environment, stored) {
            redactor = secrets::learn(redactor, &expanded, &config.environment);
        }
    }
    redactor
}

/// Redacts a recording line by line.
fn cassette(text: &str, redactor: &Redactor) -> String {
    let line = |line: &str| match serde_json::from_str::<Value>(line) {
        Ok(mut value) => {
            clean(&mut value, redactor);
            value.to_string()
        }
        Err(_) => redactor.redact(line).into_owned(),
    };
    text.lines().map(|each| line(each) + "\n").collect()
}

fn clean(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(redacted) = redactor.redact(text) {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, redactor)),
        Value::Object(members) => {
            let old = std::mem::take(members);
            members.extend(
                old.into_iter().map(|(name, member)| clean_member(&name, member, redactor)),
            );
        }
        // A secret may consist of digits.
        Value::Number(number) if is_known(&number.to_string(), redactor) => {
            *value = REDACTED.into();
        }
        _ => {}
    }
}

/// Redacts a member with the name of a secret. Objects stay: in a schema they only describe the secret.
fn clean_member(name: &str, mut member: Value, redactor: &Redactor) -> (String, Value) {
    if (member.is_string() || member.is_number()) && is_secret_member(name) {
        member = REDACTED.into();
    } else {
        clean(&mut member, redactor);
    }
    (redactor.redact(name).into_owned(), member)
}

fn is_known(text: &str, redactor: &Redactor) -> bool {
    matches!(redactor.redact(text), Cow::Owned(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_secrets_are_redacted_and_other_text_is_kept() {
        let line = r#"{"link":1,"out":{"id":1,"params":{"apiKey":"abc","q":"hunter22 and ghp_0123456789abcdefghijABCDEFGHIJ012345","_meta":{"progressToken":7}}}}"#;
        let mut redactor = Redactor::default();
        redactor.know("Bearer hunter22");
        let clean = cassette(line, &redactor);
        assert_eq!(
            clean,
            "{\"link\":1,\"out\":{\"id\":1,\"params\":{\"_meta\":{\"progressToken\":7},\"apiKey\":\"[redacted]\",\"q\":\"[redacted] and [redacted]\"}}}\n"
        );
    }

    #[test]
    fn text_that_looks_like_a_credential_is_redacted() {
        let line = r#"{"text":"curl -H 'Authorization: Bearer dJ83hf0sKq71mXyz' https://x?a=1"}"#;
        let clean = cassette(line, &Redactor::default());
        assert!(!clean.contains("dJ83hf0sKq71mXyz") && clean.contains("https://x?a=1"), "{clean}");
    }

    #[test]
    fn textual_progress_token_is_kept() {
        let line = r#"{"progressToken":"p-1"}"#;
        assert_eq!(cassette(line, &Redactor::default()), format!("{line}\n"));
    }

    #[test]
    fn secrets_in_numbers_and_member_names_are_redacted() {
        let mut redactor = Redactor::default();
        redactor.know("12345678");
        redactor.know("hunter22");
        let line = r#"{"n":12345678,"hunter22":{"pin":1},"password":4711,"properties":{"password":{"type":"string"}}}"#;
        let clean = cassette(line, &redactor);
        assert_eq!(
            clean,
            "{\"[redacted]\":{\"pin\":1},\"n\":\"[redacted]\",\"password\":\"[redacted]\",\"properties\":{\"password\":{\"type\":\"string\"}}}\n"
        );
    }

    #[test]
    fn short_secrets_are_redacted_by_member_name() {
        let line =
            r#"{"db":{"pwd":"tiger","dsn":"x","sessionCookie":"c"},"key":"k","scheme":"Bearer"}"#;
        let clean = cassette(line, &Redactor::default());
        assert_eq!(
            clean,
            "{\"db\":{\"dsn\":\"[redacted]\",\"pwd\":\"[redacted]\",\"sessionCookie\":\"[redacted]\"},\"key\":\"k\",\"scheme\":\"Bearer\"}\n"
        );
    }
}
