//! Things a server lets us read.

use mcp_jsonrpc::RawJson;

use super::{Extra, Freshness, ResourceContents, open::open};

open! {
    /// A resource as its server describes it.
    pub struct Resource {
        /// What to read it by; passed on byte for byte.
        required uri: String = "uri",
        /// What it is called.
        lenient name: String = "name",
        /// What to show people.
        optional title: Option<String> = "title",
        /// What it holds. Foreign text.
        optional description: Option<String> = "description",
        /// What kind of content it has.
        optional mime_type: Option<String> = "mimeType",
        /// How many bytes it has.
        optional size: Option<f64> = "size",
        /// Who it is for, and how important it is.
        optional annotations: Option<RawJson> = "annotations",
        /// Pictures to show with it.
        optional icons: Option<RawJson> = "icons",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// A family of resources.
    pub struct ResourceTemplate {
        /// How to make a resource's URI (RFC 6570).
        required uri_template: String = "uriTemplate",
        /// What the family is called.
        lenient name: String = "name",
        /// What to show people.
        optional title: Option<String> = "title",
        /// What its members hold. Foreign text.
        optional description: Option<String> = "description",
        /// What kind of content they have.
        optional mime_type: Option<String> = "mimeType",
        /// Who they are for, and how important they are.
        optional annotations: Option<RawJson> = "annotations",
        /// Pictures to show with it.
        optional icons: Option<RawJson> = "icons",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The answer to `resources/read` on the wire.
    pub(crate) struct ReadPage {
        /// What was read. Absent while the server still has questions.
        optional contents: Option<Vec<ResourceContents>> = "contents",
        /// How long it is good for.
        optional ttl_ms: Option<f64> = "ttlMs",
        /// For whom it is good.
        optional cache_scope: Option<String> = "cacheScope",
    }
}

impl Resource {
    /// A resource of which nothing but its URI and its name is known.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

impl ResourceTemplate {
    /// A family of which nothing but its template and its name is known.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            icons: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What was read: one resource may come in several parts, with URIs of their own.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The parts. None at all is not the same as "not found".
    pub contents: Vec<ResourceContents>,
    /// How long the answer may be kept, if the server said so.
    pub freshness: Option<Freshness>,
    /// Members without a field of their own.
    pub extra: Extra,
}

impl ReadPage {
    pub(crate) fn into_result(self) -> Option<ReadResourceResult> {
        let freshness = Freshness::new(self.ttl_ms, self.cache_scope.as_deref());
        Some(ReadResourceResult { contents: self.contents?, freshness, extra: self.extra })
    }
}
