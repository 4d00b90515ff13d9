//! Resources and resource templates built from functions.

use std::{collections::BTreeMap, fmt};

use base64::Engine as _;
use mcp_types::{BoxFuture, Resource, ResourceContents, ResourceTemplate};
use serde::de::DeserializeOwned;

use super::{texts::from_texts, uri_template::UriTemplate};
use crate::error::ServeError;

/// Starts to build a resource. Finish with its text, or with a function that reads it.
///
/// ```
/// use mcp_server::{ServeOptions, ToolServer, resource};
///
/// let server = ToolServer::new(ServeOptions::new("notes", "1.0.0"));
/// server.add_resource(resource("memo://help", "help").mime_type("text/plain").text("Read me."));
/// server.add_resource(
///     resource("memo://hosts", "hosts").read(|| async { Ok(std::fs::read_to_string("/etc/hosts")?) }),
/// );
/// ```
pub fn resource(uri: impl Into<String>, name: impl Into<String>) -> ResourceBuilder {
    ResourceBuilder { resource: Resource::new(uri, name) }
}

/// Starts to build a resource template. Finish with a function that reads a resource.
///
/// Variables are written `{name}`, or `{+name}` for one that may contain slashes.
///
/// ```
/// use std::collections::BTreeMap;
/// use mcp_server::{ServeError, ServeOptions, ToolServer, resource_template};
///
/// let server = ToolServer::new(ServeOptions::new("users", "1.0.0"));
/// server.add_resource(resource_template("users://{id}/profile", "profile").read(
///     |variables: BTreeMap<String, String>| async move {
///         match variables["id"].as_str() {
///             "7" => Ok("Ada"),
///             other => Err(ServeError::UnknownResource(format!("users://{other}/profile"))),
///         }
///     },
/// ));
/// ```
pub fn resource_template(
    uri_template: impl Into<String>,
    name: impl Into<String>,
) -> TemplateBuilder {
    TemplateBuilder { template: ResourceTemplate::new(uri_template, name) }
}

/// A resource without its contents. See [`resource`].
#[derive(Clone, Debug)]
#[must_use = "a resource builder does nothing until `text` or `read` is called"]
pub struct ResourceBuilder {
    resource: Resource,
}

impl ResourceBuilder {
    /// Sets the display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.resource.title = Some(title.into());
        self
    }

    /// Sets the description of the contents.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.resource.description = Some(description.into());
        self
    }

    /// Sets the media type of the contents.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.resource.mime_type = Some(mime_type.into());
        self
    }

    /// Builds a resource with constant text.
    pub fn text(self, text: impl Into<String>) -> ServedResource {
        let text = text.into();
        self.read(move || std::future::ready(Ok(text.clone())))
    }

    /// Builds the resource. `function` is called for each read, and returns text, bytes, or whole
    /// [`ResourceContents`].
    pub fn read<B, F, Fut>(self, function: F) -> ServedResource
    where
        B: Into<ResourceBody>,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<B, ServeError>> + Send + 'static,
    {
        let (uri, mime_type) = (self.resource.uri.clone(), self.resource.mime_type.clone());
        let read = move |_: String| -> Reading {
            let (body, uri, mime_type) = (function(), uri.clone(), mime_type.clone());
            Box::pin(async move { Ok(body.await?.into().contents(&uri, mime_type.as_deref())) })
        };
        ServedResource(Kind::One(self.resource, Box::new(read)))
    }
}

/// A resource template without its function. See [`resource_template`].
#[derive(Clone, Debug)]
#[must_use = "a template builder does nothing until `read` is called"]
pub struct TemplateBuilder {
    template: ResourceTemplate,
}

impl TemplateBuilder {
    /// Sets the display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.template.title = Some(title.into());
        self
    }

    /// Sets the description of the resources.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.template.description = Some(description.into());
        self
    }

    /// Sets the media type of the resources.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.template.mime_type = Some(mime_type.into());
        self
    }

    /// Builds the template. `function` gets the variables of the URI as an `A`, a struct or a map of text, and returns
    /// text, bytes, or whole [`ResourceContents`].
    ///
    /// If the variables cannot be parsed as an `A`, the URI is an unknown resource.
    pub fn read<A, B, F, Fut>(self, function: F) -> ServedResource
    where
        A: DeserializeOwned + Send + 'static,
        B: Into<ResourceBody>,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<B, ServeError>> + Send + 'static,
    {
        let matcher = UriTemplate::parse(&self.template.uri_template);
        let mime_type = self.template.mime_type.clone();
        let read = move |uri: String, variables: BTreeMap<String, String>| -> Reading {
            let Ok(variables) = from_texts::<A>(variables) else {
                return Box::pin(async { Err(ServeError::UnknownResource(uri)) });
            };
            let (body, mime_type) = (function(variables), mime_type.clone());
            Box::pin(async move { Ok(body.await?.into().contents(&uri, mime_type.as_deref())) })
        };
        ServedResource(Kind::Family(self.template, matcher, Box::new(read)))
    }
}

/// The contents of a resource, as returned by a function.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, sent as Base64.
    Bytes(Vec<u8>),
    /// Several parts, each with its own URI and media type.
    Parts(Vec<ResourceContents>),
}

impl ResourceBody {
    fn contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        let mut contents = match self {
            Self::Text(text) => ResourceContents::text(uri, text),
            Self::Bytes(bytes) => {
                let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
                ResourceContents::blob(uri, encoded)
            }
            Self::Parts(parts) => return parts,
        };
        contents.mime_type = mime_type.map(str::to_owned);
        vec![contents]
    }
}

impl From<String> for ResourceBody {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ResourceBody {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<u8>> for ResourceBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<ResourceContents>> for ResourceBody {
    fn from(parts: Vec<ResourceContents>) -> Self {
        Self::Parts(parts)
    }
}

type Reading = BoxFuture<'static, Result<Vec<ResourceContents>, ServeError>>;
type ReadOne = dyn Fn(String) -> Reading + Send + Sync;
type ReadMember = dyn Fn(String, BTreeMap<String, String>) -> Reading + Send + Sync;

/// A resource or a resource template to [add](crate::ToolServer::add_resource) to a server.
pub struct ServedResource(Kind);

enum Kind {
    One(Resource, Box<ReadOne>),
    Family(ResourceTemplate, UriTemplate, Box<ReadMember>),
}

impl ServedResource {
    /// The URI, or the URI template.
    pub(super) fn uri(&self) -> &str {
        match &self.0 {
            Kind::One(resource, _) => &resource.uri,
            Kind::Family(template, ..) => &template.uri_template,
        }
    }

    pub(super) fn resource(&self) -> Option<&Resource> {
        match &self.0 {
            Kind::One(resource, _) => Some(resource),
            Kind::Family(..) => None,
        }
    }

    pub(super) fn template(&self) -> Option<&ResourceTemplate> {
        match &self.0 {
            Kind::One(..) => None,
            Kind::Family(template, ..) => Some(template),
        }
    }

    /// Reads `uri`, if it is this resource or matches this template.
    pub(super) fn read(&self, uri: &str) -> Option<Reading> {
        match &self.0 {
            Kind::One(resource, read) => (resource.uri == uri).then(|| read(uri.to_owned())),
            Kind::Family(_, matcher, read) => {
                matcher.matches(uri).map(|variables| read(uri.to_owned(), variables))
            }
        }
    }
}

impl fmt::Debug for ServedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServedResource").field(&self.uri()).finish()
    }
}
