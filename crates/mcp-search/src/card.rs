//! The searchable text of a tool.

use serde_json::Value;

/// The text of one tool that is searched.
///
/// A tool is identified by its server and id together. Texts may have any length; only their
/// beginning is indexed (2,048 characters of the description).
///
/// ```
/// use mcp_search::Card;
///
/// let mut card = Card::new("github/create_issue", "github", "create_issue");
/// card.description = "Open an issue in a repository.".into();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Card {
    /// The caller's identifier for the tool, such as `mcp__github__create_issue`.
    pub id: String,
    /// The server the tool comes from; empty for the host's own tools.
    pub server: String,
    /// The tool's name as its server gave it.
    pub name: String,
    /// The display name; empty if there is none.
    pub title: String,
    /// The description; empty if the server sent none.
    pub description: String,
    /// The tool's top-level input properties.
    pub params: Vec<Param>,
    /// Additional search terms from the host.
    pub tags: Vec<String>,
}

/// One input property of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Param {
    /// The property's name.
    pub name: String,
    /// Its description; empty if the schema has none.
    pub description: String,
    /// Whether it is required; `None` if the schema has no list of required properties.
    pub required: Option<bool>,
}

impl Card {
    /// A card with a name and no text.
    pub fn new(id: impl Into<String>, server: impl Into<String>, name: impl Into<String>) -> Self {
        Self { id: id.into(), server: server.into(), name: name.into(), ..Self::default() }
    }

    /// The card of a tool definition as `tools/list` returns it.
    ///
    /// Unknown members are skipped: a malformed definition gives a card with empty fields, not an
    /// error.
    ///
    /// ```
    /// use mcp_search::Card;
    /// use serde_json::json;
    ///
    /// let card = Card::from_definition("github/create_issue", "github", &json!({
    ///     "name": "create_issue",
    ///     "description": "Open an issue.",
    ///     "inputSchema": { "properties": { "title": { "description": "One line" } }, "required": ["title"] }
    /// }));
    /// assert_eq!(card.params[0].required, Some(true));
    /// ```
    pub fn from_definition(
        id: impl Into<String>,
        server: impl Into<String>,
        definition: &Value,
    ) -> Self {
        let title = match text(definition, "title") {
            "" => definition.get("annotations").map_or("", |hints| text(hints, "title")),
            title => title,
        };
        let mut card = Self::new(id, server, text(definition, "name"));
        title.clone_into(&mut card.title);
        text(definition, "description").clone_into(&mut card.description);
        if let Some(schema) = definition.get("inputSchema") {
            card.params = params(schema);
        }
        card
    }
}

impl Param {
    /// A property with this name and description.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), required: None }
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn params(schema: &Value) -> Vec<Param> {
    let required = schema.get("required").and_then(Value::as_array);
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    properties
        .iter()
        .map(|(name, property)| Param {
            name: name.clone(),
            description: text(property, "description").to_owned(),
            required: required.map(|list| list.iter().any(|entry| entry.as_str() == Some(name))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Card;

    #[test]
    fn a_definition_of_the_wrong_shape_gives_an_empty_card() {
        for odd in [json!(null), json!([1]), json!({"name": 7, "inputSchema": {"properties": []}})]
        {
            let card = Card::from_definition("id", "server", &odd);
            assert_eq!(card, Card::new("id", "server", ""));
        }
    }

    #[test]
    fn title_is_read_from_the_annotations() {
        let card =
            Card::from_definition("id", "s", &json!({"annotations": {"title": "Open issue"}}));
        assert_eq!(card.title, "Open issue");
    }
}
