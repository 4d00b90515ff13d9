//! The rest of what a server can be asked.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
};

use mcp_jsonrpc::{ObjectWriter, RawJson};

use crate::{
    client::Client,
    era::Era,
    error::CallError,
    options::CallOptions,
    plain_call::PlainCall,
    request::{Ask, RESULT_TYPE, problem},
    types::{
        Completion, GetPromptResult, Listing, LogLevel, Prompt, ReadPage, ReadResourceResult,
        Rejected, Resource, ResourceTemplate, TaskSupport, Tool,
    },
};

/// What an argument to complete belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol's two")]
pub enum CompletionTarget<'a> {
    /// A prompt, by name.
    Prompt(&'a str),
    /// A resource template, by its text.
    Resource(&'a str),
}

impl Client {
    /// All tools, in the server's order. An entry that cannot be read costs only itself.
    pub async fn list_tools(&self) -> Result<Listing<Tool>, CallError> {
        let mut listing = self.list::<Tool>("tools/list").await?;
        if self.era() == Era::Modern {
            self.teach(&mut listing);
        }
        if self.era() == Era::Legacy && self.runs_tasks() {
            let required =
                listing.items.iter().filter(|t| t.task_support() == TaskSupport::Required);
            *self.task_tools() = required.map(|tool| tool.name.clone()).collect();
        }
        Ok(listing)
    }

    /// Tells the link which arguments travel in headers too. A tool whose schema cannot say is not offered.
    fn teach(&self, listing: &mut Listing<Tool>) {
        let outlet = self.0.engine.outlet();
        let Listing { items, rejected, .. } = listing;
        items.retain(|tool| match outlet.learn_tool(&tool.name, &tool.input_schema) {
            Ok(()) => true,
            Err(why) => {
                tracing::warn!(tool = tool.name, why, "a tool of the server cannot be called");
                rejected.push(Rejected { name: Some(tool.name.clone()), error: problem(why) });
                false
            }
        });
    }

    /// All resources.
    pub async fn list_resources(&self) -> Result<Listing<Resource>, CallError> {
        self.list("resources/list").await
    }

    /// All resource templates.
    pub async fn list_resource_templates(&self) -> Result<Listing<ResourceTemplate>, CallError> {
        self.list("resources/templates/list").await
    }

    /// All prompts.
    pub async fn list_prompts(&self) -> Result<Listing<Prompt>, CallError> {
        self.list("prompts/list").await
    }

    /// Reads a resource.
    pub fn read_resource<'a>(&'a self, uri: &'a str) -> PlainCall<'a, ReadResourceResult> {
        PlainCall::new(move |options| self.read_resource_with(uri, options))
    }

    async fn read_resource_with(
        &self,
        uri: &str,
        options: CallOptions,
    ) -> Result<ReadResourceResult, CallError> {
        let ask = Ask::call("resources/read", Some(uri), &options);
        let (mut page, in_rounds) = self
            .ask_to_the_end::<ReadPage>(&ask, &|params| {
                params.string("uri", uri);
            })
            .await?;
        if in_rounds {
            // What was answered to the user's own input is nobody's cache's business.
            page.ttl_ms = None;
        }
        let error = |error| CallError::Shape { method: ask.method, error };
        page.into_result().ok_or_else(|| error(problem("`contents` is missing")))
    }

    /// Fills a prompt in.
    pub fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> PlainCall<'a, GetPromptResult> {
        PlainCall::new(move |options| self.get_prompt_with(name, arguments, options))
    }

    async fn get_prompt_with(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        options: CallOptions,
    ) -> Result<GetPromptResult, CallError> {
        let ask = Ask::call("prompts/get", Some(name), &options);
        let arguments = RawJson::encode(arguments).map_err(CallError::Unsendable)?;
        let members = |params: &mut ObjectWriter| {
            params.string("name", name).raw("arguments", &arguments);
        };
        self.ask_to_the_end(&ask, &members).await.map(|(prompt, _)| prompt)
    }

    /// Ways to complete the argument `name`, which so far is `value`. `others` are the arguments that
    /// are settled already.
    ///
    /// This is a quick request: without a limit of its own it has
    /// [`ClientOptions::request_timeout`](crate::ClientOptions::request_timeout), and nobody hears of
    /// its progress.
    pub fn complete<'a>(
        &'a self,
        target: CompletionTarget<'a>,
        name: &'a str,
        value: &'a str,
        others: &'a BTreeMap<String, String>,
    ) -> PlainCall<'a, Completion> {
        PlainCall::new(move |options| self.complete_with(target, (name, value), others, options))
    }

    async fn complete_with(
        &self,
        target: CompletionTarget<'_>,
        (name, value): (&str, &str),
        others: &BTreeMap<String, String>,
        options: CallOptions,
    ) -> Result<Completion, CallError> {
        let ask = Ask::quick("completion/complete", &options);
        let others = RawJson::encode(others).map_err(CallError::Unsendable)?;
        let members = |params: &mut ObjectWriter| {
            params.object("ref", |target_ref| match target {
                CompletionTarget::Prompt(name) => {
                    target_ref.string("type", "ref/prompt").string("name", name)
                }
                CompletionTarget::Resource(uri) => {
                    target_ref.string("type", "ref/resource").string("uri", uri)
                }
            });
            params.object("argument", |argument| {
                argument.string("name", name).string("value", value)
            });
            if others != RawJson::empty_object() {
                params.object("context", |context| context.raw("arguments", &others));
            }
        };
        let raw: RawJson = self.ask(&ask, &members).await?;
        self.check_type(ask.method, raw.get(RESULT_TYPE).as_ref(), "complete")?;
        let completion = raw.get("completion").ok_or_else(|| problem("`completion` is missing"));
        completion
            .and_then(|raw| raw.decode())
            .map_err(|error| CallError::Shape { method: ask.method, error })
    }

    /// Asks a legacy server for log messages from this level on. Modern ones are told by
    /// [`ClientOptions::log_level`](crate::ClientOptions::log_level).
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), CallError> {
        self.require(Era::Legacy, "setting a log level (it is an option of the connection)")?;
        self.quick("logging/setLevel", &|params| {
            params.string("level", level.as_str());
        })
        .await
    }

    /// Whether the server is alive. Modern servers have no ping, so they are asked who they are.
    pub async fn ping(&self) -> Result<(), CallError> {
        let method = if self.era() == Era::Legacy { "ping" } else { "server/discover" };
        self.quick(method, &|_| {}).await
    }

    /// Tells a legacy server that [`Handler::roots`](crate::Handler::roots) has changed.
    pub fn roots_changed(&self) {
        if self.era() == Era::Legacy && self.0.dispatch.offered.roots_list_changed {
            self.notify("notifications/roots/list_changed", None);
        }
    }

    /// A request whose result says nothing.
    pub(crate) async fn quick(
        &self,
        method: &'static str,
        members: &crate::request::Members<'_>,
    ) -> Result<(), CallError> {
        let options = CallOptions::default();
        let ask = Ask::quick(method, &options);
        self.ask::<RawJson>(&ask, members).await.map(drop)
    }

    pub(crate) fn must_run_as_task(&self, tool: &str) -> bool {
        self.0.options.follow_tasks && self.task_tools().contains(tool)
    }

    /// Whether a legacy server says that it runs tools as tasks: nobody else may be asked to.
    fn runs_tasks(&self) -> bool {
        let tasks = self.0.profile.capabilities.tasks.as_ref();
        let tools = tasks.and_then(|tasks| tasks.get("requests")?.get("tools"));
        tools.is_some_and(|tools| tools.get("call").is_some())
    }

    fn task_tools(&self) -> MutexGuard<'_, std::collections::HashSet<String>> {
        self.0.task_tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
