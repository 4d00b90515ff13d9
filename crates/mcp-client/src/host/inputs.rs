//! Answers the input requests of a server: elicitation, sampling and roots, in every era.

use mcp_jsonrpc::{ErrorObject, ObjectWriter, RawJson, ShapeError};
use mcp_types::{
    ClientCapabilities, CreateMessageRequest, ElicitRequest, Handler, events::Refusal, method,
};

use super::page_url;
use crate::error::{CallError, problem};

/// Why an input request failed.
#[derive(Debug)]
pub(crate) enum InputError {
    /// The host has not declared this capability.
    Undeclared(Box<str>),
    /// The host has declared the capability, but not this mode.
    UndeclaredMode(Box<str>),
    /// The request is invalid.
    Invalid(ShapeError),
    /// The host or its user refused.
    Refused(Refusal),
}

/// Answers one input request, with the same rules for every source.
pub(crate) async fn obtain(
    handler: &dyn Handler,
    offered: &ClientCapabilities,
    method: &str,
    params: Option<&RawJson>,
) -> Result<RawJson, InputError> {
    let params = params.cloned().unwrap_or_else(RawJson::empty_object);
    match method {
        method::ELICITATION_CREATE => elicit(handler, offered, &params).await,
        method::SAMPLING_CREATE_MESSAGE if offered.sampling => {
            let request: CreateMessageRequest = params.decode().map_err(InputError::Invalid)?;
            if (request.tools.is_some() || request.tool_choice.is_some()) && !offered.sampling_tools
            {
                return Err(InputError::UndeclaredMode("sampling with tools".into()));
            }
            request.check_tool_results().map_err(InputError::Invalid)?;
            let result = handler.sample(request).await.map_err(InputError::Refused)?;
            RawJson::encode(&result).map_err(InputError::Invalid)
        }
        method::ROOTS_LIST if offered.roots => {
            let roots = handler.roots().await.map_err(InputError::Refused)?;
            let mut result = ObjectWriter::new();
            result.member("roots", &roots).map_err(InputError::Invalid)?;
            Ok(result.finish())
        }
        other => Err(InputError::Undeclared(other.into())),
    }
}

async fn elicit(
    handler: &dyn Handler,
    offered: &ClientCapabilities,
    params: &RawJson,
) -> Result<RawJson, InputError> {
    if !offered.elicitation_form && !offered.elicitation_url {
        return Err(InputError::Undeclared(method::ELICITATION_CREATE.into()));
    }
    let request: ElicitRequest = params.decode().map_err(InputError::Invalid)?;
    let mode_offered = match request.mode.as_deref() {
        // Requests of 2025-06-18 have no mode, and are forms:
        // <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#elicitation-requests>
        None | Some("form") => offered.elicitation_form,
        Some("url") => offered.elicitation_url,
        Some(_) => false,
    };
    if !mode_offered {
        let mode = request.mode.as_deref().unwrap_or("form");
        return Err(InputError::UndeclaredMode(format!("elicitation in mode `{mode}`").into()));
    }
    if request.is_url() {
        // <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#safe-url-handling>
        page_url::check(request.url.as_deref()).map_err(InputError::Invalid)?;
    }
    let result = handler.elicit(request.clone()).await.completed(&request);
    RawJson::encode(&result).map_err(InputError::Invalid)
}

impl InputError {
    /// The error response for a legacy server.
    pub(crate) fn into_answer(self) -> ErrorObject {
        match self {
            InputError::Undeclared(what) => ErrorObject::new(
                ErrorObject::METHOD_NOT_FOUND,
                format!("this host does not support {what}"),
            ),
            InputError::UndeclaredMode(what) => ErrorObject::new(
                ErrorObject::INVALID_PARAMS,
                format!("this host does not support {what}"),
            ),
            InputError::Invalid(error) => {
                ErrorObject::new(ErrorObject::INVALID_PARAMS, error.to_string())
            }
            // The code of the specification's example of a rejection by the user:
            // <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#error-handling>
            InputError::Refused(refusal) => ErrorObject::new(-1, refusal.to_string()),
        }
    }

    /// The error for our caller, if the input request was part of a call's result.
    pub(crate) fn into_call_error(self, method: &'static str, place: &str) -> CallError {
        match self {
            InputError::Undeclared(what) | InputError::UndeclaredMode(what) => {
                CallError::Undeclared(what)
            }
            InputError::Invalid(error) => {
                CallError::shape(method, problem(format_args!("{place}: {error}")))
            }
            InputError::Refused(refusal) => CallError::Declined(refusal.to_string().into()),
        }
    }
}
