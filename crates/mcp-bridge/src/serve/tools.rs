//! The tools a server has at one moment, and plain tools in the clothes of served ones.

use std::{collections::HashMap, fmt, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_client::{Era, RawJson};
use mcp_jsonrpc::ObjectWriter;

use crate::{
    context::CallContext,
    outcome::ToolOutcome,
    serve::{call::Call, error::ServeError, params::HeaderParams, providers::ServedTool},
    tool::{Hints, Tool, ToolSpec},
};

/// An immutable set of tools; a change makes a new one.
#[derive(Default)]
pub(crate) struct Tools {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn ServedTool>,
    /// As modern clients see it listed.
    pub(crate) definition: RawJson,
    /// As older ones do, for whom only objects have a schema.
    pub(crate) legacy_definition: RawJson,
    /// Where it comes from, if it is a plain one: to see whether it is still the same.
    source: Option<Arc<dyn Tool>>,
    /// Arguments that travel in headers too. Its schema was looked at once, when it was added.
    pub(crate) header_params: Arc<HeaderParams>,
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| &entry.tool.spec().name)).finish()
    }
}

impl Tools {
    /// The set of these, in this order. Of two with one name the later takes the earlier's place.
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

    /// This set with one more, or another in its place.
    pub(crate) fn with(&self, entry: Entry) -> Self {
        Self::new(self.entries.iter().cloned().chain([entry]))
    }

    /// This set without the one of that name, if it is there.
    pub(crate) fn without(&self, name: &str) -> Option<Self> {
        self.by_name.get(name)?;
        let others = self.entries.iter().filter(|entry| entry.tool.spec().name != name);
        Some(Self::new(others.cloned()))
    }

    /// Whether the set is made of just these. Looks at no tool, so that asking costs next to nothing.
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
    tool.finish()
}

/// A tool that knows nothing of being served. What it asks of its owner reaches the client.
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
            let mut context =
                CallContext { trace_parent: call.trace_parent(), ..CallContext::default() };
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
                // No model can help that: the client would have to offer more.
                Some(required) if call_era == Era::Modern => {
                    Err(ServeError::lacking(outcome.text_content(), required))
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
    fn order_stays_and_a_name_is_there_once() {
        let tools = Tools::new([entry("b", "1"), entry("a", "2"), entry("b", "3")]);
        let names: Vec<_> = tools.entries().iter().map(|e| e.tool.spec().name.clone()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(tools.get("b").unwrap().tool.spec().description, "3");
        let fewer = tools.without("b").unwrap();
        assert!(fewer.get("b").is_none() && fewer.get("a").is_some());
        assert!(fewer.without("b").is_none());
    }

    #[test]
    fn hints_are_listed_only_where_somebody_said_something() {
        let mut spec = ToolSpec::new("a", "b");
        assert!(write(&spec, None).get("annotations").is_none());
        spec.hints.read_only = Some(true);
        let hints = write(&spec, None).get("annotations").unwrap();
        assert_eq!(hints.as_str(), r#"{"readOnlyHint":true}"#);
    }
}
