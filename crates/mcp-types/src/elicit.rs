//! Elicitation: a server's requests for input from the user.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>

use mcp_jsonrpc::RawJson;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    form::{self, Field, FormError},
    open::{Open, open},
};

open! {
    /// A request for input from the user: a form, or a URL to visit.
    pub struct ElicitRequest {
        /// `form` or `url`; absent means `form`. See [`ElicitRequest::is_url`].
        optional mode: Option<String> = "mode",
        /// The message for the user. Foreign text.
        lenient message: String = "message",
        /// The fields of a form: a flat object schema.
        optional requested_schema: Option<RawJson> = "requestedSchema",
        /// The URL to visit. Show it in full, do not fetch it, and open it only with the user's consent.
        ///
        /// Requests in this mode that reach a [`Handler`](crate::Handler) always have a URL, in ASCII, without user
        /// info, and either `https` or on this machine, so that a browser and the user read the same URL.
        optional url: Option<String> = "url",
        /// The server's id of this elicitation (2025-11-25).
        optional elicitation_id: Option<String> = "elicitationId",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }
}

impl ElicitRequest {
    /// A form request.
    pub fn form(message: impl Into<String>, requested_schema: RawJson) -> Self {
        let requested_schema = Some(requested_schema);
        Self { message: message.into(), requested_schema, ..Self::of(()) }
    }

    /// Whether the user is asked to visit a URL rather than to fill in a form.
    pub fn is_url(&self) -> bool {
        // Without a mode, it is a form: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#elicitation-requests>
        self.mode.as_deref() == Some("url")
    }

    /// The defaults of all fields that have one, as an object: the initial values of the form.
    pub fn defaults(&self) -> RawJson {
        let mut defaults = mcp_jsonrpc::ObjectWriter::new();
        let properties = self.requested_schema.as_ref().and_then(|schema| schema.get("properties"));
        for (name, property) in properties.iter().flat_map(RawJson::members) {
            if let Some(default) = property.get("default") {
                defaults.raw(&name, &default);
            }
        }
        defaults.finish()
    }
}

impl ElicitRequest {
    /// The fields of a form, in the order of its schema. See [`form`](crate::form).
    ///
    /// # Errors
    /// If a field has a type that forms do not allow, such as an object.
    pub fn fields(&self) -> Result<Vec<Field>, FormError> {
        form::read_fields(self.requested_schema.as_ref())
    }

    /// Checks the content of a response: each field, and that all required fields are present.
    ///
    /// # Errors
    /// The first violation, worded for the user.
    pub fn check(&self, content: &RawJson) -> Result<(), form::AnswerError> {
        let fields = self.fields().map_err(form::AnswerError::Form)?;
        form::check_content(&fields, content).map_err(form::AnswerError::Field)
    }
}

/// The user's reaction to an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol defines these three")]
pub enum ElicitAction {
    /// Accepted: submitted the form, or agreed to visit the URL.
    Accept,
    /// Declined explicitly.
    Decline,
    /// Dismissed without a choice.
    Cancel,
}

/// The result of an elicitation.
///
/// ```
/// use mcp_jsonrpc::RawJson;
/// use mcp_types::ElicitResult;
///
/// let answer = ElicitResult::accept(RawJson::parse(r#"{"name":"Ada"}"#)?);
/// assert_eq!(RawJson::encode(&answer)?.as_str(), r#"{"action":"accept","content":{"name":"Ada"}}"#);
/// # Ok::<(), mcp_jsonrpc::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitResult {
    /// The user's reaction.
    pub action: ElicitAction,
    /// The values of the fields, if a form was accepted. Missing fields get their defaults.
    pub content: Option<RawJson>,
}

impl ElicitResult {
    /// The user submitted the form.
    pub fn accept(content: RawJson) -> Self {
        Self { action: ElicitAction::Accept, content: Some(content) }
    }

    /// The user agreed to visit the URL. This does not mean that they have finished there:
    /// <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-flow>.
    pub fn accept_url() -> Self {
        Self { action: ElicitAction::Accept, content: None }
    }

    /// The user declined.
    pub fn decline() -> Self {
        Self { action: ElicitAction::Decline, content: None }
    }

    /// The user dismissed the request.
    pub fn cancel() -> Self {
        Self { action: ElicitAction::Cancel, content: None }
    }

    /// The result as the protocol requires it: only an accepted form has content, and fields that the user did not
    /// change have their defaults.
    #[must_use]
    pub fn completed(mut self, request: &ElicitRequest) -> Self {
        if self.action != ElicitAction::Accept || request.is_url() {
            self.content = None;
            return self;
        }
        let content = self.content.filter(RawJson::is_object);
        let content = content.unwrap_or_else(RawJson::empty_object);
        let mut filled = mcp_jsonrpc::ObjectWriter::new();
        filled.splice(&content);
        for (name, value) in request.defaults().members() {
            if content.get(&name).is_none() {
                filled.raw(&name, &value);
            }
        }
        self.content = Some(filled.finish());
        self
    }
}

impl Serialize for ElicitResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let action = match self.action {
            ElicitAction::Accept => "accept",
            ElicitAction::Decline => "decline",
            ElicitAction::Cancel => "cancel",
        };
        map.serialize_entry("action", action)?;
        if let Some(content) = &self.content {
            map.serialize_entry("content", content)?;
        }
        map.end()
    }
}
