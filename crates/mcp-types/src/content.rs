//! Content blocks of tool results, prompts and resources.

use std::{borrow::Cow, fmt, marker::PhantomData};

use mcp_jsonrpc::{ObjectWriter, RawJson};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::{
    open::{Extra, Key, Open, OpenVisitor, open},
    resource::{Resource, ResourceContents},
};

/// One block of content.
///
/// ```
/// use mcp_jsonrpc::RawJson;
/// use mcp_types::Content;
///
/// let raw = RawJson::parse(r#"{"text":"hi","type":"text"}"#)?;
/// assert_eq!(raw.decode::<Content>()?.as_text(), Some("hi"));
/// # Ok::<(), mcp_jsonrpc::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(MediaContent),
    /// Audio.
    Audio(MediaContent),
    /// A link to a resource.
    ResourceLink(Resource),
    /// An embedded resource.
    Resource(EmbeddedResource),
    /// A block of an unknown type, kept whole.
    Other(OtherContent),
}

open! {
    /// Text.
    pub struct TextContent {
        /// The text.
        required text: String = "text",
        /// The audience and priority.
        optional annotations: Option<RawJson> = "annotations",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// An image or audio.
    pub struct MediaContent {
        /// The bytes, in Base64.
        required data: String = "data",
        /// The media type of the bytes, such as `image/png`.
        lenient mime_type: String = "mimeType",
        /// The audience and priority.
        optional annotations: Option<RawJson> = "annotations",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// A resource embedded in a result.
    pub struct EmbeddedResource {
        /// The resource's contents.
        required resource: ResourceContents = "resource",
        /// The audience and priority.
        optional annotations: Option<RawJson> = "annotations",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }
}

/// A content block of an unknown type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OtherContent {
    /// The `type` member.
    pub kind: String,
    /// All other members.
    pub members: Extra,
}

impl Content {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(TextContent::of((text.into(),)))
    }

    /// An image: its bytes in Base64, and their media type.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Content::Image(MediaContent::new(data.into(), mime_type.into()))
    }

    /// Audio: its bytes in Base64, and their media type.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Content::Audio(MediaContent::new(data.into(), mime_type.into()))
    }

    /// An embedded resource.
    pub fn resource(resource: ResourceContents) -> Self {
        Content::Resource(EmbeddedResource::of((resource,)))
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(content) => Some(&content.text),
            _ => None,
        }
    }

    fn kind(&self) -> &str {
        match self {
            Content::Text(_) => "text",
            Content::Image(_) => "image",
            Content::Audio(_) => "audio",
            Content::ResourceLink(_) => "resource_link",
            Content::Resource(_) => "resource",
            Content::Other(other) => &other.kind,
        }
    }
}

impl MediaContent {
    fn new(data: String, mime_type: String) -> Self {
        Self { mime_type, ..Self::of((data,)) }
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind())?;
        match self {
            Content::Text(content) => content.write(&mut map)?,
            Content::Image(content) | Content::Audio(content) => content.write(&mut map)?,
            Content::ResourceLink(link) => link.write(&mut map)?,
            Content::Resource(content) => content.write(&mut map)?,
            Content::Other(other) => {
                for (key, value) in other.members.iter() {
                    map.serialize_entry(key, value)?;
                }
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a `type`")
    }

    /// Usually `type` comes first, and the other members are read directly into their fields. Members before `type` are
    /// buffered as raw JSON.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut early = Vec::new();
        let kind = loop {
            match map.next_key()? {
                Some(Key(key)) if key == "type" => break map.next_value::<Key<'de>>()?.0,
                Some(Key(key)) => early.push((key, map.next_value::<RawJson>()?)),
                None => return Err(de::Error::custom("`type` is missing")),
            }
        };
        Ok(match &*kind {
            "text" => Content::Text(rest(early, map)?),
            "image" => Content::Image(rest(early, map)?),
            "audio" => Content::Audio(rest(early, map)?),
            "resource_link" => Content::ResourceLink(rest(early, map)?),
            "resource" => Content::Resource(rest(early, map)?),
            // A type of a later revision is kept, so that a host can pass it on.
            _ => {
                let mut members = Extra::default();
                for (key, value) in early {
                    members.push(key, value);
                }
                while let Some(Key(key)) = map.next_key()? {
                    members.push(key, map.next_value()?);
                }
                Content::Other(OtherContent { kind: kind.into_owned(), members })
            }
        })
    }
}

/// Reads the remaining members of an object.
fn rest<'de, T: Open + DeserializeOwned, A: MapAccess<'de>>(
    early: Vec<(Cow<'de, str>, RawJson)>,
    mut map: A,
) -> Result<T, A::Error> {
    if !early.is_empty() {
        // Rare: rebuild the object and read it from the start.
        let mut object = ObjectWriter::new();
        for (name, value) in early {
            object.raw(&name, &value);
        }
        while let Some(Key(name)) = map.next_key()? {
            object.raw(&name, &map.next_value::<RawJson>()?);
        }
        return object.finish().decode().map_err(de::Error::custom);
    }
    OpenVisitor(PhantomData).visit_map(map)
}
