//! Tests of typed tools through the `Tool` trait.

use std::io;

use mcp_jsonrpc::{Delivery, RawJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ToolError, schema_of, tool};
use crate::{CallContext, Concurrency, FailureKind, Tool, ToolOutcome};

#[derive(Deserialize, JsonSchema)]
struct Factors {
    /// The first factor.
    x: u32,
    #[serde(default)]
    y: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
struct Product {
    value: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "shape", rename_all = "snake_case")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

async fn call(tool: &dyn Tool, arguments: &str) -> ToolOutcome {
    let arguments = RawJson::parse(arguments.to_owned()).unwrap();
    tool.call(arguments, CallContext::default()).await
}

#[tokio::test]
async fn schemas_and_hints_come_from_the_types_and_the_builder() {
    let calc = tool("calc", "Multiplies two numbers")
        .title("Calculator")
        .read_only()
        .meta(RawJson::parse(r#"{"a":1}"#).unwrap())
        .run(|args: Factors, _| async move { Ok(Product { value: args.x * args.y.unwrap_or(1) }) });
    let spec = calc.spec();
    // Compared as values: the order of members depends on the features of `serde_json`.
    assert_eq!(
        spec.input_schema.decode::<Value>().unwrap(),
        json!({"type": "object", "required": ["x"], "properties": {
            "x": {"description": "The first factor.", "type": "integer", "format": "uint32", "minimum": 0},
            "y": {"type": ["integer", "null"], "format": "uint32", "minimum": 0, "default": null},
        }})
    );
    assert_eq!(
        spec.output_schema.as_ref().unwrap().decode::<Value>().unwrap(),
        json!({"type": "object", "required": ["value"], "properties": {
            "value": {"type": "integer", "format": "uint32", "minimum": 0},
        }})
    );
    assert_eq!((spec.hints.concurrency(), spec.hints.trusted), (Concurrency::Shared, true));
    assert_eq!(spec.title.as_deref(), Some("Calculator"));
    assert_eq!(spec.meta.as_ref().unwrap().as_str(), r#"{"a":1}"#);

    let outcome = call(&*calc, r#"{"x":6,"y":7}"#).await;
    assert_eq!(outcome.structured.as_ref().unwrap().as_str(), r#"{"value":42}"#);
    assert_eq!(outcome.text_content(), r#"{"value":42}"#);
}

#[tokio::test]
async fn wrong_arguments_are_an_outcome_that_names_the_member() {
    let calc = tool("calc", "?").run(|args: Factors, _| async move { Ok(args.x) });
    let outcome = call(&*calc, r#"{"x":"six"}"#).await;
    assert!(outcome.is_error);
    let failure = outcome.failure.as_ref().unwrap();
    assert_eq!(
        (failure.kind, failure.delivery),
        (FailureKind::InvalidArguments, Delivery::NotSent)
    );
    let text = outcome.text_content();
    assert!(text.contains("x: expected") && text.contains("found a string"), "{text}");
    let text = call(&*calc, "{}").await.text_content();
    assert!(text.contains("`x`"), "{text}");
}

#[tokio::test]
async fn errors_are_outcomes_with_their_causes() {
    let fails = tool("fails", "?").run(|(), _| async {
        let inner = io::Error::new(io::ErrorKind::NotFound, "no such file");
        Err::<(), _>(io::Error::other(inner))?;
        Ok(())
    });
    let outcome = call(&*fails, "{}").await;
    assert!(outcome.is_error && outcome.failure.is_none());
    assert!(outcome.text_content().contains("no such file"), "{outcome}");

    let denied = tool("denied", "?").run(|(), _| async {
        let outcome = ToolOutcome::failed(FailureKind::Denied, Delivery::NotSent, "not today");
        Err::<(), _>(ToolError::with_outcome(outcome))
    });
    assert_eq!(call(&*denied, "{}").await.failure_kind(), Some(FailureKind::Denied));
}

#[tokio::test]
async fn values_that_are_not_objects_are_text() {
    let text = tool("text", "?").run(|(), _| async { Ok("noon") });
    assert!(text.spec().output_schema.is_none());
    assert_eq!(text.spec().input_schema.as_str(), r#"{"type":"object","properties":{}}"#);
    let outcome = call(&*text, r#"{"ignored":1}"#).await;
    assert_eq!((outcome.text_content().as_str(), outcome.structured), ("noon", None));
    let list = tool("list", "?").run(|(), _| async { Ok(vec![1, 2]) });
    assert_eq!(call(&*list, "{}").await.text_content(), "[1,2]");
    let nothing = tool("nothing", "?").run(|(), _| async { Ok(()) });
    assert!(call(&*nothing, "{}").await.content.is_empty());
}

#[tokio::test]
async fn arguments_may_be_an_enum_and_the_context_is_passed_on() {
    let area = tool("area", "?").run(|shape: Shape, context: CallContext| async move {
        assert!(context.approved);
        Ok(match shape {
            Shape::Circle { radius } => radius * radius * 3.0,
            Shape::Square { side } => side * side,
        })
    });
    assert_eq!(area.spec().input_schema.get("type").unwrap().as_str(), r#""object""#);
    let context = CallContext::default().with_approved(true);
    let arguments = RawJson::parse(r#"{"shape":"square","side":3}"#).unwrap();
    assert_eq!(area.call(arguments, context).await.text_content(), "9.0");
}

#[test]
fn nested_schemas_are_inlined() {
    #[derive(Deserialize, JsonSchema)]
    struct Outer {
        #[expect(dead_code, reason = "only its schema is looked at")]
        inner: Factors,
    }
    let schema = schema_of::<Outer>();
    assert!(!schema.as_str().contains("$ref") && schema.as_str().contains("The first factor."));
}
