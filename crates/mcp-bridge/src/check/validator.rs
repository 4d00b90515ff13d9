//! One compiled schema.

use jsonschema::PatternOptions;
use serde_json::Value;

use crate::hygiene::clean;

/// The most violations to list: a model mends a few at a time.
const MOST: usize = 8;

/// A schema ready to check with. One that does not compile checks nothing: its tool stays, and a log line
/// says why.
pub(super) struct Validator(Option<jsonschema::Validator>);

impl Validator {
    pub(super) fn new(schema: &Value, tool: &str) -> Self {
        let known = schema.get("$schema").and_then(Value::as_str).is_none_or(is_known);
        let compile = |schema: &Value| {
            // Linear time, whatever pattern a server thinks of.
            jsonschema::options().with_pattern_options(PatternOptions::regex()).build(schema)
        };
        let built = if known {
            compile(schema)
        } else {
            let mut schema = schema.clone();
            schema.as_object_mut().map(|object| object.remove("$schema"));
            compile(&schema)
        };
        match built {
            Ok(validator) => Self(Some(validator)),
            Err(error) => {
                let error = clean(&error.to_string(), 300).text;
                tracing::warn!(
                    tool,
                    error,
                    "arguments are not checked: the schema does not compile"
                );
                Self(None)
            }
        }
    }

    /// What is wrong with `value`, as `path: what`.
    pub(super) fn problems(&self, value: &Value) -> Vec<String> {
        let Some(validator) = &self.0 else { return Vec::new() };
        if validator.is_valid(value) {
            return Vec::new();
        }
        let problem = |error: jsonschema::ValidationError<'_>| {
            let path = error.instance_path().to_string();
            let place = if path.is_empty() { "arguments".to_owned() } else { path };
            format!("{place}: {}", clean(&error.to_string(), 300).text)
        };
        validator.iter_errors(value).take(MOST).map(problem).collect()
    }
}

fn is_known(dialect: &str) -> bool {
    let dialect = dialect.trim_end_matches('#');
    [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    ]
    .contains(&dialect)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_violation_names_its_place() {
        let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false,
            "properties": {"path": {"type": "string"}, "lines": {"type": "integer", "minimum": 1}}});
        let validator = Validator::new(&schema, "t");
        assert!(validator.problems(&json!({"path": "x", "lines": 3})).is_empty());
        let problems = validator.problems(&json!({"lines": 0, "extra": 1}));
        let all = problems.join("\n");
        assert!(all.contains("/lines: ") && all.contains("path") && all.contains("extra"), "{all}");
    }

    #[test]
    fn a_schema_that_does_not_compile_and_a_remote_reference_check_nothing() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"$ref": "https://evil.test/schema.json"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
            json!({"type": 7}),
        ] {
            assert!(Validator::new(&schema, "t").problems(&json!({"a": 1})).is_empty());
        }
        let odd = json!({"$schema": "https://example.com/own", "required": ["a"]});
        assert_eq!(Validator::new(&odd, "t").problems(&json!({})).len(), 1);
    }

    #[test]
    fn a_schema_that_refers_to_itself_and_a_nasty_pattern_end() {
        let schema = json!({"$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}},
            "$ref": "#/$defs/n"});
        assert!(Validator::new(&schema, "t").problems(&json!({"n": {"n": {}}})).is_empty());
        let nasty = json!({"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}});
        let text = format!("{}!", "a".repeat(50_000));
        assert_eq!(Validator::new(&nasty, "t").problems(&json!({ "a": text })).len(), 1);
    }
}
