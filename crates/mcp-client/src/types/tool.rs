//! Tools and what comes of calling them.

use mcp_jsonrpc::RawJson;

use super::{Content, open::open};

open! {
    /// A tool as its server describes it.
    pub struct Tool {
        /// What to call it by; passed on byte for byte.
        required name: String = "name",
        /// What to show people.
        optional title: Option<String> = "title",
        /// What it does, for the model. Foreign text.
        optional description: Option<String> = "description",
        /// What it takes, exactly as the server wrote it. A server that gives none takes any object.
        schema input_schema: RawJson = "inputSchema",
        /// What its structured content looks like.
        optional output_schema: Option<RawJson> = "outputSchema",
        /// Hints on its behaviour. Not to be believed of servers that are not trusted.
        optional annotations: Option<ToolAnnotations> = "annotations",
        /// Pictures to show with it.
        optional icons: Option<RawJson> = "icons",
        /// How it runs (2025-11-25): see [`Tool::task_support`].
        optional execution: Option<RawJson> = "execution",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// What a server claims about a tool's behaviour.
    pub struct ToolAnnotations {
        /// Another place for a title.
        optional title: Option<String> = "title",
        /// Changes nothing. Absent means no.
        optional read_only_hint: Option<bool> = "readOnlyHint",
        /// May destroy something. Absent means yes.
        optional destructive_hint: Option<bool> = "destructiveHint",
        /// Calling it twice does no more than calling it once. Absent means no.
        optional idempotent_hint: Option<bool> = "idempotentHint",
        /// Reaches beyond its server. Absent means yes.
        optional open_world_hint: Option<bool> = "openWorldHint",
    }

    /// What a tool call returned.
    pub struct CallToolResult {
        /// For the model.
        lenient content: Vec<Content> = "content",
        /// For programs. `Some(null)` is a value; `None` means there was none.
        nullable structured_content: Option<RawJson> = "structuredContent",
        /// The tool ran and failed; the content says how.
        lenient is_error: bool = "isError",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }
}

/// Whether a tool runs as a task (2025-11-25).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "that revision is finished")]
pub enum TaskSupport {
    /// It does not.
    #[default]
    Forbidden,
    /// It can.
    Optional,
    /// It only does.
    Required,
}

impl Tool {
    /// What to show people: the title, wherever it is, or the name.
    pub fn display_name(&self) -> &str {
        let annotated = self.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        self.title.as_deref().or(annotated).unwrap_or(&self.name)
    }

    /// Whether it runs as a task, in the revision that had tasks in its core.
    pub fn task_support(&self) -> TaskSupport {
        let support = self.execution.as_ref().and_then(|execution| execution.get("taskSupport"));
        match support.as_ref().map(RawJson::as_str) {
            Some(r#""required""#) => TaskSupport::Required,
            Some(r#""optional""#) => TaskSupport::Optional,
            _ => TaskSupport::Forbidden,
        }
    }
}

impl CallToolResult {
    /// The text blocks, joined by newlines.
    ///
    /// ```
    /// # use mcp_client::CallToolResult;
    /// # use mcp_jsonrpc::RawJson;
    /// let raw = RawJson::parse(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#)?;
    /// assert_eq!(raw.decode::<CallToolResult>()?.text(), "a\nb");
    /// # Ok::<(), mcp_jsonrpc::ShapeError>(())
    /// ```
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }
}
