//! Projections of schemas, dialect by dialect.

use mcp_providers::{
    Api, Lost, NotStrict,
    anthropic::Anthropic,
    openai::chat::Chat,
    schema::{Dialect, Projection, project},
};
use mcp_tool::ToolSpec;

use crate::samples::{SCHEMAS, raw, tool};

fn sample(name: &str, dialect: Dialect) -> Projection {
    let (_, schema) = SCHEMAS.iter().find(|(sample, _)| *sample == name).unwrap();
    project(&raw(schema), dialect)
}

fn losses(projection: &Projection) -> Vec<String> {
    projection.losses.iter().map(ToString::to_string).collect()
}

#[test]
fn a_schema_that_an_api_takes_passes_unchanged() {
    let (_, plain) = SCHEMAS[1];
    for dialect in [Dialect::Generic, Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
        let projection = project(&raw(plain), dialect);
        assert_eq!(projection.schema.as_str(), plain, "{dialect:?}");
        assert_eq!(losses(&projection), [""; 0], "{dialect:?}");
    }
}

#[test]
fn alternatives_at_the_top_become_one_object() {
    let either = sample("either", Dialect::Anthropic);
    assert_eq!(
        either.schema.as_str(),
        r#"{"type":"object","properties":{"action":{"enum":["get","list"]},"id":{"type":"string"},"page":{"type":"integer"}},"required":["action"]}"#
    );
    assert_eq!(losses(&either), ["the alternatives of `oneOf` were merged"]);
    let one = sample("at_least_one", Dialect::OpenAi);
    assert_eq!(
        one.schema.as_str(),
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}"#
    );
}

#[test]
fn references_are_inlined_and_recursion_is_cut() {
    let both = sample("references", Dialect::Anthropic);
    let point = r#"{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"],"additionalProperties":false"#;
    assert_eq!(
        both.schema.as_str(),
        format!(
            r#"{{"type":"object","properties":{{"from":{point}}},"to":{point},"description":"Where to."}}}},"required":["from"]}}"#
        )
    );
    assert_eq!(losses(&both), [""; 0]);
    let recursive = sample("recursive", Dialect::Anthropic);
    assert!(!recursive.schema.as_str().contains("$ref"));
    assert_eq!(
        losses(&recursive),
        ["/properties/children/items/properties/children/items: the reference `#` is recursive"]
    );
    let elsewhere =
        raw(r##"{"properties":{"a":{"$ref":"https://evil.test/x"},"b":{"$ref":"#/nothing"}}}"##);
    assert_eq!(
        losses(&project(&elsewhere, Dialect::Anthropic)),
        [
            "/properties/a: the reference `https://evil.test/x` cannot be followed",
            "/properties/b: the reference `#/nothing` cannot be followed"
        ]
    );
}

#[test]
fn references_that_multiply_stop_at_the_budget() {
    // Each level refers to the next one ten times: 10^9 schemas without a budget.
    let level = |n: usize| {
        let properties: Vec<String> =
            (0..10).map(|i| format!(r##""p{i}":{{"$ref":"#/$defs/l{}"}}"##, n + 1)).collect();
        format!(r#""l{n}":{{"type":"object","properties":{{{}}}}}"#, properties.join(","))
    };
    let levels: Vec<String> = (0..9).map(level).collect();
    let schema = format!(
        r##"{{"$defs":{{{},"l9":{{"type":"string"}}}},"$ref":"#/$defs/l0"}}"##,
        levels.join(",")
    );
    let projection = project(&raw(&schema), Dialect::Anthropic);
    assert!(projection.schema.as_str().len() < 1 << 20);
    assert_eq!(projection.losses.iter().filter(|loss| loss.lost == Lost::Budget).count(), 1);
}

#[test]
fn a_lost_limit_is_reported_and_described() {
    let limits = sample("limits", Dialect::Gemini);
    let name = limits.schema.get("properties").unwrap().get("name").unwrap();
    assert_eq!(
        name.as_str(),
        r#"{"type":"string","format":"uri","description":"(minLength: 1, maxLength: 9, pattern: \"^[a-z]+$\")"}"#
    );
    assert_eq!(
        losses(&limits),
        [
            "/properties/name: the keyword `minLength` is not supported",
            "/properties/name: the keyword `maxLength` is not supported",
            "/properties/name: the keyword `pattern` is not supported",
            "/properties/list/items: the keyword `exclusiveMinimum` is not supported",
            "/properties/list/items: the keyword `multipleOf` is not supported",
            "/properties/list: the keyword `uniqueItems` is not supported",
        ]
    );
    let pick = limits.schema.get("properties").unwrap().get("pick").unwrap();
    assert_eq!(pick.as_str(), r#"{"type":"string","enum":["x","y"]}"#);
}

#[test]
fn older_drafts_are_read() {
    let old = sample("draft4", Dialect::Anthropic);
    assert_eq!(
        old.schema.get("properties").unwrap().as_str(),
        r#"{"n":{"type":"number","exclusiveMinimum":0},"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false},"old":{}}"#
    );
    assert_eq!(
        losses(&old),
        [
            "/properties/old: the value of `type` is not valid JSON Schema",
            "/properties/old: the value of `required` is not valid JSON Schema"
        ]
    );
}

#[test]
fn property_names_that_an_api_refuses_are_left_out() {
    let names = |dialect| {
        let projection = sample("names", dialect);
        let properties = projection.schema.get("properties").unwrap();
        properties.members().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(Dialect::OpenAi), ["fine", "not fine", "$top", "a.b"]);
    assert_eq!(names(Dialect::Anthropic), ["fine", "a.b"]);
    assert_eq!(names(Dialect::Gemini), ["fine"]);
    let anthropic = sample("names", Dialect::Anthropic);
    assert_eq!(anthropic.schema.get("required").unwrap().as_str(), r#"["fine"]"#);
}

#[test]
fn the_older_gemini_form_has_one_type_for_each_value() {
    let types = sample("types", Dialect::GeminiOpenApi);
    let property = |name: &str| {
        let properties = types.schema.get("properties").unwrap();
        properties.get(name).unwrap().as_str().to_owned()
    };
    assert_eq!(property("id"), r#"{"anyOf":[{"type":"STRING"},{"type":"INTEGER"}]}"#);
    assert_eq!(property("note"), r#"{"type":"STRING","nullable":true}"#);
    assert_eq!(property("level"), r#"{"type":"STRING","format":"enum","enum":["low","high"]}"#);
    assert_eq!(
        property("both"),
        r#"{"anyOf":[{"type":"STRING"},{"type":"ARRAY","items":{"type":"STRING"}}]}"#
    );
    let any = r#"{"anyOf":[{"type":"STRING"},{"type":"NUMBER"},{"type":"BOOLEAN"}]}"#;
    assert_eq!(property("any"), any);
    assert_eq!(property("tags"), format!(r#"{{"type":"ARRAY","items":{any}}}"#));
}

#[test]
fn strict_mode_requires_every_property_and_lets_optional_ones_be_null() {
    let plain = sample("plain", Dialect::OpenAiStrict);
    assert!(plain.is_strict);
    assert_eq!(
        plain.schema.as_str(),
        r#"{"type":"object","properties":{"path":{"type":"string","description":"A path."},"head":{"minimum":1,"type":["integer","null"]}},"required":["path","head"],"additionalProperties":false}"#
    );
    assert_eq!(losses(&plain), [""; 0]);
    let optional = raw(
        r#"{"type":"object","properties":{"mode":{"enum":["a"]},"one":{"const":1},"or":{"anyOf":[{"type":"string"},{"type":"number"}]}}}"#,
    );
    assert_eq!(
        project(&optional, Dialect::OpenAiStrict).schema.get("properties").unwrap().as_str(),
        r#"{"mode":{"enum":["a",null],"type":["string","null"]},"one":{"anyOf":[{"const":1,"type":"integer"},{"type":"null"}]},"or":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"null"}]}}"#
    );
}

#[test]
fn a_schema_that_cannot_be_strict_is_sent_without_and_says_why() {
    for (schema, why) in [
        (r#"{"properties":{"any":{}}}"#, NotStrict::Untyped),
        (r#"{"properties":{"map":{"type":"object"}}}"#, NotStrict::OpenObject),
        (
            r#"{"properties":{"a":{"type":"string"}},"additionalProperties":true}"#,
            NotStrict::OpenObject,
        ),
        (
            r#"{"properties":{"a":{"type":"string","anyOf":[{"minLength":1}]}}}"#,
            NotStrict::Unsupported,
        ),
    ] {
        let projection = project(&raw(schema), Dialect::OpenAiStrict);
        assert!(!projection.is_strict);
        assert_eq!(projection.losses[0].lost, Lost::Strict(why), "{schema}");
        assert_eq!(projection.schema, project(&raw(schema), Dialect::OpenAi).schema);
        let definition = Chat::strict().definition(&tool("x", schema));
        assert!(definition.json.as_str().ends_with(r#""strict":false}}"#));
    }
    let deep = (0..12).fold(r#"{"type":"string"}"#.to_owned(), |inner, _| {
        format!(r#"{{"type":"object","properties":{{"a":{inner}}},"additionalProperties":false}}"#)
    });
    let projection = project(&raw(&deep), Dialect::OpenAiStrict);
    assert_eq!(projection.losses[0].lost, Lost::Strict(NotStrict::TooLarge));
}

#[test]
fn a_value_that_is_not_an_object_schema_becomes_an_empty_one() {
    for wrong in ["7", "[]", "null", r#"{"type":"string"}"#] {
        let projection = project(&raw(wrong), Dialect::Anthropic);
        assert_eq!(projection.schema.as_str(), r#"{"type":"object","properties":{}}"#);
        assert_eq!(projection.losses[0].lost, Lost::NotAnObject);
    }
}

#[test]
fn names_and_descriptions_are_cut_to_the_limits_of_the_api() {
    let long = ToolSpec::new("a tool with spaces", "x".repeat(2000));
    let definition = Chat::default().definition(&long);
    assert_eq!(definition.name, "a_tool_with_spaces_92541e3d");
    assert_eq!(
        definition.losses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "the name `a tool with spaces` is not supported",
            "the description of 2000 characters was cut"
        ]
    );
    assert!(definition.json.as_str().len() < 1200);
    let anthropic = Anthropic::default().definition(&long);
    assert!(anthropic.json.as_str().len() > 2000, "Anthropic has no limit");
    let many: Vec<ToolSpec> = (0..130).map(|i| tool(&format!("t{i}"), "{}")).collect();
    let (definitions, losses) = mcp_providers::definitions(&Chat::default(), &many);
    assert_eq!((definitions.len(), losses.len()), (128, 2));
    assert_eq!(losses[1].0, "t129");
}
