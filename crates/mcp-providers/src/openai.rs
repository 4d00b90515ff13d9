//! OpenAI's two APIs: [`chat`] completions and [`responses`].

pub mod chat;
pub mod responses;

use crate::{content::Media, name::Limits, schema::Dialect};

/// Names of 64 characters and descriptions of 1,024. Both APIs reject a request with more than 128 tools.
const LIMITS: Limits = Limits::new(64, Some(1024), Some(128));

fn dialect(is_strict: bool) -> Dialect {
    if is_strict { Dialect::OpenAiStrict } else { Dialect::OpenAi }
}

fn is_image(media: &Media) -> bool {
    matches!(media.mime_type.as_str(), "image/jpeg" | "image/png" | "image/gif" | "image/webp")
}

fn is_pdf(media: &Media) -> bool {
    media.mime_type == "application/pdf"
}

/// Neither API has a flag for failed calls, so the text contains it.
fn with_error(text: String, is_error: bool) -> String {
    if is_error { format!("Error: {text}") } else { text }
}
