//! Errors of requests, and their JSON-RPC objects.

use std::fmt;

use mcp_jsonrpc::{ErrorObject, ObjectWriter, RawJson, ShapeError};
use mcp_types::error_code;

/// Why a request failed.
///
/// A tool that ran and failed returns [`ToolOutcome::error`](mcp_tool::ToolOutcome::error), which the model sees.
/// This error is for requests that cannot be processed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServeError {
    /// The resource with this URI does not exist.
    UnknownResource(String),
    /// The params are invalid: an unknown name, a missing argument.
    InvalidParams(String),
    /// The client does not have a capability that the request needs.
    MissingCapability(ClientNeed),
    /// The client did not respond: it declined, failed, disconnected or took too long.
    NoAnswer(String),
    /// A rule or the user denied the request, for this reason.
    Denied(String),
    /// An internal error of this server.
    Internal(String),
    /// Any other JSON-RPC error, sent unchanged.
    Rpc(ErrorObject),
}

/// A capability of the client that a server can need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the requests that the protocol allows a server to send"
)]
pub enum ClientNeed {
    /// Form elicitation.
    Form,
    /// URL elicitation.
    Page,
    /// Sampling.
    Sampling,
    /// Roots.
    Roots,
}

/// The error code for exceeded limits. Not defined by the specification.
pub(crate) const BUSY: i64 = -32000;

impl ClientNeed {
    /// The smallest capabilities object that declares it.
    pub(crate) fn declaration(self) -> RawJson {
        let mut all = ObjectWriter::new();
        let empty = RawJson::empty_object();
        match self {
            ClientNeed::Form => all.raw("elicitation", &empty),
            ClientNeed::Page => all.object("elicitation", |modes| modes.raw("url", &empty)),
            ClientNeed::Sampling => all.raw("sampling", &empty),
            ClientNeed::Roots => all.raw("roots", &empty),
        };
        all.finish()
    }
}

impl fmt::Display for ClientNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientNeed::Form => "form elicitation",
            ClientNeed::Page => "URL elicitation",
            ClientNeed::Sampling => "sampling",
            ClientNeed::Roots => "roots",
        })
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::UnknownResource(uri) => write!(f, "unknown resource `{uri}`"),
            ServeError::InvalidParams(problem) | ServeError::Internal(problem) => {
                f.write_str(problem)
            }
            ServeError::Denied(reason) => write!(f, "denied: {reason}"),
            ServeError::MissingCapability(need) => write!(f, "the client does not support {need}"),
            ServeError::NoAnswer(reason) => write!(f, "the client did not answer: {reason}"),
            ServeError::Rpc(error) => f.write_str(&error.message),
        }
    }
}

impl std::error::Error for ServeError {}

/// An object that we cannot serialize is an internal error.
impl From<ShapeError> for ServeError {
    fn from(error: ShapeError) -> Self {
        ServeError::Internal(error.to_string())
    }
}

/// The client sees the text of the error, which should not contain secrets.
impl From<std::io::Error> for ServeError {
    fn from(error: std::io::Error) -> Self {
        ServeError::Internal(error.to_string())
    }
}

impl ServeError {
    /// For a call that a server behind this one rejected because of missing client capabilities.
    pub(crate) fn missing_capabilities(message: String, required: &RawJson) -> Self {
        let mut data = ObjectWriter::new();
        data.raw("requiredCapabilities", required);
        Self::Rpc(ErrorObject {
            code: error_code::MISSING_CAPABILITY,
            message,
            data: Some(data.finish()),
        })
    }

    /// The JSON-RPC error object.
    pub(crate) fn into_object(self, is_modern: bool) -> ErrorObject {
        let message = self.to_string();
        let (code, data) = match self {
            ServeError::UnknownResource(uri) => {
                let mut data = ObjectWriter::new();
                data.string("uri", &uri);
                let code = if is_modern {
                    ErrorObject::INVALID_PARAMS
                } else {
                    error_code::RESOURCE_NOT_FOUND
                };
                (code, Some(data.finish()))
            }
            ServeError::MissingCapability(need) if is_modern => {
                let mut data = ObjectWriter::new();
                data.raw("requiredCapabilities", &need.declaration());
                (error_code::MISSING_CAPABILITY, Some(data.finish()))
            }
            ServeError::InvalidParams(_) | ServeError::MissingCapability(_) => {
                (ErrorObject::INVALID_PARAMS, None)
            }
            ServeError::Denied(_) => (ErrorObject::INVALID_REQUEST, None),
            ServeError::NoAnswer(_) | ServeError::Internal(_) => {
                (ErrorObject::INTERNAL_ERROR, None)
            }
            ServeError::Rpc(error) => return error,
        };
        ErrorObject { code, message, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_resource_code_depends_on_the_era() {
        let error = || ServeError::UnknownResource("a:b".into());
        assert_eq!(error().into_object(false).code, error_code::RESOURCE_NOT_FOUND);
        let modern = error().into_object(true);
        assert_eq!(modern.code, ErrorObject::INVALID_PARAMS);
        assert_eq!(modern.data.unwrap().as_str(), r#"{"uri":"a:b"}"#);
    }

    #[test]
    fn missing_capability_data_holds_the_required_declaration() {
        let error = ServeError::MissingCapability(ClientNeed::Page).into_object(true);
        assert_eq!(error.code, error_code::MISSING_CAPABILITY);
        assert_eq!(
            error.data.unwrap().as_str(),
            r#"{"requiredCapabilities":{"elicitation":{"url":{}}}}"#
        );
    }
}
