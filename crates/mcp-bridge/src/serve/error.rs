//! Why a client's request has no result, and what an HTTP client is told about it.

use std::fmt;

use mcp_client::{ErrorObject, ShapeError};
use mcp_jsonrpc::{ObjectWriter, RawJson};

/// Why a request cannot be answered.
///
/// For a tool that ran and failed there is [`ToolOutcome::error`](crate::ToolOutcome::error), which the
/// model gets to see. This is for requests that make no sense.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServeError {
    /// There is no such resource.
    UnknownResource(String),
    /// The params do not fit: an unknown name, a missing argument.
    InvalidParams(String),
    /// The client would have to offer something that it does not.
    MissingCapability(ClientNeed),
    /// The client was asked for something, and refused, failed, went away or took too long.
    NoAnswer(String),
    /// Something here broke.
    Internal(String),
    /// Any other error, as it is.
    Rpc(ErrorObject),
}

/// Something a server can need of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "what the protocol lets servers ask for")]
pub enum ClientNeed {
    /// A form for the user to fill in.
    Form,
    /// A page for the user to visit.
    Page,
    /// A run of the client's model.
    Sampling,
    /// The directories to work in.
    Roots,
}

/// HTTP headers and body do not say the same.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// The client would have to declare a capability.
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
/// The server does not speak that revision.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
/// What servers up to 2025-11-25 say of resources they do not have.
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
/// Ours: there is too much going on already.
pub(crate) const BUSY: i64 = -32000;

impl ClientNeed {
    /// As it is declared: the least a client has to say.
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
            ServeError::UnknownResource(uri) => write!(f, "there is no resource `{uri}`"),
            ServeError::InvalidParams(problem) | ServeError::Internal(problem) => {
                f.write_str(problem)
            }
            ServeError::MissingCapability(need) => write!(f, "the client does not offer {need}"),
            ServeError::NoAnswer(reason) => write!(f, "the client did not answer: {reason}"),
            ServeError::Rpc(error) => f.write_str(&error.message),
        }
    }
}

impl std::error::Error for ServeError {}

/// What we could not write is our own fault.
impl From<ShapeError> for ServeError {
    fn from(error: ShapeError) -> Self {
        ServeError::Internal(error.to_string())
    }
}

impl ServeError {
    /// For a call that a server behind this one refused, since its client does not offer enough.
    pub(crate) fn lacking(message: String, required: &RawJson) -> Self {
        let mut data = ObjectWriter::new();
        data.raw("requiredCapabilities", required);
        Self::Rpc(ErrorObject { code: MISSING_CAPABILITY, message, data: Some(data.finish()) })
    }

    /// As it goes over the wire.
    pub(crate) fn into_object(self, is_modern: bool) -> ErrorObject {
        let message = self.to_string();
        let (code, data) = match self {
            ServeError::UnknownResource(uri) => {
                let mut data = ObjectWriter::new();
                data.string("uri", &uri);
                let code = if is_modern { ErrorObject::INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
                (code, Some(data.finish()))
            }
            ServeError::MissingCapability(need) if is_modern => {
                let mut data = ObjectWriter::new();
                data.raw("requiredCapabilities", &need.declaration());
                (MISSING_CAPABILITY, Some(data.finish()))
            }
            ServeError::InvalidParams(_) | ServeError::MissingCapability(_) => {
                (ErrorObject::INVALID_PARAMS, None)
            }
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
    fn what_is_not_found_is_called_differently_in_each_era() {
        let error = || ServeError::UnknownResource("a:b".into());
        assert_eq!(error().into_object(false).code, RESOURCE_NOT_FOUND);
        let modern = error().into_object(true);
        assert_eq!(modern.code, ErrorObject::INVALID_PARAMS);
        assert_eq!(modern.data.unwrap().as_str(), r#"{"uri":"a:b"}"#);
    }

    #[test]
    fn a_missing_capability_is_named_as_the_object_that_would_declare_it() {
        let error = ServeError::MissingCapability(ClientNeed::Page).into_object(true);
        assert_eq!(error.code, MISSING_CAPABILITY);
        assert_eq!(
            error.data.unwrap().as_str(),
            r#"{"requiredCapabilities":{"elicitation":{"url":{}}}}"#
        );
    }
}
