//! The common part of definitions in all APIs.

use mcp_tool::ToolSpec;

use crate::{
    json::{Json, Object},
    loss::{Loss, Lost},
    name::Limits,
    schema::{Dialect, project},
};

/// A tool's name, description and input schema within the limits of an API.
pub(crate) struct Fitted {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Json,
    pub(crate) is_strict: bool,
    pub(crate) losses: Vec<Loss>,
}

pub(crate) fn fitted(tool: &ToolSpec, limits: Limits, dialect: Dialect) -> Fitted {
    let mut losses = Vec::new();
    let name = limits.wire_name(&tool.name).into_owned();
    if name != tool.name {
        losses.push(Loss::of_tool(Lost::Name(tool.name.clone())));
    }
    let description = limits.description(&tool.description).into_owned();
    if description != tool.description {
        losses.push(Loss::of_tool(Lost::Description(tool.description.chars().count())));
    }
    let projection = project(&tool.input_schema, dialect);
    losses.extend(projection.losses);
    let schema = Json::read(&projection.schema);
    Fitted { name, description, schema, is_strict: projection.is_strict, losses }
}

impl Fitted {
    /// An object with the name and, unless it is empty, the description.
    pub(crate) fn head(&self, mut object: Object) -> Object {
        object.set("name", self.name.as_str());
        if !self.description.is_empty() {
            object.set("description", self.description.as_str());
        }
        object
    }
}
