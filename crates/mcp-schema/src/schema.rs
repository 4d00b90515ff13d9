//! A compiled schema, which lists violations within a budget.

use std::fmt::{self, Write};

use jsonschema::{PatternOptions, ValidationError, ValidationOptions};
use serde_json::Value;

use crate::{admit::admit, error::NotChecked, steps};

/// The most violations to list. A model fixes a few at a time.
const MAX_VIOLATIONS: usize = 8;
/// The longest message of a violation in bytes. Messages quote the instance.
const MAX_MESSAGE: usize = 1_000;
/// Above this many steps, a single violation without a path is reported, because the validator collects all
/// violations in memory before it returns the first.
const MAX_LISTED: u64 = 50_000;
/// The largest automaton of a pattern, in bytes.
const MAX_PATTERN: usize = 128 << 10;

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    document: Value,
    validator: jsonschema::Validator,
}

/// A violation of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The location in the instance, as a JSON pointer; empty for the whole instance.
    pub path: String,
    /// The description. Quotes the instance and the schema, so it is untrusted text.
    pub message: String,
}

impl Schema {
    /// Compiles `document`, if the cost of validation can be bounded. An unknown `$schema` is treated as the newest
    /// draft.
    ///
    /// # Errors
    /// The reason why the schema cannot be used for validation.
    pub fn admit(document: &Value) -> Result<Self, NotChecked> {
        admit(document)?;
        let mut document = document.clone();
        if let Some(members) = document.as_object_mut()
            && members.get("$schema").is_some_and(|dialect| !is_known(dialect))
        {
            members.remove("$schema");
        }
        let validator =
            options().build(&document).map_err(|error| NotChecked::Invalid(bounded(&error)))?;
        Ok(Self { document, validator })
    }

    /// Returns the violations of `instance`, at most eight. The list is empty if the instance is valid.
    ///
    /// # Errors
    /// If validation would take more than `budget` steps, or too much of the stack. The instance has not been
    /// validated then.
    pub fn check(&self, instance: &Value, budget: u64) -> Result<Vec<Violation>, NotChecked> {
        let steps = steps::count(&self.document, instance, budget)?;
        if self.validator.is_valid(instance) {
            return Ok(Vec::new());
        }
        if steps > MAX_LISTED {
            let message = "does not match the schema".to_owned();
            return Ok(vec![Violation { path: String::new(), message }]);
        }
        let violation = |error: ValidationError<'_>| Violation {
            path: error.instance_path().to_string(),
            message: bounded(&error),
        };
        Ok(self.validator.iter_errors(instance).take(MAX_VIOLATIONS).map(violation).collect())
    }
}

pub(crate) fn options() -> ValidationOptions<'static> {
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(4 * MAX_PATTERN);
    jsonschema::options()
        .with_pattern_options(patterns)
        // The format `regex` would compile patterns that come with the instance.
        .with_format("regex", |_: &str| true)
}

fn is_known(dialect: &Value) -> bool {
    let dialect = dialect.as_str().unwrap_or_default().trim_end_matches('#');
    [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    ]
    .contains(&dialect)
}

/// The text of `error` up to a limit. The rest is not formatted.
fn bounded(error: &ValidationError<'_>) -> String {
    struct Bounded(String);
    impl Write for Bounded {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let room = (MAX_MESSAGE - self.0.len()).min(text.len());
            let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            self.0.push_str(&text[..end]);
            if end < text.len() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut message = Bounded(String::new());
    // An error means that the limit was reached.
    let _ = write!(message, "{error}");
    message.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violations(schema: &Value, instance: &Value) -> Vec<String> {
        let found = Schema::admit(schema).unwrap().check(instance, 1_000_000).unwrap();
        found.into_iter().map(|one| format!("{}: {}", one.path, one.message)).collect()
    }

    #[test]
    fn each_violation_has_its_json_pointer() {
        let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false,
            "properties": {"path": {"type": "string"}, "lines": {"type": "integer", "minimum": 1}}});
        assert!(violations(&schema, &json!({"path": "x", "lines": 3})).is_empty());
        let all = violations(&schema, &json!({"lines": 0, "extra": 1})).join("\n");
        assert!(all.contains("/lines: ") && all.contains("path") && all.contains("extra"), "{all}");
    }

    #[test]
    fn references_to_other_documents_are_never_followed() {
        for target in ["https://evil.test/schema.json", "file:///etc/passwd", "other.json"] {
            let schema = json!({"properties": {"a": {"$ref": target}}});
            assert_eq!(Schema::admit(&schema).unwrap_err(), NotChecked::Reference(target.into()));
        }
    }

    #[test]
    fn invalid_schema_is_reported_and_unknown_dialect_is_the_newest() {
        let error = Schema::admit(&json!({"type": 7})).unwrap_err();
        assert!(matches!(error, NotChecked::Invalid(_)), "{error}");
        let odd = json!({"$schema": "https://example.com/own", "required": ["a"]});
        assert_eq!(violations(&odd, &json!({})).len(), 1);
        let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1,
            "exclusiveMinimum": true});
        assert_eq!(violations(&old, &json!(1)).len(), 1, "other drafts have no such flag");
    }

    #[test]
    fn patterns_take_linear_time_and_bounded_memory() {
        let nested = json!({"pattern": "^(a+)+$"});
        let text = format!("{}!", "a".repeat(10_000));
        assert_eq!(violations(&nested, &json!(text)).len(), 1);
        let large = json!({"pattern": "(a{1,200}){1,200}"});
        assert!(matches!(Schema::admit(&large), Err(NotChecked::Invalid(_))));
        let format =
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "regex"});
        assert!(violations(&format, &json!("(")).is_empty());
    }

    #[test]
    fn large_instances_have_one_violation_without_a_path() {
        let schema = json!({"items": {"type": "integer"}});
        let wrong = |count| violations(&schema, &json!(vec!["x"; count]));
        assert_eq!(wrong(100).len(), 8);
        assert_eq!(wrong(30_000), [": does not match the schema"]);
    }

    #[test]
    fn violation_messages_have_bounded_length() {
        let schema = json!({"type": "object"});
        let [one] = &violations(&schema, &json!("x".repeat(1 << 20)))[..] else { panic!() };
        assert_eq!(one.len(), ": ".len() + MAX_MESSAGE);
        let accents = violations(&schema, &json!("é".repeat(1 << 20)));
        assert!(
            (MAX_MESSAGE - 1..=MAX_MESSAGE + 2).contains(&accents[0].len()),
            "{}",
            accents[0].len()
        );
    }

    #[test]
    fn deepest_admitted_nesting_fits_a_small_stack() {
        let within = |schema: Value, instance: Value| {
            let check = move || Schema::admit(&schema).unwrap().check(&instance, 1_000_000);
            let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(check).unwrap();
            thread.join().unwrap()
        };
        let lists =
            json!({"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "integer"}]});
        let nested = (0..40).fold(json!("x"), |inner, _| json!([inner]));
        assert_eq!(within(lists, nested).unwrap().len(), 1);
        let branches =
            (0..60).fold(json!({"type": "string"}), |inner, _| json!({"anyOf": [inner]}));
        assert_eq!(within(branches, json!(1)).unwrap().len(), 1);
    }
}
