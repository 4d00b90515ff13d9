//! Tools defined by a name and a function.

use mcp_bridge::{RawJson, ToolOutcome, ToolSpec, tool::BoxFuture};
use mcp_server::{Call, ServeError, ServedTool, ToolServer};
use serde_json::Value;

type Outcome = Result<ToolOutcome, ServeError>;

/// A tool whose work is a function.
pub(super) struct Fixture {
    spec: ToolSpec,
    run: Box<dyn Fn(Value, Call) -> BoxFuture<'static, Outcome> + Send + Sync>,
}

impl Fixture {
    pub(super) fn new<F>(
        name: &str,
        description: &str,
        run: impl Fn(Value, Call) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let spec = ToolSpec::new(name, description);
        Self { spec, run: Box::new(move |arguments, call| Box::pin(run(arguments, call))) }
    }

    /// Sets the input schema.
    pub(super) fn taking(mut self, schema: &Value) -> Self {
        self.spec.input_schema = raw(schema);
        self
    }
}

impl ServedTool for Fixture {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, call: Call) -> BoxFuture<'_, Outcome> {
        let arguments = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        (self.run)(arguments, call)
    }
}

/// A value as raw text.
pub(super) fn raw(value: &Value) -> RawJson {
    RawJson::parse(value.to_string()).unwrap_or_else(|_| RawJson::null())
}

/// Tools that change the offered tools and prompts, for clients that listen.
pub(super) fn switches(server: &ToolServer) -> [Fixture; 2] {
    let (tools, prompts) = (server.clone(), server.clone());
    [
        Fixture::new("test_trigger_tool_change", "Adds or removes a tool", move |_, _| {
            let server = tools.clone();
            async move {
                let name = "test_dynamic_tool";
                if !server.remove_tool(name) {
                    let tool = Fixture::new(name, "Comes and goes", |_, _| async {
                        Ok(ToolOutcome::text("here for now"))
                    });
                    server.add_served_tool(std::sync::Arc::new(tool));
                }
                Ok(ToolOutcome::text("changed"))
            }
        }),
        Fixture::new("test_trigger_prompt_change", "Announces other prompts", move |_, _| {
            let server = prompts.clone();
            async move {
                server.prompts_changed();
                Ok(ToolOutcome::text("changed"))
            }
        }),
    ]
}
