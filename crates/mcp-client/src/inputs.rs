//! What a server needs from its host to go on: the same three things in every era.

use mcp_jsonrpc::{ErrorObject, ObjectWriter, RawJson, ShapeError};

use crate::{
    capabilities::ClientCapabilities,
    error::CallError,
    handler::{Handler, Refusal},
    page,
    request::problem,
    types::{CreateMessageRequest, ElicitRequest},
};

/// Why a host has no answer for a server.
#[derive(Debug)]
pub(crate) enum InputError {
    /// The host never offered this.
    Undeclared(Box<str>),
    /// The host offers it, but not in this way.
    UndeclaredMode(Box<str>),
    /// The question makes no sense.
    Invalid(ShapeError),
    /// The host, or its user, does not want to.
    Refused(Refusal),
}

/// Obtains the answer to one question, with the same rules wherever it came from.
pub(crate) async fn obtain(
    handler: &dyn Handler,
    offered: &ClientCapabilities,
    method: &str,
    params: Option<&RawJson>,
) -> Result<RawJson, InputError> {
    let params = params.cloned().unwrap_or_else(RawJson::empty_object);
    match method {
        "elicitation/create" => elicit(handler, offered, &params).await,
        "sampling/createMessage" if offered.sampling => {
            let request: CreateMessageRequest = params.decode().map_err(InputError::Invalid)?;
            if (request.tools.is_some() || request.tool_choice.is_some()) && !offered.sampling_tools
            {
                return Err(InputError::UndeclaredMode("sampling with tools".into()));
            }
            request.check_tool_results().map_err(InputError::Invalid)?;
            let result = handler.sample(request).await.map_err(InputError::Refused)?;
            RawJson::encode(&result).map_err(InputError::Invalid)
        }
        "roots/list" if offered.roots => {
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
        return Err(InputError::Undeclared("elicitation/create".into()));
    }
    let request: ElicitRequest = params.decode().map_err(InputError::Invalid)?;
    let mode_offered = match request.mode.as_deref() {
        None | Some("form") => offered.elicitation_form,
        Some("url") => offered.elicitation_url,
        Some(_) => false,
    };
    if !mode_offered {
        let mode = request.mode.as_deref().unwrap_or("form");
        return Err(InputError::UndeclaredMode(format!("elicitation in mode `{mode}`").into()));
    }
    if request.is_url() {
        page::check(request.url.as_deref()).map_err(InputError::Invalid)?;
    }
    let result = handler.elicit(request.clone()).await.completed(&request);
    RawJson::encode(&result).map_err(InputError::Invalid)
}

impl InputError {
    /// What a legacy server is told.
    pub(crate) fn into_answer(self) -> ErrorObject {
        match self {
            InputError::Undeclared(what) => ErrorObject::new(
                ErrorObject::METHOD_NOT_FOUND,
                format!("this host does not offer {what}"),
            ),
            InputError::UndeclaredMode(what) => ErrorObject::new(
                ErrorObject::INVALID_PARAMS,
                format!("this host does not offer {what}"),
            ),
            InputError::Invalid(error) => {
                ErrorObject::new(ErrorObject::INVALID_PARAMS, error.to_string())
            }
            // The code the specification gives for a user who says no.
            InputError::Refused(refusal) => ErrorObject::new(-1, refusal.to_string()),
        }
    }

    /// What our own caller is told, where the question came inside the answer to a call.
    pub(crate) fn into_call_error(self, method: &'static str, place: &str) -> CallError {
        match self {
            InputError::Undeclared(what) | InputError::UndeclaredMode(what) => {
                CallError::Undeclared(what)
            }
            InputError::Invalid(error) => {
                CallError::Shape { method, error: problem(format_args!("{place}: {error}")) }
            }
            InputError::Refused(refusal) => CallError::Declined(refusal.to_string().into()),
        }
    }
}
