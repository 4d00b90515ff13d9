//! What tools, prompts and resources are made of.

use std::{borrow::Cow, fmt};

use mcp_jsonrpc::{ObjectWriter, RawJson};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, MapAccess, Visitor},
    ser::SerializeMap,
};

use super::{
    Extra, Resource,
    open::{Key, Open, open},
};

/// One block of content.
///
/// ```
/// use mcp_client::Content;
/// use mcp_jsonrpc::RawJson;
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
    /// A picture.
    Image(MediaContent),
    /// A sound.
    Audio(MediaContent),
    /// A pointer to a resource that can be read.
    ResourceLink(Resource),
    /// A resource itself.
    Resource(EmbeddedResource),
    /// A kind that did not exist when this was written, kept whole.
    Other(OtherContent),
}

open! {
    /// Text.
    pub struct TextContent {
        /// The text itself.
        required text: String = "text",
        /// Who it is for, and how important it is.
        optional annotations: Option<RawJson> = "annotations",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// A picture or a sound.
    pub struct MediaContent {
        /// The bytes, in Base64.
        required data: String = "data",
        /// What the bytes are, such as `image/png`.
        lenient mime_type: String = "mimeType",
        /// Who it is for, and how important it is.
        optional annotations: Option<RawJson> = "annotations",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// A resource inside a result.
    pub struct EmbeddedResource {
        /// The resource's contents.
        required resource: ResourceContents = "resource",
        /// Who it is for, and how important it is.
        optional annotations: Option<RawJson> = "annotations",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The contents of a resource: text, or bytes in Base64.
    pub struct ResourceContents {
        /// Which resource, or which part of it.
        required uri: String = "uri",
        /// What it is.
        optional mime_type: Option<String> = "mimeType",
        /// Its text, if it is text.
        optional text: Option<String> = "text",
        /// Its bytes in Base64, if it is not.
        optional blob: Option<String> = "blob",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }
}

/// Content of a kind this version does not know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OtherContent {
    /// Its `type`.
    pub kind: String,
    /// All its other members.
    pub members: Extra,
}

impl Content {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(TextContent {
            text: text.into(),
            annotations: None,
            meta: None,
            extra: Extra::default(),
        })
    }

    /// A picture: its bytes in Base64, and what they are.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Content::Image(MediaContent::new(data.into(), mime_type.into()))
    }

    /// A sound: its bytes in Base64, and what they are.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Content::Audio(MediaContent::new(data.into(), mime_type.into()))
    }

    /// A resource itself.
    pub fn resource(resource: ResourceContents) -> Self {
        Content::Resource(EmbeddedResource {
            resource,
            annotations: None,
            meta: None,
            extra: Extra::default(),
        })
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
        Self { data, mime_type, annotations: None, meta: None, extra: Extra::default() }
    }
}

impl ResourceContents {
    /// A resource that is text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            text: Some(text.into()),
            blob: None,
            meta: None,
            extra: Extra::default(),
        }
    }

    /// A resource that is not: its bytes in Base64.
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self { text: None, blob: Some(blob.into()), ..Self::text(uri, "") }
    }

    /// The same, said to be of this type.
    #[must_use]
    pub fn of_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
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

    /// Nearly always `type` comes first and the rest is read straight into its fields. Members
    /// before it wait as raw text.
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

/// Reads the rest of an object of which some members have been read already.
fn rest<'de, T: Open + DeserializeOwned, A: MapAccess<'de>>(
    early: Vec<(Cow<'de, str>, RawJson)>,
    mut map: A,
) -> Result<T, A::Error> {
    if !early.is_empty() {
        // Rare enough to put the object together again and read it from its start.
        let mut object = ObjectWriter::new();
        for (name, value) in early {
            object.raw(&name, &value);
        }
        while let Some(Key(name)) = map.next_key()? {
            object.raw(&name, &map.next_value::<RawJson>()?);
        }
        return object.finish().decode().map_err(de::Error::custom);
    }
    let mut slots = T::Slots::default();
    while let Some(Key(key)) = map.next_key()? {
        T::member(&mut slots, key, &mut map)?;
    }
    T::finish(slots)
}
