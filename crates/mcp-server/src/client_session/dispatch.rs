//! Dispatches the requests that are the same in both eras.

use std::{collections::BTreeMap, sync::Arc};

use mcp_jsonrpc::{ErrorObject, RawJson, Request};
use mcp_types::{BoxFuture, Era, ProtocolVersion, method};
use serde::{Serialize, de::DeserializeOwned};
use tracing::Span;

use super::{paging::page, state::ClientSession, tool_result::tool_result, wire::Wire};
use crate::{
    call::{About, Call, Run, inbox::ReportSender, waiting::Subject},
    error::{BUSY, ServeError},
    provide::{CompletionOf, CompletionQuestion, Prompts, Resources},
    shared::{CachePolicy, Shared, unknown_method},
    telemetry::{self, request_span, traced},
};

/// The most values that the specification allows in a completion:
/// <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion>
const MOST_COMPLETIONS: usize = 100;

type Work = BoxFuture<'static, Result<RawJson, ServeError>>;
/// Starts the work on a request, once its call exists.
type Begin = Box<dyn FnOnce(Call) -> Work + Send>;

impl ClientSession {
    pub(super) fn dispatch(&mut self, request: &Request, wire: Wire) {
        let plan = match &*request.method {
            method::TOOLS_LIST => {
                let span = request_span(request, wire.version, "");
                let result = span.in_scope(|| self.list_tools(request, wire.version));
                return self.settle_in(&span, request, &wire, result);
            }
            method::TOOLS_CALL => self.call_tool(request, &wire),
            method::RESOURCES_LIST => self.list_resources(request, &wire),
            method::RESOURCES_TEMPLATES_LIST => self.list_templates(request, &wire),
            method::RESOURCES_READ => self.read_resource(request, &wire),
            method::PROMPTS_LIST => self.list_prompts(request, &wire),
            method::PROMPTS_GET => self.get_prompt(request, &wire),
            method::COMPLETION_COMPLETE => self.complete(request, &wire),
            _ => None.ok_or_else(|| ServeError::Rpc(unknown_method(&request.method))),
        };
        match plan {
            Ok((subject, begin)) => self.launch(request, wire, subject, begin),
            Err(error) => {
                let named = ["name", "uri"].iter().find_map(|name| member(request, name).ok());
                let target: String = named.unwrap_or_default();
                let span = request_span(request, wire.version, &target);
                self.settle_in(&span, request, &wire, Err(error));
            }
        }
    }

    fn settle_in(
        &mut self,
        span: &Span,
        request: &Request,
        wire: &Wire,
        result: Result<RawJson, ServeError>,
    ) {
        telemetry::record(span, &result);
        self.settle(request, wire, result);
    }

    fn settle(&mut self, request: &Request, wire: &Wire, result: Result<RawJson, ServeError>) {
        let is_modern = wire.version.era() == Era::Modern;
        match result {
            Ok(result) => self.answer(&request.id, result),
            Err(error) => {
                let error = error.into_object(is_modern);
                let is_unknown = error.code == ErrorObject::METHOD_NOT_FOUND && is_modern;
                self.refuse(&request.id, error, if is_unknown { 404 } else { 200 });
            }
        }
    }

    /// Starts the work on a request, or resumes the call that its `requestState` names.
    fn launch(&mut self, request: &Request, wire: Wire, subject: Subject, begin: Begin) {
        if self.calls.len() >= self.shared.options.max_calls {
            let error = ErrorObject::new(BUSY, "too many requests at once");
            return self.refuse(&request.id, error, 503);
        }
        let mut given = Vec::new();
        if wire.version.era() == Era::Modern && allows_input_required(&request.method) {
            let params = request.params.clone().unwrap_or_else(RawJson::empty_object);
            let answers = params.get("inputResponses");
            if answers.as_ref().is_some_and(|answers| !answers.is_object()) {
                let error = ServeError::InvalidParams("`inputResponses` is not an object".into());
                return self.settle(request, &wire, Err(error));
            }
            let answers = answers.unwrap_or_else(RawJson::empty_object);
            if let Some(state) = params.get("requestState") {
                return self.resume(request, &wire, subject, &state, &answers);
            }
            given.extend(answers.members().map(|(key, answer)| (key, answer.detached())));
        }
        let span = request_span(request, wire.version, &subject.name);
        let line = Arc::new(ReportSender::default());
        let running = wire.running(request, line.clone(), subject);
        let call = Call::new(
            line,
            About {
                version: wire.version,
                capabilities: wire.capabilities,
                wants_progress: wire.meta.progress_token.is_some(),
                trace_parent: wire.meta.trace_parent,
                trace_state: wire.meta.trace_state,
                meta: wire.meta.extra,
                client_info: wire.meta.client_info,
                given,
                answer_timeout: self.shared.options.answer_timeout,
            },
        );
        let work = traced(span, begin(call.clone()));
        let run = Run::new(work, call);
        let key = self.shared.next_key();
        self.enqueue(key, running, run);
    }

    fn list_tools(
        &self,
        request: &Request,
        version: ProtocolVersion,
    ) -> Result<RawJson, ServeError> {
        let tools = self.shared.tools();
        let cursor = cursor(request);
        let size = self.shared.options.page_size;
        let (entries, next) =
            page(tools.entries(), |entry| &entry.tool.spec().name, cursor.as_ref(), size)?;
        let definitions: Vec<&RawJson> = entries
            .iter()
            .map(|entry| match version.era() {
                Era::Modern => &entry.definition,
                Era::Legacy => &entry.legacy_definition,
            })
            .collect();
        write_page(&self.shared, version, "tools", &definitions, next)
    }

    fn call_tool(&self, request: &Request, wire: &Wire) -> Result<(Subject, Begin), ServeError> {
        let name: String = member(request, "name")?;
        let arguments = request.params.as_ref().and_then(|params| params.get("arguments"));
        let arguments = arguments.unwrap_or_else(RawJson::empty_object).detached();
        if !arguments.is_object() {
            return Err(ServeError::InvalidParams("`arguments` is not an object".into()));
        }
        let tool = self.shared.tools().get(&name).map(|entry| entry.tool.clone());
        let tool =
            tool.ok_or_else(|| ServeError::InvalidParams(format!("unknown tool `{name}`")))?;
        let subject = subject(request, name, &arguments);
        let (shared, version) = (self.shared.clone(), wire.version);
        let begin: Begin = Box::new(move |call| {
            Box::pin(async move {
                let outcome = tool.call(arguments, call).await;
                tool_result(&shared, version, outcome)
            })
        });
        Ok((subject, begin))
    }

    /// Lists entries in pages. `key` identifies an entry, for the cursor.
    fn pages<T: Serialize + Send + Sync + 'static>(
        &self,
        request: &Request,
        wire: &Wire,
        member: &'static str,
        all: impl Future<Output = Result<Vec<T>, ServeError>> + Send + 'static,
        key: fn(&T) -> &str,
    ) -> (Subject, Begin) {
        let (shared, version, cursor) = (self.shared.clone(), wire.version, cursor(request));
        without_call(request, async move {
            let all = all.await?;
            let (part, next) = page(&all, key, cursor.as_ref(), shared.options.page_size)?;
            write_page(&shared, version, member, part, next)
        })
    }

    fn resources(&self, request: &Request) -> Result<Arc<dyn Resources>, ServeError> {
        let resources = &self.shared.resources;
        required(resources.is_offered().then_some(resources), request).map(|all| all as _)
    }

    fn prompts(&self, request: &Request) -> Result<Arc<dyn Prompts>, ServeError> {
        let prompts = &self.shared.prompts;
        required(prompts.is_offered().then_some(prompts), request).map(|all| all as _)
    }

    fn list_resources(
        &self,
        request: &Request,
        wire: &Wire,
    ) -> Result<(Subject, Begin), ServeError> {
        let provider = self.resources(request)?;
        let all = async move { provider.list().await };
        Ok(self.pages(request, wire, "resources", all, |item| &item.uri))
    }

    fn list_templates(
        &self,
        request: &Request,
        wire: &Wire,
    ) -> Result<(Subject, Begin), ServeError> {
        let provider = self.resources(request)?;
        let all = async move { provider.templates().await };
        Ok(self.pages(request, wire, "resourceTemplates", all, |item| &item.uri_template))
    }

    fn read_resource(
        &self,
        request: &Request,
        wire: &Wire,
    ) -> Result<(Subject, Begin), ServeError> {
        let provider = self.resources(request)?;
        let uri: String = member(request, "uri")?;
        let subject = subject(request, uri.clone(), &RawJson::null());
        // A result that depends on the user's responses must not be cached.
        let params = request.params.as_ref();
        let is_answered = params.is_some_and(|params| params.get("inputResponses").is_some());
        let cache = if is_answered { CachePolicy::NoStore } else { CachePolicy::Contents };
        let (shared, version) = (self.shared.clone(), wire.version);
        let begin: Begin = Box::new(move |call| {
            Box::pin(async move {
                let contents = provider.read(uri, call).await?;
                let contents = RawJson::encode(&contents)?;
                Ok(shared.result(version, cache, |result| {
                    result.raw("contents", &contents);
                }))
            })
        });
        Ok((subject, begin))
    }

    fn list_prompts(&self, request: &Request, wire: &Wire) -> Result<(Subject, Begin), ServeError> {
        let provider = self.prompts(request)?;
        let all = async move { provider.list().await };
        Ok(self.pages(request, wire, "prompts", all, |item| &item.name))
    }

    fn get_prompt(&self, request: &Request, wire: &Wire) -> Result<(Subject, Begin), ServeError> {
        let provider = self.prompts(request)?;
        let name: String = member(request, "name")?;
        let raw = request.params.as_ref().and_then(|params| params.get("arguments"));
        let raw = raw.filter(|raw| !raw.is_null()).unwrap_or_else(RawJson::empty_object);
        let arguments: BTreeMap<String, String> = raw
            .decode()
            .map_err(|error| ServeError::InvalidParams(format!("`arguments`: {error}")))?;
        let subject = subject(request, name.clone(), &raw);
        let (shared, version) = (self.shared.clone(), wire.version);
        let begin: Begin = Box::new(move |call| {
            Box::pin(async move {
                let prompt = provider.get(name, arguments, call).await?;
                let messages = RawJson::encode(&prompt.messages)?;
                let meta = prompt.meta.as_ref();
                Ok(shared.result_with_meta(version, CachePolicy::Undefined, meta, |result| {
                    if let Some(description) = &prompt.description {
                        result.string("description", description);
                    }
                    result.raw("messages", &messages);
                }))
            })
        });
        Ok((subject, begin))
    }

    fn complete(&self, request: &Request, wire: &Wire) -> Result<(Subject, Begin), ServeError> {
        let provider = required(self.shared.options.completions.as_ref(), request)?;
        let of: RawJson = member(request, "ref")?;
        let text = |of: &RawJson, name: &str| -> Result<String, ServeError> {
            let value = of.get(name).and_then(|value| value.decode().ok());
            value.ok_or_else(|| ServeError::InvalidParams(format!("`{name}` is missing")))
        };
        let of = match text(&of, "type")?.as_str() {
            "ref/prompt" => CompletionOf::Prompt(text(&of, "name")?),
            "ref/resource" => CompletionOf::Resource(text(&of, "uri")?),
            other => {
                return Err(ServeError::InvalidParams(format!("unknown reference `{other}`")));
            }
        };
        let argument: RawJson = member(request, "argument")?;
        let context = request.params.as_ref().and_then(|params| params.get("context"));
        let settled = context.and_then(|context| context.get("arguments"));
        let question = CompletionQuestion {
            of,
            argument: text(&argument, "name")?,
            value: text(&argument, "value")?,
            settled: settled.and_then(|settled| settled.decode().ok()).unwrap_or_default(),
        };
        let (shared, version) = (self.shared.clone(), wire.version);
        Ok(without_call(request, async move {
            let mut completion = provider.complete(question).await?;
            if completion.values.len() > MOST_COMPLETIONS {
                completion.values.truncate(MOST_COMPLETIONS);
                completion.has_more = true;
            }
            let completion = RawJson::encode(&completion)?;
            Ok(shared.result(version, CachePolicy::Undefined, |result| {
                result.raw("completion", &completion);
            }))
        }))
    }
}

/// Whether the specification allows an `input_required` result for this method.
fn allows_input_required(method: &str) -> bool {
    matches!(method, method::TOOLS_CALL | method::RESOURCES_READ | method::PROMPTS_GET)
}

/// Work that does not use its call.
fn without_call(
    request: &Request,
    work: impl Future<Output = Result<RawJson, ServeError>> + Send + 'static,
) -> (Subject, Begin) {
    let subject = subject(request, String::new(), &RawJson::null());
    (subject, Box::new(move |_| Box::pin(work)))
}

/// The provider, or "unknown method" if the server has none.
fn required<T: ?Sized>(provider: Option<&Arc<T>>, request: &Request) -> Result<Arc<T>, ServeError> {
    provider.cloned().ok_or_else(|| ServeError::Rpc(unknown_method(&request.method)))
}

fn subject(request: &Request, name: String, arguments: &RawJson) -> Subject {
    let arguments = arguments.as_str().to_owned();
    Subject { method: request.method.clone().into_owned(), name, arguments }
}

fn cursor(request: &Request) -> Option<RawJson> {
    request.params.as_ref().and_then(|params| params.get("cursor"))
}

/// A required member of a request's params.
pub(super) fn member<T: DeserializeOwned>(request: &Request, name: &str) -> Result<T, ServeError> {
    let value = request.params.as_ref().and_then(|params| params.get(name));
    let value = value.ok_or_else(|| ServeError::InvalidParams(format!("`{name}` is missing")))?;
    value.decode().map_err(|error| ServeError::InvalidParams(format!("`{name}`: {error}")))
}

fn write_page<T: Serialize>(
    shared: &Shared,
    version: ProtocolVersion,
    name: &str,
    items: &[T],
    next: Option<String>,
) -> Result<RawJson, ServeError> {
    let items = RawJson::encode(items)?;
    Ok(shared.result(version, CachePolicy::List, |result| {
        result.raw(name, &items);
        if let Some(next) = next {
            result.string("nextCursor", &next);
        }
    }))
}
