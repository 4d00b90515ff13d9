//! Redacts secrets in recordings and logs.

mod secrets;

use std::borrow::Cow;

use mcp_config::{
    Environment, ServerConfig, expand,
    expand::{AskInput, ExpandError},
};
use mcp_safe::secrets::{REDACTED, Redactor, is_secret_member};
use serde_json::Value;

use super::{config::Config, secrets::StoredSecrets};
use crate::exit::{Exit, Problem};

/// Redacts the secrets of the server's entry, and text that looks like a secret, in a recording.
///
/// # Errors
/// Fails if the entry cannot be expanded (any more): its secrets are then unknown, and nothing may be kept.
pub(crate) fn recording(
    config: &Config,
    stored: &StoredSecrets,
    server: &ServerConfig,
    cassette: &str,
) -> Result<String, Problem> {
    let redactor = of(&config.environment, stored, server).map_err(|error| {
        let message =
            format!("the messages are not kept, because their secrets are unknown: {error}");
        Problem::new(Exit::Config, message)
    })?;
    Ok(lines(cassette, &redactor))
}

/// Returns a redactor that knows the secrets of the server's entry.
///
/// # Errors
/// Fails if the entry cannot be expanded.
pub(crate) fn of(
    environment: &Environment,
    stored: &dyn AskInput,
    server: &ServerConfig,
) -> Result<Redactor, ExpandError> {
    let expanded = expand(server, environment, stored)?;
    Ok(secrets::redactor(&expanded, environment))
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
fn lines(text: &str, redactor: &Redactor) -> String {
    text.lines().map(|line| message(line, redactor) + "\n").collect()
}

/// Redacts one message, in the decoded strings and in the names of its members.
pub(crate) fn message(text: &str, redactor: &Redactor) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            clean(&mut value, redactor);
            value.to_string()
        }
        Err(_) => redactor.redact(text).into_owned(),
    }
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
        let clean = lines(line, &redactor);
        assert_eq!(
            clean,
            "{\"link\":1,\"out\":{\"id\":1,\"params\":{\"_meta\":{\"progressToken\":7},\"apiKey\":\"[redacted]\",\"q\":\"[redacted] and [redacted]\"}}}\n"
        );
    }

    #[test]
    fn text_that_looks_like_a_credential_is_redacted() {
        let line = r#"{"text":"curl -H 'Authorization: Bearer dJ83hf0sKq71mXyz' https://x?a=1"}"#;
        let clean = lines(line, &Redactor::default());
        assert!(!clean.contains("dJ83hf0sKq71mXyz") && clean.contains("https://x?a=1"), "{clean}");
    }

    #[test]
    fn nothing_is_kept_if_the_secrets_are_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let (file, key) = (folder.path().join("servers.json"), folder.path().join("key"));
        let entry = format!(
            r#"{{"mcpServers":{{"x":{{"command":"sh","env":{{"K":"${{file:{}}}"}}}}}}}}"#,
            key.display()
        );
        std::fs::write(&file, entry).unwrap();
        std::fs::write(&key, "hunter22").unwrap();
        let config = Config::read(vec![file], None);
        let server = &config.server("x").unwrap().entry.config;
        let stored = StoredSecrets::default();
        let kept = recording(&config, &stored, server, "it is hunter22");
        assert_eq!(kept.ok().as_deref(), Some("it is [redacted]\n"));
        // The file was rotated away between the connection and this moment.
        std::fs::remove_file(&key).unwrap();
        let refused = recording(&config, &stored, server, "it is hunter22").unwrap_err();
        assert!(refused.message.contains("are not kept"), "{}", refused.message);
    }

    #[test]
    fn textual_progress_token_is_kept() {
        let line = r#"{"progressToken":"p-1"}"#;
        assert_eq!(lines(line, &Redactor::default()), format!("{line}\n"));
    }

    #[test]
    fn secrets_in_numbers_and_member_names_are_redacted() {
        let mut redactor = Redactor::default();
        redactor.know("12345678");
        redactor.know("hunter22");
        let line = r#"{"n":12345678,"hunter22":{"pin":1},"password":4711,"properties":{"password":{"type":"string"}}}"#;
        let clean = lines(line, &redactor);
        assert_eq!(
            clean,
            "{\"[redacted]\":{\"pin\":1},\"n\":\"[redacted]\",\"password\":\"[redacted]\",\"properties\":{\"password\":{\"type\":\"string\"}}}\n"
        );
    }

    #[test]
    fn short_secrets_are_redacted_by_member_name() {
        let line =
            r#"{"db":{"pwd":"tiger","dsn":"x","sessionCookie":"c"},"key":"k","scheme":"Bearer"}"#;
        let clean = lines(line, &Redactor::default());
        assert_eq!(
            clean,
            "{\"db\":{\"dsn\":\"[redacted]\",\"pwd\":\"[redacted]\",\"sessionCookie\":\"[redacted]\"},\"key\":\"k\",\"scheme\":\"Bearer\"}\n"
        );
    }
}
