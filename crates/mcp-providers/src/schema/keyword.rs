//! The keywords of JSON Schema (draft 2020-12) and the shape of their values.

use crate::json::Json;

/// The shape of a keyword's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Any,
    Text,
    Flag,
    Number,
    Positive,
    Count,
    Type,
    Values,
    Names,
    NamesByName,
    Schema,
    Schemas,
    SchemaByName,
}

/// Keywords that identify or comment a schema. They restrict nothing, so their removal is not a loss.
pub(super) const IDENTIFIERS: &[&str] = &[
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$comment",
    "$vocabulary",
    "$defs",
    "definitions",
];

pub(super) const TYPES: &[&str] =
    &["string", "number", "integer", "boolean", "object", "array", "null"];

/// The shape of `keyword`, if draft 2020-12 has it.
pub(super) fn shape(keyword: &str) -> Option<Shape> {
    Some(match keyword {
        "title" | "description" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => {
            Shape::Text
        }
        "default" | "const" => Shape::Any,
        "enum" | "examples" => Shape::Values,
        "type" => Shape::Type,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Shape::Number,
        "multipleOf" => Shape::Positive,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => Shape::Count,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Shape::Flag,
        "required" => Shape::Names,
        "dependentRequired" => Shape::NamesByName,
        "items"
        | "additionalProperties"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "propertyNames"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "contentSchema" => Shape::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Shape::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" => Shape::SchemaByName,
        _ => return None,
    })
}

/// Whether `value` has this shape, without checking inner schemas.
pub(super) fn is_valid(shape: Shape, value: &Json) -> bool {
    let number = value.as_number();
    match shape {
        Shape::Any => true,
        Shape::Text => value.as_str().is_some(),
        Shape::Flag => value.as_bool().is_some(),
        Shape::Number => number.is_some(),
        Shape::Positive => number.is_some_and(|number| number > 0.0),
        Shape::Count => number.is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
        Shape::Type => match value {
            Json::Array(kinds) => {
                !kinds.is_empty() && are_unique(kinds) && kinds.iter().all(is_type)
            }
            kind => is_type(kind),
        },
        Shape::Values => value.as_array().is_some(),
        Shape::Names => value.as_array().is_some_and(are_names),
        Shape::NamesByName => value.as_object().is_some_and(|object| {
            object.iter().all(|(_, names)| names.as_array().is_some_and(are_names))
        }),
        Shape::Schema => is_schema(value),
        Shape::Schemas => {
            value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_schema))
        }
        Shape::SchemaByName => value
            .as_object()
            .is_some_and(|object| object.iter().all(|(_, schema)| is_schema(schema))),
    }
}

fn is_schema(value: &Json) -> bool {
    value.as_object().is_some() || value.as_bool().is_some()
}

fn is_type(value: &Json) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn are_names(names: &[Json]) -> bool {
    are_unique(names) && names.iter().all(|name| name.as_str().is_some())
}

fn are_unique(values: &[Json]) -> bool {
    let mut texts: Vec<&str> = values.iter().filter_map(Json::as_str).collect();
    let count = texts.len();
    texts.sort_unstable();
    texts.dedup();
    texts.len() == count
}
