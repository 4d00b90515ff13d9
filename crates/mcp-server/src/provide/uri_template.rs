//! Matches URIs against templates with `{name}` and `{+name}`.

use std::collections::BTreeMap;

/// A parsed URI template.
#[derive(Clone, Debug)]
pub(super) struct UriTemplate(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Literal(String),
    /// `crosses_slashes` is set for the operator `+`.
    Variable {
        name: String,
        crosses_slashes: bool,
    },
    /// Any other expression, which never matches.
    Unsupported,
}

impl UriTemplate {
    pub(super) fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let Some((expression, after)) = after.split_once('}') else {
                parts.push(Part::Unsupported);
                return Self(parts);
            };
            parts.push(variable(expression));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Self(parts)
    }

    /// The values of the variables in `uri`, percent-decoded. A variable is never empty, and ends at the first
    /// occurrence of the template text that follows it.
    pub(super) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        let mut rest = uri;
        for (index, part) in self.0.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, crosses_slashes } => {
                    let end = match self.0.get(index + 1) {
                        None => rest.len(),
                        Some(Part::Literal(next)) => rest.find(next.as_str())?,
                        Some(_) => return None,
                    };
                    let (value, after) = rest.split_at(end);
                    if value.is_empty() || !crosses_slashes && value.contains('/') {
                        return None;
                    }
                    values.insert(name.clone(), percent_decoded(value)?);
                    rest = after;
                }
                Part::Unsupported => return None,
            }
        }
        rest.is_empty().then_some(values)
    }
}

fn variable(expression: &str) -> Part {
    let (name, crosses_slashes) = match expression.strip_prefix('+') {
        Some(name) => (name, true),
        None => (expression, false),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Part::Unsupported;
    }
    Part::Variable { name: name.to_owned(), crosses_slashes }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, after) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [char::from(*high).to_digit(16)?, char::from(*low).to_digit(16)?];
                (u8::try_from(digits[0] * 16 + digits[1]).ok()?, after)
            }
            (b'%', _) => return None,
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<String>> {
        Some(UriTemplate::parse(template).matches(uri)?.into_values().collect())
    }

    #[test]
    fn template_variables_are_extracted_and_percent_decoded() {
        assert_eq!(matched("users://{id}/profile", "users://7/profile").unwrap(), ["7"]);
        assert_eq!(matched("a://{a}/{b}", "a://x/y%20z").unwrap(), ["x", "y z"]);
        assert_eq!(matched("file:///{+path}", "file:///a/b").unwrap(), ["a/b"]);
        assert_eq!(matched("plain:", "plain:").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn other_uris_and_unsupported_templates_do_not_match() {
        for (template, uri) in [
            ("users://{id}/profile", "users:///profile"),
            ("users://{id}/profile", "users://7/8/profile"),
            ("users://{id}/profile", "users://7/profile/x"),
            ("a://{a}", "a://%zz"),
            ("a://{a}", "a://%f"),
            ("a://{a}", "a://%ff"),
            ("a://{a}{b}", "a://xy"),
            ("a://{?q}", "a://?q=1"),
            ("a://{a", "a://x"),
        ] {
            assert_eq!(matched(template, uri), None, "{template} {uri}");
        }
    }
}
