//! Takes secrets out of what is to be kept or passed on.

use mcp_config::{ServerConfig, Transport};
use serde_json::Value;

const STANDS_FOR_IT: &str = "[redacted]";

/// Members whose values are secrets, whatever they look like.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "privatekey",
];

/// What a server was given in confidence: values of variables and headers, as they were sent.
pub(crate) fn secrets(expanded: &ServerConfig) -> Vec<String> {
    let map = match &expanded.transport {
        Transport::Stdio(program) => &program.env,
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => &remote.headers,
        _ => return Vec::new(),
    };
    let values = map.iter().map(|(_, value)| value.expose());
    let words = values.flat_map(|value| std::iter::once(value).chain(value.split_whitespace()));
    // What is shorter is in everything.
    words.filter(|word| word.len() >= 6).map(str::to_owned).collect()
}

/// A cassette without them, line by line.
pub(crate) fn cassette(text: &str, secrets: &[String]) -> String {
    let line = |line: &str| match serde_json::from_str::<Value>(line) {
        Ok(mut value) => {
            clean(&mut value, secrets);
            value.to_string()
        }
        Err(_) => cleaned(line, secrets),
    };
    text.lines().map(|each| line(each) + "\n").collect()
}

fn clean(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => *text = cleaned(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, secrets)),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                if member.is_string() && is_secret(name) {
                    *member = STANDS_FOR_IT.into();
                } else {
                    clean(member, secrets);
                }
            }
        }
        _ => {}
    }
}

/// `progressToken` is no secret, and without it a cassette cannot be played.
fn is_secret(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_lowercase();
    name != "progresstoken" && NAMES.iter().any(|secret| name.contains(secret))
}

fn cleaned(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), STANDS_FOR_IT);
        }
    }
    mcp_bridge::redact(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_in_confidence_is_taken_out_and_the_rest_stays() {
        let line = r#"{"link":1,"out":{"id":1,"params":{"apiKey":"abc","q":"hunter22 and ghp_0123456789abcdefghijABCDEFGHIJ012345","_meta":{"progressToken":7}}}}"#;
        let clean = cassette(line, &["hunter22".to_owned()]);
        assert_eq!(
            clean,
            "{\"link\":1,\"out\":{\"id\":1,\"params\":{\"_meta\":{\"progressToken\":7},\"apiKey\":\"[redacted]\",\"q\":\"[redacted] and [redacted]\"}}}\n"
        );
    }

    #[test]
    fn what_looks_like_a_credential_goes_wherever_it_stands() {
        let line = r#"{"text":"curl -H 'Authorization: Bearer dJ83hf0sKq71mXyz' https://x?a=1"}"#;
        let clean = cassette(line, &[]);
        assert!(!clean.contains("dJ83hf0sKq71mXyz") && clean.contains("https://x?a=1"), "{clean}");
    }

    #[test]
    fn a_progress_token_of_text_is_kept() {
        let line = r#"{"progressToken":"p-1"}"#;
        assert_eq!(cassette(line, &[]), format!("{line}\n"));
    }
}
