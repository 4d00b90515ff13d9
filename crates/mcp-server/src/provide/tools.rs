//! The set of tools that a server offers, and the adapter from `Tool` to `ServedTool`.

use std::{collections::HashMap, fmt, sync::Arc};

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_tool::{CallContext, Hints, Tool, ToolOutcome, ToolSpec};
use mcp_types::{BoxFuture, Era};

use super::header_params::HeaderParams;
use crate::{call::Call, error::ServeError};

/// A tool that can send requests and log messages to its client, and reject calls with a JSON-RPC error.
///
/// Any [`Tool`](mcp_tool::Tool) can be served; implement this trait for tools that need their client.
pub trait ServedTool: Send + Sync {
    /// The definition that clients see. It must not change.
    fn spec(&self) -> &ToolSpec;

    /// Runs the tool. `arguments` is an object.
    ///
    /// # Errors
    /// If the call cannot be processed. A tool that ran and failed reports that in its outcome.
    ///
    /// # Cancel safety
    /// The future is dropped when the client cancels the call.
    fn call(
        &self,
        arguments: RawJson,
        call: Call,
    ) -> BoxFuture<'_, Result<ToolOutcome, ServeError>>;
}

impl fmt::Debug for dyn ServedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServedTool").field(&self.spec().name).finish()
    }
}

/// An immutable set of tools. Each change creates a new set.
#[derive(Default)]
pub(crate) struct Tools {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn ServedTool>,
    /// The definition for modern clients.
    pub(crate) definition: RawJson,
    /// The definition for legacy clients, which support only schemas of type `object`.
    pub(crate) legacy_definition: RawJson,
    /// The plain tool that it was made of, to detect whether the source has changed.
    source: Option<Arc<dyn Tool>>,
    /// Arguments that are repeated in headers. Read from the schema once, when the tool is added.
    pub(crate) header_params: Arc<HeaderParams>,
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| &entry.tool.spec().name)).finish()
    }
}

impl Tools {
    /// A set of these tools in this order. If two have the same name, the later one replaces the earlier.
    pub(crate) fn new(tools: impl IntoIterator<Item = Entry>) -> Self {
        let mut set = Self::default();
        for entry in tools {
            set.put(entry);
        }
        set
    }

    fn put(&mut self, entry: Entry) {
        let name = entry.tool.spec().name.clone();
        if let Some(&at) = self.by_name.get(&name) {
            self.entries[at] = entry;
        } else {
            self.by_name.insert(name, self.entries.len());
            self.entries.push(entry);
        }
    }

    /// A copy of this set with `entry` added or replaced.
    pub(crate) fn with(&self, entry: Entry) -> Self {
        Self::new(self.entries.iter().cloned().chain([entry]))
    }

    /// A copy of this set without the tool of that name, if it exists.
    pub(crate) fn without(&self, name: &str) -> Option<Self> {
        self.by_name.get(name)?;
        let others = self.entries.iter().filter(|entry| entry.tool.spec().name != name);
        Some(Self::new(others.cloned()))
    }

    /// Whether the set consists of exactly these tools. Compares pointers only, to be cheap.
    pub(crate) fn is_made_of(&self, tools: &[Arc<dyn Tool>]) -> bool {
        let sources = self.entries.iter().map(|entry| entry.source.as_ref());
        self.entries.len() == tools.len()
            && sources.zip(tools).all(|(one, other)| one.is_some_and(|one| Arc::ptr_eq(one, other)))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(*self.by_name.get(name)?)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl Entry {
    pub(crate) fn new(tool: Arc<dyn ServedTool>) -> Self {
        let spec = tool.spec();
        let header_params = Arc::new(HeaderParams::of(&spec.input_schema));
        let is_object = |schema: &&RawJson| {
            schema.get("type").is_some_and(|kind| kind.as_str() == r#""object""#)
        };
        let definition = write(spec, spec.output_schema.as_ref());
        let legacy_definition = write(spec, spec.output_schema.as_ref().filter(is_object));
        Self { tool, definition, legacy_definition, source: None, header_params }
    }

    pub(crate) fn plain(tool: Arc<dyn Tool>) -> Self {
        Self { source: Some(tool.clone()), ..Self::new(Arc::new(Plain(tool))) }
    }
}

fn write(spec: &ToolSpec, output_schema: Option<&RawJson>) -> RawJson {
    let mut tool = ObjectWriter::with_capacity(256);
    tool.string("name", &spec.name);
    if let Some(title) = &spec.title {
        tool.string("title", title);
    }
    tool.string("description", &spec.description);
    tool.raw("inputSchema", &spec.input_schema);
    if let Some(schema) = output_schema {
        tool.raw("outputSchema", schema);
    }
    let Hints { read_only, destructive, idempotent, open_world, .. } = spec.hints;
    let hints = [
        ("readOnlyHint", read_only),
        ("destructiveHint", destructive),
        ("idempotentHint", idempotent),
        ("openWorldHint", open_world),
    ];
    if hints.iter().any(|(_, hint)| hint.is_some()) {
        tool.object("annotations", |annotations| {
            for (name, hint) in hints {
                if let Some(hint) = hint {
                    annotations.boolean(name, hint);
                }
            }
            annotations
        });
    }
    if let Some(meta) = spec.meta.as_ref().filter(|meta| meta.is_object()) {
        tool.raw("_meta", meta);
    }
    tool.finish()
}

/// The adapter from a plain tool. Its requests, such as elicitation, are passed on to the client.
struct Plain(Arc<dyn Tool>);

impl ServedTool for Plain {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn call(
        &self,
        arguments: RawJson,
        call: Call,
    ) -> BoxFuture<'_, Result<ToolOutcome, ServeError>> {
        Box::pin(async move {
            let call_era = call.version().era();
            let mut context = CallContext::default();
            context.trace_parent = call.trace_parent();
            context.trace_state = call.trace_state();
            context.meta = call.foreign_meta();
            context.client_info = call.client_info().cloned();
            if call.wants_progress() {
                let call = call.clone();
                context.on_progress = Some(Arc::new(move |step| {
                    call.progress(step.progress, step.total, step.message.as_deref());
                }));
            }
            let log = call.clone();
            context.on_log =
                Some(Arc::new(move |level, logger, data| log.log(level, logger, data)));
            context.owner = Some(Arc::new(call));
            let outcome = self.0.call(arguments, context).await;
            match outcome.failure.as_ref().and_then(|failure| failure.missing.as_ref()) {
                // The model cannot resolve this: the client has to declare more capabilities.
                Some(required) if call_era == Era::Modern => {
                    Err(ServeError::missing_capabilities(outcome.text_content(), required))
                }
                _ => Ok(outcome),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(ToolSpec);
    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn call(&self, _: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
            Box::pin(async { ToolOutcome::text("") })
        }
    }

    fn entry(name: &str, description: &str) -> Entry {
        Entry::plain(Arc::new(Named(ToolSpec::new(name, description))))
    }

    #[test]
    fn tool_order_is_kept_and_names_are_unique() {
        let tools = Tools::new([entry("b", "1"), entry("a", "2"), entry("b", "3")]);
        let names: Vec<_> = tools.entries().iter().map(|e| e.tool.spec().name.clone()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(tools.get("b").unwrap().tool.spec().description, "3");
        let fewer = tools.without("b").unwrap();
        assert!(fewer.get("b").is_none() && fewer.get("a").is_some());
        assert!(fewer.without("b").is_none());
    }

    #[test]
    fn annotations_are_listed_only_when_set() {
        let mut spec = ToolSpec::new("a", "b");
        assert!(write(&spec, None).get("annotations").is_none());
        spec.hints.read_only = Some(true);
        let hints = write(&spec, None).get("annotations").unwrap();
        assert_eq!(hints.as_str(), r#"{"readOnlyHint":true}"#);
    }

    #[test]
    fn meta_of_a_spec_is_listed_if_it_is_an_object() {
        let mut spec = ToolSpec::new("a", "b");
        assert!(write(&spec, None).get("_meta").is_none());
        spec.meta = RawJson::parse(r#"{"ui":{"resourceUri":"ui://x"}}"#).ok();
        assert_eq!(write(&spec, None).get("_meta"), spec.meta);
        spec.meta = RawJson::parse("7").ok();
        assert!(write(&spec, None).get("_meta").is_none());
    }
}
