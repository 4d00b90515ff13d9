//! Properties of projections for all schemas.

use std::collections::HashSet;

use jsonschema::draft202012;
use mcp_providers::{
    Arguments, Loss, Lost,
    schema::{Dialect, project},
};
use mcp_tool::RawJson;
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

use crate::samples::raw;

const DIALECTS: &[Dialect] = &[
    Dialect::Generic,
    Dialect::Anthropic,
    Dialect::OpenAi,
    Dialect::OpenAiStrict,
    Dialect::Gemini,
    Dialect::GeminiOpenApi,
];

/// A keyword with a value that is often, but not always, of the right shape.
fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let scalar = prop_oneof![
        Just(json!("text")),
        Just(json!(3)),
        Just(json!(-1.5)),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!(null)),
        Just(json!(["a", "b"])),
        Just(json!(["a", "a"])),
        Just(json!([])),
        Just(json!({})),
    ];
    let kind = prop_oneof![
        Just(json!("string")),
        Just(json!("object")),
        Just(json!("array")),
        Just(json!(["integer", "null"])),
        Just(json!(["string", "array"])),
        Just(json!("any")),
    ];
    let name = prop::sample::select(vec!["a", "b", "c c", "d.d", ""]);
    let map = vec((name, inner.clone()), 0..4)
        .prop_map(|list| list.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Map<_, _>>());
    let words = |list: &'static [&'static str]| prop::sample::select(list);
    prop_oneof![
        3 => (Just("type"), kind),
        3 => (Just("properties"), map.clone().prop_map(Value::Object)),
        1 => (words(&["patternProperties", "dependentSchemas", "$defs"]), map.prop_map(Value::Object)),
        2 => (words(&["items", "additionalProperties", "not", "if", "contains"]), inner.clone()),
        2 => (words(&["allOf", "anyOf", "oneOf", "prefixItems"]), vec(inner, 0..3).prop_map(Value::Array)),
        1 => (Just("$ref"), words(&["#", "#/$defs/a", "#/properties/b", "#/oops", "http://x.test/"])
            .prop_map(|to| json!(to))),
        4 => (words(&["title", "description", "enum", "const", "default", "minLength", "pattern", "format",
            "required", "minimum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems",
            "uniqueItems", "x-vendor", "dependentRequired", "additionalItems", "examples", "nullable"]), scalar),
    ]
    .prop_map(|(name, value)| (name.to_owned(), value))
    .boxed()
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({"type": "string"}))
    ];
    leaf.prop_recursive(5, 60, 4, |inner| {
        vec(keyword(inner.boxed()), 0..6)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
    })
}

fn parsed(raw: &RawJson) -> Value {
    serde_json::from_str(raw.as_str()).unwrap()
}

/// Every keyword of every schema, as a pointer. Skips schemas that are not projected.
fn keywords(schema: &Value, at: &str, found: &mut HashSet<String>) {
    let Value::Object(members) = schema else { return };
    for (name, value) in members {
        let here = format!("{at}/{name}");
        found.insert(here.clone());
        match (name.as_str(), value) {
            ("properties", Value::Object(map)) => {
                for (key, inner) in map {
                    keywords(inner, &format!("{here}/{key}"), found);
                }
            }
            ("items" | "additionalProperties", inner) => keywords(inner, &here, found),
            _ => {}
        }
    }
}

/// Whether a loss accounts for the removal of the keyword at `pointer`.
fn accounts(loss: &Loss, pointer: &str) -> bool {
    let named = match &loss.lost {
        Lost::Keyword(word) | Lost::Malformed(word) | Lost::Alternatives(word) => {
            format!("{}/{word}", loss.at)
        }
        Lost::Property(name) => format!("{}/properties/{name}", loss.at),
        // These change a whole schema.
        _ => loss.at.clone(),
    };
    pointer == named
        || pointer.starts_with(&format!("{named}/"))
        || matches!(&loss.lost, Lost::Property(_)) && pointer == format!("{}/required", loss.at)
}

proptest! {
    #[test]
    fn a_projection_is_a_valid_schema_of_an_object(schema in schema()) {
        let raw = raw(&schema.to_string());
        for &dialect in DIALECTS {
            let projection = project(&raw, dialect);
            let value = parsed(&projection.schema);
            if dialect != Dialect::GeminiOpenApi {
                prop_assert_eq!(&value["type"], "object");
                let verdict = draft202012::meta::validate(&value);
                prop_assert!(verdict.is_ok(), "{:?} {}", dialect, value);
            }
            prop_assert!(!projection.schema.as_str().contains(r#""$ref""#));
            for word in ["oneOf", "anyOf", "allOf", "not", "enum"] {
                prop_assert!(value.get(word).is_none(), "{:?} has {} at the top", dialect, word);
            }
            prop_assert_eq!(&project(&raw, dialect).schema, &projection.schema);
        }
    }

    #[test]
    fn projecting_twice_changes_nothing_more(schema in schema()) {
        let raw = raw(&schema.to_string());
        for dialect in [Dialect::Generic, Dialect::Anthropic, Dialect::OpenAi] {
            let once = project(&raw, dialect).schema;
            let twice = project(&once, dialect);
            prop_assert_eq!(twice.schema.as_str(), once.as_str(), "{:?}", dialect);
        }
    }

    #[test]
    fn every_lost_keyword_is_in_the_report(schema in schema()) {
        // References and compositions move keywords.
        prop_assume!(!["$ref", "allOf", "oneOf", "anyOf"].iter().any(|w| schema.to_string().contains(w)));
        prop_assume!(schema.is_object());
        let raw = raw(&schema.to_string());
        for &dialect in &DIALECTS[..5] {
            let projection = project(&raw, dialect);
            let (mut before, mut after) = (HashSet::new(), HashSet::new());
            keywords(&schema, "", &mut before);
            keywords(&parsed(&projection.schema), "", &mut after);
            for pointer in before.difference(&after) {
                let last = pointer.rsplit('/').next().unwrap();
                // Rewritten: `const` as `enum`, draft 4 as draft 2020-12.
                let is_flag = schema.pointer(pointer).is_some_and(Value::is_boolean);
                let is_renamed = match last {
                    "$defs" | "const" | "additionalItems" | "items" | "minimum" | "maximum" => true,
                    "exclusiveMinimum" | "exclusiveMaximum" => is_flag,
                    _ => false,
                };
                let is_known = is_renamed || projection.losses.iter().any(|loss| accounts(loss, pointer));
                prop_assert!(is_known, "{:?} lost {} of {}: {:?}", dialect, pointer, schema, projection.losses);
            }
        }
    }

    #[test]
    fn arguments_are_an_object_or_an_outcome(text in "\\PC{0,40}|[\\[\\]{}\",:a1 ]{0,20}") {
        match Arguments::read(&text) {
            Arguments::Ready(json) => prop_assert!(json.is_object()),
            Arguments::Refused(outcome) => prop_assert!(outcome.is_error && !outcome.text_content().is_empty()),
        }
    }
}
