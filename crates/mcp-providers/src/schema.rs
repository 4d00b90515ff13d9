//! Projects input schemas to the subset of JSON Schema that an API supports.
//!
//! A projection has three steps, one file each: `read` makes a valid draft 2020-12 schema without
//! references, `fit` removes keywords that the dialect does not support, and `strict` or `openapi` writes
//! the result in the form of one API. Each step reports its losses.

mod fit;
mod keyword;
mod merge;
mod openapi;
mod read;
mod report;
mod strict;

use mcp_jsonrpc::RawJson;

pub(crate) use self::read::resolve;
use crate::{
    json::{Json, Object, object},
    loss::{Loss, Lost},
};

/// The subset of JSON Schema that an API supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Draft 2020-12 without references and without alternatives at the top.
    Generic,
    /// Anthropic Messages: like generic, with restricted property names.
    Anthropic,
    /// OpenAI functions without `strict`: like generic, and each array has `items`.
    OpenAi,
    /// OpenAI functions with `strict`: each object closed, each property required.
    OpenAiStrict,
    /// Gemini's `parametersJsonSchema`.
    Gemini,
    /// Gemini's older `parameters`: a subset of OpenAPI 3.0.
    GeminiOpenApi,
}

/// A projected schema and its losses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Projection {
    /// The schema.
    pub schema: RawJson,
    /// Each part that was changed or removed, in the order of the schema.
    pub losses: Vec<Loss>,
    /// Whether the schema satisfies strict mode. Only possible for [`Dialect::OpenAiStrict`].
    pub is_strict: bool,
}

/// Projects an input schema to a dialect. Never fails: a value that is not an object schema becomes the
/// schema of an object without properties, with a loss.
///
/// ```
/// use mcp_providers::schema::{Dialect, project};
/// use mcp_tool::RawJson;
///
/// let schema = RawJson::parse(r#"{"type":"object","properties":{"n":{"type":"string","minLength":1}}}"#)?;
/// let projection = project(&schema, Dialect::Gemini);
/// assert_eq!(projection.losses[0].to_string(), "/properties/n: the keyword `minLength` is not supported");
/// # Ok::<(), mcp_jsonrpc::ShapeError>(())
/// ```
pub fn project(schema: &RawJson, dialect: Dialect) -> Projection {
    let (whole, mut losses) = read::read(schema);
    let (fitted, more) = fit::fit(whole.clone(), dialect);
    let (schema, is_strict) = match dialect {
        Dialect::OpenAiStrict => match strict::close(fitted) {
            Ok((closed, further)) => {
                losses.extend(more);
                losses.extend(further);
                (closed, true)
            }
            Err(why) => {
                losses.push(Loss::of_tool(Lost::Strict(why)));
                let (fitted, more) = fit::fit(whole, Dialect::OpenAi);
                losses.extend(more);
                (fitted, false)
            }
        },
        Dialect::GeminiOpenApi => {
            losses.extend(more);
            (openapi::write(fitted, &mut losses), false)
        }
        _ => {
            losses.extend(more);
            (fitted, false)
        }
    };
    Projection { schema: Json::from(schema).raw(), losses, is_strict }
}

/// The schema of an object without properties.
fn empty() -> Object {
    object! { "type" => "object", "properties" => Object::default() }
}
