//! Detects instructions to the model and credentials in a tool's texts.
//!
//! The patterns are heuristics. They are few and simple, so that each finding can be explained.

use std::sync::LazyLock;

use mcp_safe::text::{is_invisible, prefix};
use regex::RegexSet;

use crate::card::Card;

/// The maximum length of a text that is checked.
const LONGEST: usize = 64 << 10;

/// Patterns of instructions to the model, with a description.
const ORDERS: &[(&str, &str)] = &[
    (
        r"(?i)\b(ignore|disregard|forget|override)\b[^.]{0,30}\b(previous|prior|above|earlier|other|all|any|system|your)\b[^.]{0,20}\b(instruction|prompt|rule|message|guideline)s?",
        "tells the model to ignore its instructions",
    ),
    (
        r"(?i)\b(do not|don't|never|without)\b[^.]{0,20}\b(tell(ing)?|inform(ing)?|mention(ing)?|reveal(ing)?|notify(ing)?|show(ing)?|alert(ing)?)\b[^.]{0,20}\b(user|human|anyone)",
        "asks to keep something from the user",
    ),
    (
        r"(?i)<\s*/?\s*(important|system|instructions?|secret|hidden|critical)\s*>",
        "holds a tag that poses as a system message",
    ),
    (
        r"(?i)\b(you are now|from now on,? you|new instructions?:|system prompt:)",
        "tries to give the model a new role",
    ),
    (
        r"(?i)\b(before|instead of) (using|calling|running|any)\b[^.]{0,30}\bother tools?\b",
        "places itself before other tools",
    ),
    (
        r"(?i)\b(read|send|include|pass|upload|copy)\b[^.]{0,60}(~/\.|\.ssh\b|id_rsa|\.env\b|/etc/passwd|private key|environment variables|conversation history|chat history)",
        "asks for private files or the conversation",
    ),
];

/// Patterns of credentials, with a description.
const SECRETS: &[(&str, &str)] = &[
    (r"\bA(KIA|SIA)[0-9A-Z]{16}\b", "an AWS access key"),
    (r"\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{22,}", "a GitHub token"),
    (r"\bglpat-[A-Za-z0-9_-]{16,}", "a GitLab token"),
    (r"\bxox[abeprs]-[A-Za-z0-9-]{10,}", "a Slack token"),
    (r"\bsk-[A-Za-z0-9_-]{20,}", "an API key"),
    (r"\bAIza[0-9A-Za-z_-]{35}", "a Google API key"),
    (r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", "a signed token"),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----", "a private key"),
    (r"(?i)\b[a-z]+://[^\s/:@]+:[^\s/:@]{6,}@", "an address with a password"),
    (
        r#"(?i)\b(bearer|password|passwd|api[_-]?key|secret|token)\b\s*[:=]?\s*["']?[A-Za-z]*[0-9][A-Za-z0-9_/+=-]{15,}"#,
        "a credential",
    ),
];

/// The kind of instruction in the tool's texts, if any.
pub(super) fn injection(card: &Card) -> Option<&'static str> {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| set(ORDERS));
    let hidden = |text: &str| {
        text.contains(|c: char| {
            is_invisible(c) && !matches!(c, '\u{ad}' | '\u{200c}'..='\u{200f}' | '\u{fe0f}')
        })
    };
    texts(card).find_map(|text| {
        if hidden(text) {
            return Some("hides text from people");
        }
        SET.matches(text).iter().next().map(|at| ORDERS[at].1)
    })
}

/// The kind of credential in the tool's texts, if any.
pub(super) fn secret(card: &Card) -> Option<&'static str> {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| set(SECRETS));
    texts(card).find_map(|text| SET.matches(text).iter().next().map(|at| SECRETS[at].1))
}

fn texts(card: &Card) -> impl Iterator<Item = &str> {
    [card.name.as_str(), &card.title, &card.description]
        .into_iter()
        .chain(card.params.iter().flat_map(|param| [param.name.as_str(), &param.description]))
        .map(|text| prefix(text, LONGEST))
}

fn set(signs: &[(&str, &str)]) -> RegexSet {
    RegexSet::new(signs.iter().map(|(pattern, _)| pattern)).expect("the patterns above are valid")
}
