//! Targets for schemas of servers and arguments of models in the formats of model APIs.

use mcp_jsonrpc::RawJson;
use mcp_providers::{
    Arguments,
    schema::{Dialect, project},
};
use mcp_tool::ToolSpec;

const DIALECTS: &[Dialect] = &[
    Dialect::Generic,
    Dialect::Anthropic,
    Dialect::OpenAi,
    Dialect::OpenAiStrict,
    Dialect::Gemini,
    Dialect::GeminiOpenApi,
];

/// Any JSON as an input schema: the projection is an object schema without references and top-level alternatives, and
/// projecting it again changes nothing.
pub(crate) fn projection(data: &[u8]) {
    let Ok(raw) = RawJson::parse(data.to_vec()) else { return };
    for &dialect in DIALECTS {
        let projected = project(&raw, dialect).schema;
        let kind = projected.get("type").expect("a type");
        assert!(matches!(kind.as_str(), r#""object""# | r#""OBJECT""#), "{dialect:?}");
        for word in ["$ref", "oneOf", "anyOf", "allOf", "not", "enum"] {
            assert!(projected.get(word).is_none(), "{dialect:?} has {word}");
        }
        if matches!(dialect, Dialect::Generic | Dialect::Anthropic | Dialect::OpenAi) {
            assert_eq!(project(&projected, dialect).schema, projected, "{dialect:?}");
        }
    }
}

/// Any text as arguments: the result is an object that does not change the second time, or an outcome with a message.
pub(crate) fn model_arguments(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut tool = ToolSpec::new("tool", "");
    let schema = r#"{"required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"items":{"properties":{"b":{"type":"null"},"d":{"type":"integer"}}}}}}"#;
    tool.input_schema = RawJson::parse(schema).expect("it is written here");
    match Arguments::read(&text).for_tool(&tool) {
        Arguments::Refused(outcome) => {
            assert!(outcome.is_error && !outcome.text_content().is_empty());
        }
        Arguments::Ready(arguments) => {
            assert!(arguments.is_object());
            assert!(arguments.get("b").is_none_or(|value| !value.is_null()));
            let Arguments::Ready(again) = Arguments::of(arguments.clone()).for_tool(&tool) else {
                panic!("refused the second time");
            };
            assert_eq!(again, arguments);
        }
    }
}
