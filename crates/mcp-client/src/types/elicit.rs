//! Questions a server has for the user.

use mcp_jsonrpc::RawJson;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::open::open;

open! {
    /// A question for the user: a form to fill in, or a page to visit.
    pub struct ElicitRequest {
        /// `form` or `url`; absent means `form`. See [`ElicitRequest::is_url`].
        optional mode: Option<String> = "mode",
        /// What to tell the user. Foreign text.
        lenient message: String = "message",
        /// The fields of a form: a flat object schema.
        optional requested_schema: Option<RawJson> = "requestedSchema",
        /// The page. To be shown in full, never fetched by us, and opened only with consent.
        ///
        /// What reaches a [`Handler`](crate::Handler) in this mode is there, in ASCII, without a user, and either
        /// `https` or on this machine: a browser reads it as a person does. Anything else was refused.
        optional url: Option<String> = "url",
        /// What the server calls this question (2025-11-25).
        optional elicitation_id: Option<String> = "elicitationId",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }
}

impl ElicitRequest {
    /// A form to fill in.
    pub fn form(message: impl Into<String>, requested_schema: RawJson) -> Self {
        Self {
            mode: None,
            message: message.into(),
            requested_schema: Some(requested_schema),
            url: None,
            elicitation_id: None,
            meta: None,
            extra: super::Extra::default(),
        }
    }

    /// Whether the user is asked to visit a page rather than to fill in a form.
    pub fn is_url(&self) -> bool {
        self.mode.as_deref() == Some("url")
    }

    /// The default of each field that has one, as an object: what a form starts out with.
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

/// What the user did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol's three")]
pub enum ElicitAction {
    /// Said yes: filled the form in, or agreed to visit the page.
    Accept,
    /// Said no.
    Decline,
    /// Went away.
    Cancel,
}

/// The user's answer.
///
/// ```
/// use mcp_client::ElicitResult;
/// use mcp_jsonrpc::RawJson;
///
/// let answer = ElicitResult::accept(RawJson::parse(r#"{"name":"Ada"}"#)?);
/// assert_eq!(RawJson::encode(&answer)?.as_str(), r#"{"action":"accept","content":{"name":"Ada"}}"#);
/// # Ok::<(), mcp_jsonrpc::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitResult {
    /// What the user did.
    pub action: ElicitAction,
    /// The form's fields, if it was one and the user filled it in. Fields left out get their defaults.
    pub content: Option<RawJson>,
}

impl ElicitResult {
    /// The user filled the form in.
    pub fn accept(content: RawJson) -> Self {
        Self { action: ElicitAction::Accept, content: Some(content) }
    }

    /// The user agreed to visit the page. Whether they are done there, this does not say.
    pub fn accept_url() -> Self {
        Self { action: ElicitAction::Accept, content: None }
    }

    /// The user said no.
    pub fn decline() -> Self {
        Self { action: ElicitAction::Decline, content: None }
    }

    /// The user went away.
    pub fn cancel() -> Self {
        Self { action: ElicitAction::Cancel, content: None }
    }

    /// The answer as the protocol has it: only an accepted form has content, and in it each field that
    /// the user left alone has the default its form shows.
    pub(crate) fn completed(mut self, request: &ElicitRequest) -> Self {
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
