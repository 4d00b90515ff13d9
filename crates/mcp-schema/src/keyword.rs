//! The keywords that apply subschemas, and the part of an instance that each of them applies to.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::error::NotChecked;

/// The part of an instance that a subschema applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// The instance itself.
    Whole,
    /// Every item of an array.
    Items,
    /// One item of an array.
    Item(usize),
    /// Every member of an object.
    Members,
    /// One member of an object.
    Member(&'a str),
    /// The name of every member of an object.
    Names,
}

/// Calls `visit` for each subschema that `schema` applies, including `$ref`. Drafts define different keywords; all of
/// them are followed in every draft, so that no work is missed.
pub(crate) fn subschemas<'a>(
    root: &'a Value,
    schema: &'a Map<String, Value>,
    mut visit: impl FnMut(Part<'a>, &'a Value) -> Result<(), NotChecked>,
) -> Result<(), NotChecked> {
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("$ref", Value::String(reference)) => {
                visit(Part::Whole, resolve(root, reference)?)?;
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                branches.iter().try_for_each(|branch| visit(Part::Whole, branch))?;
            }
            ("not" | "if" | "then" | "else", one) => visit(Part::Whole, one)?,
            ("dependentSchemas" | "dependencies", Value::Object(map)) => {
                let schemas = map.values().filter(|value| !value.is_array());
                schemas.into_iter().try_for_each(|one| visit(Part::Whole, one))?;
            }
            ("items" | "prefixItems", Value::Array(list)) => {
                let numbered = list.iter().enumerate();
                numbered.into_iter().try_for_each(|(at, one)| visit(Part::Item(at), one))?;
            }
            ("items" | "additionalItems" | "contains", one) => visit(Part::Items, one)?,
            ("properties", Value::Object(map)) => {
                map.iter().try_for_each(|(name, one)| visit(Part::Member(name), one))?;
            }
            ("patternProperties", Value::Object(map)) => {
                map.values().try_for_each(|one| visit(Part::Members, one))?;
            }
            ("additionalProperties", one) => visit(Part::Members, one)?,
            ("propertyNames", one) => visit(Part::Names, one)?,
            _ => {}
        }
    }
    Ok(())
}

/// The target of a reference within the document.
fn resolve<'a>(root: &'a Value, reference: &str) -> Result<&'a Value, NotChecked> {
    let target = || {
        let pointer = percent_decoded(reference.strip_prefix('#')?)?;
        root.pointer(&pointer)
    };
    target().ok_or_else(|| NotChecked::Reference(reference.chars().take(100).collect()))
}

fn percent_decoded(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_local_json_pointers_are_resolved() {
        let root = json!({"$defs": {"a<b>": {"type": "string"}, "x/y": true}});
        assert_eq!(resolve(&root, "#/$defs/a%3Cb%3E").unwrap(), &json!({"type": "string"}));
        assert_eq!(resolve(&root, "#/$defs/x~1y").unwrap(), &json!(true));
        assert_eq!(resolve(&root, "#").unwrap(), &root);
        for elsewhere in ["", "#anchor", "other.json", "https://example.test/a", "#/$defs/%zz"] {
            assert_eq!(resolve(&root, elsewhere), Err(NotChecked::Reference(elsewhere.into())));
        }
    }
}
