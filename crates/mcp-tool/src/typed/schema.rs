//! JSON Schemas of types, and deserialization of arguments.

use mcp_jsonrpc::{RawJson, ShapeError};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::de::DeserializeOwned;

/// The JSON Schema for deserializing a `T`: draft 2020-12, self-contained, without a title.
///
/// ```
/// use mcp_tool::schema_of;
///
/// assert_eq!(schema_of::<bool>().as_str(), r#"{"type":"boolean"}"#);
/// ```
pub fn schema_of<T: JsonSchema>() -> RawJson {
    raw(&read_schema::<T>())
}

fn settings() -> SchemaSettings {
    // This dialect is the protocol's default. References are inlined, since many providers reject them.
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    })
}

fn read_schema<T: JsonSchema>() -> Schema {
    without_title(settings().for_deserialize().into_generator().into_root_schema_for::<T>())
}

/// Removes the title: the name of a Rust type does not help a model.
fn without_title(mut schema: Schema) -> Schema {
    schema.remove("title");
    schema
}

fn raw(schema: &Schema) -> RawJson {
    // Cannot fail: a schema is a JSON value.
    RawJson::encode(schema).unwrap_or_else(|_| RawJson::empty_object())
}

fn is_type(schema: &Schema, name: &str) -> bool {
    schema.get("type").and_then(|kind| kind.as_str()) == Some(name)
}

/// The arguments of a function.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    /// `None` if the function's argument is `()`.
    schema: Option<RawJson>,
}

impl Arguments {
    pub(super) fn of<A: JsonSchema>() -> Self {
        let mut schema = read_schema::<A>();
        if is_type(&schema, "null") {
            return Self { schema: None };
        }
        // The protocol requires an object. The schema of an enum of structs is a `oneOf` without a type.
        if schema.get("type").is_none() {
            schema.insert("type".into(), "object".into());
        }
        Self { schema: Some(raw(&schema)) }
    }

    pub(super) fn input_schema(&self) -> Option<RawJson> {
        self.schema.clone()
    }

    pub(super) fn decode<A: DeserializeOwned>(&self, raw: &RawJson) -> Result<A, ShapeError> {
        if self.schema.is_none() { RawJson::null().decode() } else { raw.decode() }
    }
}

/// The result type of a function.
#[derive(Clone, Debug)]
pub(super) struct Produced {
    /// The schema, if it is an object. Legacy clients do not support other types.
    schema: Option<RawJson>,
}

impl Produced {
    pub(super) fn of<T: JsonSchema>() -> Self {
        let generator = settings().for_serialize().into_generator();
        let schema = without_title(generator.into_root_schema_for::<T>());
        Self { schema: is_type(&schema, "object").then(|| raw(&schema)) }
    }

    pub(super) fn is_object(&self) -> bool {
        self.schema.is_some()
    }

    pub(super) fn output_schema(&self) -> Option<RawJson> {
        self.schema.clone()
    }
}
