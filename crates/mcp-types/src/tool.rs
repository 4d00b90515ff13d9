//! Tools and the results of tool calls.

use mcp_jsonrpc::RawJson;

use serde::de::DeserializeOwned;

use crate::{content::Content, listing::Rejectable, open::open, structured::StructuredError};

open! {
    /// A tool as the server lists it.
    pub struct Tool {
        /// The name, by which it is called; passed on byte for byte.
        required name: String = "name",
        /// The display name.
        optional title: Option<String> = "title",
        /// The description for the model. Foreign text.
        optional description: Option<String> = "description",
        /// The schema of the arguments, exactly as the server wrote it. Default: any object.
        schema input_schema: RawJson = "inputSchema",
        /// The schema of the structured content.
        optional output_schema: Option<RawJson> = "outputSchema",
        /// Hints about its behaviour. Do not rely on them unless the server is trusted:
        /// <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool>.
        optional annotations: Option<ToolAnnotations> = "annotations",
        /// The icons.
        optional icons: Option<RawJson> = "icons",
        /// How the tool is executed (2025-11-25). See [`Tool::task_support`].
        optional execution: Option<RawJson> = "execution",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// A server's hints about the behaviour of a tool.
    pub struct ToolAnnotations {
        /// The display name, in an older place.
        optional title: Option<String> = "title",
        /// Does not modify anything. Default: false.
        optional read_only_hint: Option<bool> = "readOnlyHint",
        /// May be destructive. Default: true.
        optional destructive_hint: Option<bool> = "destructiveHint",
        /// Repeated calls with the same arguments have no additional effect. Default: false.
        optional idempotent_hint: Option<bool> = "idempotentHint",
        /// Interacts with systems outside of the server. Default: true.
        optional open_world_hint: Option<bool> = "openWorldHint",
    }

    /// The result of a tool call.
    pub struct CallToolResult {
        /// The content for the model.
        lenient content: Vec<Content> = "content",
        /// The structured content for programs. `Some(null)` is a value; `None` means that there was none.
        nullable structured_content: Option<RawJson> = "structuredContent",
        /// Whether the tool failed. The content says how.
        lenient is_error: bool = "isError",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }
}

/// Whether a tool runs as a task (2025-11-25).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "that revision is finished")]
pub enum TaskSupport {
    /// The tool does not run as a task.
    #[default]
    Forbidden,
    /// The tool can run as a task.
    Optional,
    /// The tool runs only as a task.
    Required,
}

impl Rejectable for Tool {
    const MEMBER: &'static str = "tools";
}

impl Tool {
    /// The display name: either title, or the name.
    pub fn display_name(&self) -> &str {
        let annotated = self.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        self.title.as_deref().or(annotated).unwrap_or(&self.name)
    }

    /// Whether it runs as a task, in the revision that has tasks in its core.
    pub fn task_support(&self) -> TaskSupport {
        let support = self.execution.as_ref().and_then(|execution| execution.get("taskSupport"));
        // Absent means forbidden: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation>
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
    /// # use mcp_types::CallToolResult;
    /// # use mcp_jsonrpc::RawJson;
    /// let raw = RawJson::parse(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#)?;
    /// assert_eq!(raw.decode::<CallToolResult>()?.text(), "a\nb");
    /// # Ok::<(), mcp_jsonrpc::ShapeError>(())
    /// ```
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }

    /// Deserializes the structured content.
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use mcp_types::{CallToolResult, StructuredError};
    /// # use mcp_jsonrpc::RawJson;
    /// let raw = RawJson::parse(r#"{"content":[],"structuredContent":{"celsius":21}}"#)?;
    /// let result: CallToolResult = raw.decode()?;
    /// let weather: BTreeMap<String, i32> = result.structured()?;
    /// assert_eq!(weather["celsius"], 21);
    /// assert!(matches!(result.structured::<Vec<u8>>(), Err(StructuredError::Shape(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// See [`StructuredError`]: the tool failed, the content is absent, or it has another type.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, StructuredError> {
        let structured = self.structured_content.as_ref();
        StructuredError::read(structured, self.is_error, || self.text())
    }
}
