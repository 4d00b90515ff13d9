//! Formats content of results as text, and writes it to files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use mcp_bridge::tool::Content;
use mcp_client::types::ResourceContents;

use crate::{
    exit::{Exit, Problem},
    host::app::App,
    terminal::out::brief,
};

/// Formats a content part as text.
pub(super) fn in_words(content: &Content) -> String {
    let media = |kind: &str, mime: &str, data: &str| {
        format!("[{kind}, {}, {} bytes; -o FILE saves it]", brief(mime, 60), size(data))
    };
    match content {
        Content::Text(text) => text.text.clone(),
        Content::Image(image) => media("image", &image.mime_type, &image.data),
        Content::Audio(audio) => media("audio", &audio.mime_type, &audio.data),
        Content::ResourceLink(link) => format!("[resource {}]", brief(&link.uri, 2_000)),
        Content::Resource(embedded) => match &embedded.resource.text {
            Some(text) => text.clone(),
            None => format!("[resource {}]", brief(&embedded.resource.uri, 2_000)),
        },
        Content::Other(other) => format!("[{}]", brief(&other.kind, 60)),
        _ => "[unsupported content type]".into(),
    }
}

/// Returns the bytes of a content part that is not text.
pub(super) fn bytes(content: &Content) -> Option<Vec<u8>> {
    match content {
        Content::Image(media) | Content::Audio(media) => decode(&media.data),
        Content::Resource(embedded) => decode(embedded.resource.blob.as_deref()?),
        _ => None,
    }
}

/// Writes content parts to a file, or to files in a folder, named after the tool.
pub(super) fn save(app: &App, to: &Path, tool: &str, parts: &[Content]) -> Result<(), Problem> {
    let kind = |part: &Content| match part {
        Content::Image(media) | Content::Audio(media) => extension(&media.mime_type),
        Content::Resource(one) => one.resource.mime_type.as_deref().map_or("bin", extension),
        _ => "txt",
    };
    let files = parts.iter().map(|part| {
        let bytes = bytes(part).unwrap_or_else(|| (in_words(part) + "\n").into_bytes());
        (kind(part), bytes, self::bytes(part).is_some())
    });
    write(app, to, tool, files.collect())
}

/// Like [`save`], for the contents of a resource.
pub(super) fn save_read(app: &App, to: &Path, parts: &[ResourceContents]) -> Result<(), Problem> {
    let files = parts.iter().map(|part| {
        let kind = part.mime_type.as_deref().map_or("txt", extension);
        match (&part.text, part.blob.as_deref().and_then(decode)) {
            (None, Some(bytes)) => (kind, bytes, true),
            (text, _) => (kind, text.clone().unwrap_or_default().into_bytes(), false),
        }
    });
    write(app, to, "resource", files.collect())
}

/// Writes files, each given as its extension, its bytes, and whether it is media.
fn write(
    app: &App,
    to: &Path,
    name: &str,
    mut files: Vec<(&'static str, Vec<u8>, bool)>,
) -> Result<(), Problem> {
    let is_folder = to.is_dir() || to.as_os_str().to_string_lossy().ends_with('/');
    let failed = |path: &Path, error: io::Error| {
        Problem::new(Exit::Failed, format!("could not write {}: {error}", path.display()))
    };
    if !is_folder {
        // Text beside a single image describes it, so only the image is written.
        let media = files.iter().filter(|(.., is_media)| *is_media).count();
        match media {
            0 => {
                let all: Vec<u8> = files.drain(..).flat_map(|(_, bytes, _)| bytes).collect();
                files.push(("txt", all, false));
            }
            1 => files.retain(|(.., is_media)| *is_media),
            _ => {
                return Err(Problem::usage(format!("the result has {media} files"))
                    .hint("name a folder: -o FOLDER/"));
            }
        }
        let bytes = files.pop().map(|(_, bytes, _)| bytes).unwrap_or_default();
        fs::write(to, &bytes).map_err(|error| failed(to, error))?;
        app.out.remark(format!("wrote {} bytes to {}", bytes.len(), to.display()));
        return Ok(());
    }
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(60).collect();
    for (index, (kind, bytes, _)) in files.into_iter().enumerate() {
        let path: PathBuf = to.join(format!("{name}-{}.{kind}", index + 1));
        fs::write(&path, &bytes).map_err(|error| failed(&path, error))?;
        app.out.line(path.display().to_string())?;
    }
    Ok(())
}

/// Returns the usual file extension of a media type.
fn extension(mime: &str) -> &'static str {
    match mime.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "text/html" => "html",
        "text/markdown" => "md",
        mime if mime.starts_with("text/") => "txt",
        _ => "bin",
    }
}

/// Returns the number of bytes that Base64 text encodes.
pub(super) fn size(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// Decodes Base64 text in either alphabet. Returns `None` if it is not Base64.
pub(super) fn decode(base64: &str) -> Option<Vec<u8>> {
    let text: String = base64.split_ascii_whitespace().collect();
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let read = |alphabet| GeneralPurpose::new(alphabet, config).decode(&text).ok();
    read(&alphabet::STANDARD).or_else(|| read(&alphabet::URL_SAFE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_with_and_without_padding() {
        for (text, bytes) in
            [("", &b""[..]), ("aGk=", b"hi"), ("aGk", b"hi"), ("_-8=", b"\xff\xef")]
        {
            assert_eq!(decode(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(decode("a*b"), None);
    }
}
