//! Permissions: the names of calls in rules and approvals.
//!
//! `mcp:<server>:<tool>`, `mcp:<server>:resource/<uri>`, `mcp:<server>:prompt/<name>`, `mcp:<server>:login`,
//! `host:<name>`, `custom:<name>`. Rules are globs over these texts, so every `:` and `*` in a name is
//! percent-encoded.

use std::{borrow::Cow, fmt::Write};

use crate::origin::{Offer, Origin};

/// The permission for `name` from `origin`.
pub(crate) fn permission(origin: &Origin, name: &str) -> String {
    match origin {
        Origin::Host => format!("host:{}", escaped(name)),
        Origin::Custom => format!("custom:{}", escaped(name)),
        Origin::Server { server, tool } => {
            format!("mcp:{}:{}", escaped(server), tool_part(tool))
        }
        Origin::Offer { server, offer } => format!("mcp:{}:{}", escaped(server), offer_part(offer)),
    }
}

fn offer_part(offer: &Offer) -> String {
    match offer {
        Offer::Resource { uri, .. } => format!("resource/{}", escaped_uri(uri)),
        Offer::Prompt { name } => format!("prompt/{}", escaped(name)),
        Offer::Instructions => "instructions".to_owned(),
        Offer::Login => "login".to_owned(),
    }
}

/// Escapes tools that are named like another kind of permission, so that rules for that kind do not match them.
fn tool_part(tool: &str) -> Cow<'_, str> {
    let is_reserved = matches!(tool, "login" | "instructions")
        || tool.starts_with("resource/")
        || tool.starts_with("prompt/");
    if !is_reserved {
        return escaped(tool);
    }
    let mut text = String::with_capacity(tool.len() + 2);
    push_escaped(&mut text, &tool[..1], |_| true);
    push_escaped(&mut text, &tool[1..], is_special);
    Cow::Owned(text)
}

fn escaped(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(is_special) {
        return Cow::Borrowed(name);
    }
    let mut text = String::with_capacity(name.len() + 8);
    push_escaped(&mut text, name, is_special);
    Cow::Owned(text)
}

/// A URI keeps its `:`, `?` and `%`, so that rules can contain URIs as written. It is always the last part.
fn escaped_uri(uri: &str) -> String {
    let mut text = String::with_capacity(uri.len());
    push_escaped(&mut text, uri, |byte| byte == b'*');
    text
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b':' | b'*' | b'?' | b'%')
}

fn push_escaped(text: &mut String, part: &str, is_escaped: impl Fn(u8) -> bool) {
    for c in part.chars() {
        match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() && is_escaped(byte) => {
                let _ = write!(text, "%{byte:02X}");
            }
            _ => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(server: &str, tool: &str) -> String {
        permission(&Origin::Server { server: server.into(), tool: tool.into() }, "")
    }

    fn offered(offer: Offer) -> String {
        permission(&Origin::Offer { server: "s".into(), offer }, "")
    }

    #[test]
    fn colons_and_stars_in_names_are_escaped_in_both_parts() {
        assert_eq!(of("files", "read_file"), "mcp:files:read_file");
        assert_eq!(of("files:evil", "x"), "mcp:files%3Aevil:x");
        assert_eq!(of("a", "b:c"), "mcp:a:b%3Ac");
        assert_ne!(of("a", "b:c"), of("a:b", "c"));
        assert_ne!(of("a%3Ab", "c"), of("a:b", "c"));
        assert_eq!(of("*", "*?"), "mcp:%2A:%2A%3F");
        assert_eq!(of("日本", "読む"), "mcp:日本:読む");
    }

    #[test]
    fn tool_name_cannot_imitate_another_permission() {
        let resource = Offer::Resource { uri: "a:b".into(), listed: true };
        assert_eq!(offered(resource), "mcp:s:resource/a:b");
        assert_eq!(offered(Offer::Prompt { name: "p:q".into() }), "mcp:s:prompt/p%3Aq");
        assert_eq!(offered(Offer::Login), "mcp:s:login");
        assert_eq!(of("s", "login"), "mcp:s:%6Cogin");
        assert_eq!(of("s", "resource/a"), "mcp:s:%72esource/a");
        assert_eq!(of("s", "prompt/a:b"), "mcp:s:%70rompt/a%3Ab");
        assert_eq!(of("s", "logins/a"), "mcp:s:logins/a");
    }
}
