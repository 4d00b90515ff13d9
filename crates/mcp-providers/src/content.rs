//! Content of tools, prompts and sampling, reduced to the forms that APIs support.

use std::borrow::Cow;

use mcp_safe::text;
use mcp_tool::ToolOutcome;
use mcp_types::{Content, Resource, ResourceContents};

/// One piece of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Media(Media),
}

/// Bytes that are not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Media {
    /// In Base64.
    pub(crate) data: String,
    /// In lower case and without parameters.
    pub(crate) mime_type: String,
    /// The URI of the resource, or empty.
    pub(crate) uri: String,
}

impl Media {
    /// The text that replaces media that an API does not support.
    pub(crate) fn placeholder(&self) -> String {
        let bytes = self.data.len() / 4 * 3;
        let kind = if self.mime_type.is_empty() { "unknown type" } else { &self.mime_type };
        let of = if self.uri.is_empty() { String::new() } else { format!(" of {}", self.uri) };
        format!("[{kind}{of}, about {bytes} bytes, cannot be shown here]")
    }

    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime_type, self.data)
    }

    /// A name for the file, from the last segment of the URI.
    pub(crate) fn file_name(&self) -> String {
        let last = self.uri.rsplit('/').next().unwrap_or_default();
        let name: String = last
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
            .take(64)
            .collect();
        if name.is_empty() { "file".to_owned() } else { name }
    }
}

/// The content of an outcome. Structured content is included as text only if there is no other content.
/// Never empty.
pub(crate) fn of_outcome(outcome: &ToolOutcome) -> Vec<Part> {
    let mut parts: Vec<Part> = outcome.content.iter().filter_map(of_content).collect();
    if parts.is_empty()
        && let Some(structured) = &outcome.structured
    {
        parts.push(Part::Text(structured.as_str().to_owned()));
    }
    if parts.is_empty() {
        parts.push(Part::Text("(no output)".to_owned()));
    }
    parts
}

/// One block of content; `None` for empty text, which APIs reject.
pub(crate) fn of_content(content: &Content) -> Option<Part> {
    let part = match content {
        Content::Text(content) => Part::Text(content.text.clone()),
        Content::Image(media) | Content::Audio(media) => {
            Part::Media(media_of(&media.data, &media.mime_type, ""))
        }
        Content::ResourceLink(link) => Part::Text(link_text(link)),
        Content::Resource(embedded) => of_resource(&embedded.resource),
        Content::Other(other) => {
            Part::Text(format!("[content of the unknown type {}]", text::one_line(&other.kind, 64)))
        }
        _ => Part::Text("[content of an unknown type]".to_owned()),
    };
    (part != Part::Text(String::new())).then_some(part)
}

/// The text for a block of content, where an API or a framework takes only text: links and resources with their URI, and
/// a placeholder with type and size for media.
///
/// ```
/// use mcp_providers::text_of;
/// use mcp_tool::Content;
///
/// assert_eq!(text_of(&Content::text("noon")), "noon");
/// assert_eq!(text_of(&Content::audio("UklGRg==", "audio/wav")), "[audio/wav, about 6 bytes, cannot be shown here]");
/// ```
pub fn text_of(content: &Content) -> String {
    match of_content(content) {
        Some(Part::Text(text)) => text,
        Some(Part::Media(media)) => media.placeholder(),
        None => String::new(),
    }
}

fn of_resource(resource: &ResourceContents) -> Part {
    let uri = text::one_line(&resource.uri, 1024);
    let mime_type = resource.mime_type.as_deref().unwrap_or_default();
    match (&resource.text, &resource.blob) {
        (Some(text), _) => Part::Text(format!("[resource {uri}]\n{text}")),
        (None, Some(blob)) => Part::Media(media_of(blob, mime_type, &uri)),
        (None, None) => Part::Text(format!("[resource {uri}, empty]")),
    }
}

fn media_of(data: &str, mime_type: &str, uri: &str) -> Media {
    let essence = text::one_line(mime_type.split(';').next().unwrap_or_default(), 100);
    Media { data: data.to_owned(), mime_type: essence.to_ascii_lowercase(), uri: uri.to_owned() }
}

fn link_text(link: &Resource) -> String {
    let name = Some(link.title.as_deref().unwrap_or(&link.name)).filter(|name| !name.is_empty());
    let facts = [
        Some(text::one_line(&link.uri, 1024)),
        name.map(|name| text::one_line(name, 200)),
        link.mime_type.as_deref().map(|mime_type| text::one_line(mime_type, 100)),
        link.size.map(|size| format!("{size} bytes").into()),
    ];
    let facts: Vec<Cow<'_, str>> = facts.into_iter().flatten().collect();
    let description = link.description.as_deref().map(|text| text::one_line(text, 500));
    let description = description.map(|text| format!(" {text}")).unwrap_or_default();
    format!("[resource link {}]{description}", facts.join(", "))
}

/// Splits parts into one text and the media that `takes` accepts. Other media become a placeholder.
pub(crate) fn split(parts: Vec<Part>, takes: impl Fn(&Media) -> bool) -> (String, Vec<Media>) {
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(text) => texts.push(text),
            Part::Media(one) if takes(&one) => media.push(one),
            Part::Media(one) => texts.push(one.placeholder()),
        }
    }
    (texts.join("\n"), media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_content_is_converted() {
        let mut link = Resource::new("file:///a.txt", "a");
        link.mime_type = Some("text/plain".into());
        let text = |content| match of_content(&content) {
            Some(Part::Text(text)) => text,
            other => format!("{other:?}"),
        };
        assert_eq!(
            text(Content::ResourceLink(link)),
            "[resource link file:///a.txt, a, text/plain]"
        );
        let note = ResourceContents::text("file:///b.txt", "hi");
        assert_eq!(text(Content::resource(note)), "[resource file:///b.txt]\nhi");
        assert_eq!(of_content(&Content::text("")), None);
        let pdf = ResourceContents::blob("file:///c.pdf", "AAAA").of_type("Application/PDF; v=1");
        let Some(Part::Media(pdf)) = of_content(&Content::resource(pdf)) else { panic!() };
        assert_eq!(
            (pdf.mime_type.as_str(), pdf.file_name().as_str()),
            ("application/pdf", "c.pdf")
        );
        assert_eq!(
            pdf.placeholder(),
            "[application/pdf of file:///c.pdf, about 3 bytes, cannot be shown here]"
        );
    }

    #[test]
    fn outcome_without_content_shows_structured_content_or_a_remark() {
        let mut outcome = ToolOutcome::new(Vec::new());
        assert_eq!(of_outcome(&outcome), [Part::Text("(no output)".into())]);
        outcome.structured = mcp_jsonrpc::RawJson::parse(r#"{"a":1}"#).ok();
        assert_eq!(of_outcome(&outcome), [Part::Text(r#"{"a":1}"#.into())]);
    }
}
