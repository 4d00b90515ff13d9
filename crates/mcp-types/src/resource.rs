//! Resources and resource templates.

use mcp_jsonrpc::RawJson;

use crate::{
    listing::{Freshness, Rejectable},
    open::{Extra, Open, open},
};

open! {
    /// A resource as the server lists it.
    pub struct Resource {
        /// The URI, by which it is read; passed on byte for byte.
        required uri: String = "uri",
        /// The name.
        lenient name: String = "name",
        /// The display name.
        optional title: Option<String> = "title",
        /// The description. Foreign text.
        optional description: Option<String> = "description",
        /// The media type of the contents.
        optional mime_type: Option<String> = "mimeType",
        /// The size in bytes.
        optional size: Option<f64> = "size",
        /// The audience and priority.
        optional annotations: Option<RawJson> = "annotations",
        /// The icons.
        optional icons: Option<RawJson> = "icons",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// A resource template.
    pub struct ResourceTemplate {
        /// The URI template ([RFC 6570](https://www.rfc-editor.org/rfc/rfc6570)).
        required uri_template: String = "uriTemplate",
        /// The name.
        lenient name: String = "name",
        /// The display name.
        optional title: Option<String> = "title",
        /// The description. Foreign text.
        optional description: Option<String> = "description",
        /// The media type of the resources.
        optional mime_type: Option<String> = "mimeType",
        /// The audience and priority.
        optional annotations: Option<RawJson> = "annotations",
        /// The icons.
        optional icons: Option<RawJson> = "icons",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The contents of a resource: text, or bytes in Base64.
    pub struct ResourceContents {
        /// The URI of the resource, or of a part of it.
        required uri: String = "uri",
        /// The media type.
        optional mime_type: Option<String> = "mimeType",
        /// The text of a text resource.
        optional text: Option<String> = "text",
        /// The bytes of a binary resource, in Base64.
        optional blob: Option<String> = "blob",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The result of `resources/read` on the wire.
    pub struct ReadPage {
        /// The contents. Absent in an `input_required` result.
        optional contents: Option<Vec<ResourceContents>> = "contents",
        /// How long the result may be cached.
        optional ttl_ms: Option<f64> = "ttlMs",
        /// Who may share the cached result.
        optional cache_scope: Option<String> = "cacheScope",
    }
}

impl Resource {
    /// A resource with this URI and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::of((uri.into(),)) }
    }
}

impl ResourceTemplate {
    /// A template with this URI template and name.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::of((uri_template.into(),)) }
    }
}

impl ResourceContents {
    /// A text resource.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::of((uri.into(),)) }
    }

    /// A binary resource: its bytes in Base64.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self { blob: Some(blob.into()), ..Self::of((uri.into(),)) }
    }

    /// Sets the media type.
    #[must_use]
    pub fn of_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}

impl Rejectable for Resource {
    const MEMBER: &'static str = "resources";
}

impl Rejectable for ResourceTemplate {
    const MEMBER: &'static str = "resourceTemplates";
}

/// The contents of a resource, which may consist of several parts with their own URIs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The parts. An empty list does not mean "not found".
    pub contents: Vec<ResourceContents>,
    /// How long the result may be cached, if the server said so.
    pub freshness: Option<Freshness>,
    /// Unknown members.
    pub extra: Extra,
}

impl ReadPage {
    /// The result, unless it is `input_required`.
    pub fn into_result(self) -> Option<ReadResourceResult> {
        let freshness = Freshness::new(self.ttl_ms, self.cache_scope.as_deref());
        Some(ReadResourceResult { contents: self.contents?, freshness, extra: self.extra })
    }
}
