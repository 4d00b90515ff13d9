//! Resource reads, prompts, completions, and other requests to a server.

use std::collections::BTreeMap;

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_types::{
    Completion, Era, GetPromptResult, LogLevel, ReadResourceResult, lists::ReadPage, method,
};

use super::{
    Client,
    pending::PendingCall,
    request::{Ask, RESULT_TYPE},
};
use crate::{
    error::{CallError, problem},
    options::CallOptions,
};

/// The prompt or template that an argument to complete belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol defines these two")]
pub enum CompletionTarget<'a> {
    /// A prompt, by name.
    Prompt(&'a str),
    /// A resource template, by its URI template.
    Resource(&'a str),
}

impl Client {
    /// Reads a resource.
    pub fn read_resource<'a>(&'a self, uri: &'a str) -> PendingCall<'a, ReadResourceResult> {
        PendingCall::new(move |options| self.read_resource_with(uri, options))
    }

    async fn read_resource_with(
        &self,
        uri: &str,
        options: CallOptions,
    ) -> Result<ReadResourceResult, CallError> {
        let ask = Ask::call(method::RESOURCES_READ, Some(uri), &options);
        let (mut page, in_rounds) = self
            .ask_to_the_end::<ReadPage>(&ask, &|params| {
                params.string("uri", uri);
            })
            .await?;
        if in_rounds {
            // A result that depends on the user's input must not be cached.
            page.ttl_ms = None;
        }
        let error = |error| CallError::shape(ask.method, error);
        page.into_result().ok_or_else(|| error(problem("`contents` is missing")))
    }

    /// Gets a prompt, with its arguments filled in.
    pub fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> PendingCall<'a, GetPromptResult> {
        PendingCall::new(move |options| self.get_prompt_with(name, arguments, options))
    }

    async fn get_prompt_with(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        options: CallOptions,
    ) -> Result<GetPromptResult, CallError> {
        let ask = Ask::call(method::PROMPTS_GET, Some(name), &options);
        let arguments = RawJson::encode(arguments).map_err(CallError::Unsendable)?;
        let members = |params: &mut ObjectWriter| {
            params.string("name", name).raw("arguments", &arguments);
        };
        self.ask_to_the_end(&ask, &members).await.map(|(prompt, _)| prompt)
    }

    /// Returns completions for the argument `name`, of which the user has typed `value`. `others`
    /// are the arguments that already have values.
    ///
    /// The default timeout is
    /// [`ClientOptions::request_timeout`](crate::ClientOptions::request_timeout), and progress is
    /// not reported.
    pub fn complete<'a>(
        &'a self,
        target: CompletionTarget<'a>,
        name: &'a str,
        value: &'a str,
        others: &'a BTreeMap<String, String>,
    ) -> PendingCall<'a, Completion> {
        PendingCall::new(move |options| self.complete_with(target, (name, value), others, options))
    }

    async fn complete_with(
        &self,
        target: CompletionTarget<'_>,
        (name, value): (&str, &str),
        others: &BTreeMap<String, String>,
        options: CallOptions,
    ) -> Result<Completion, CallError> {
        let ask = Ask::quick(method::COMPLETION_COMPLETE, &options);
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
        completion.and_then(|raw| raw.decode()).map_err(|error| CallError::shape(ask.method, error))
    }

    /// Sets the minimum log level of a legacy server. For modern servers use
    /// [`ClientOptions::log_level`](crate::ClientOptions::log_level).
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), CallError> {
        self.require(Era::Legacy, "`logging/setLevel`; set `ClientOptions::log_level` instead")?;
        self.quick(method::LOGGING_SET_LEVEL, &|params| {
            params.string("level", level.as_str());
        })
        .await
    }

    /// Checks that the server responds. Modern servers have no `ping`, so they are sent `server/discover`.
    pub async fn ping(&self) -> Result<(), CallError> {
        let method = if self.era() == Era::Legacy { method::PING } else { method::SERVER_DISCOVER };
        self.quick(method, &|_| {}).await
    }

    /// Notifies a legacy server that [`Handler::roots`](crate::Handler::roots) has changed.
    pub fn roots_changed(&self) {
        if self.era() == Era::Legacy && self.0.dispatch.offered.roots_list_changed {
            self.notify(method::ROOTS_LIST_CHANGED, None);
        }
    }
}
