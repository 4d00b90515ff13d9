//! Converts the results of servers into outcomes for a model.

mod files;
mod json_equality;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc};

use mcp_client::{CallToolResult, Content, RawJson};
use mcp_config::model::glob_matches;
use mcp_safe::secrets::redact;
use mcp_tool::{Note, ToolOutcome, ToolSpec};

pub use self::files::Spill;
use self::json_equality::Written;
use crate::{setters::setters, tools::name::name_matches};

/// The maximum size of a link: its URI, names and description together, in bytes.
const LONGEST_LINK: usize = 8 << 10;

/// Limits on the part of a result that reaches the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OutputLimits {
    /// The maximum number of characters of text in all; longer text is cut in the middle. Default 100,000.
    pub max_chars: usize,
    /// Limits for single tools: globs over names or permissions, and `max_chars` for each. The last match applies, and
    /// takes precedence over the limit of the server. Default: none.
    pub tools: Vec<(String, usize)>,
    /// The maximum number of parts that are not text: images, audio, links. Further parts are replaced by a note.
    /// Default 1,000.
    pub max_parts: usize,
    /// The maximum size of an image or audio, in bytes of Base64; a larger one is omitted. Default 16 MiB.
    pub max_media: usize,
    /// Whether structured content is kept when the text is cut. Default no: structured content longer than `max_chars`
    /// is removed. Required for a host that publishes a tool's output schema.
    pub keep_structured: bool,
    /// Where the full text of truncated results is kept. Default: nowhere.
    pub spill: Option<Arc<Spill>>,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            max_chars: 100_000,
            tools: Vec::new(),
            max_parts: 1_000,
            max_media: 16 << 20,
            keep_structured: false,
            spill: None,
        }
    }
}

setters! {
    OutputLimits {
        with_max_chars => max_chars(chars: usize) = chars;
        with_tools => tools(limits: Vec<(String, usize)>) = limits;
        with_max_parts => max_parts(parts: usize) = parts;
        with_max_media => max_media(bytes: usize) = bytes;
        with_keep_structured => keep_structured(keep: bool) = keep;
        with_spill => spill(spill: Spill) = Some(Arc::new(spill));
    }
}

impl OutputLimits {
    /// No limits: results reach the host as servers sent them. For users and programs without a context window. The
    /// limits of single servers and tools are ignored too.
    pub fn unlimited() -> Self {
        Self {
            max_chars: usize::MAX,
            tools: Vec::new(),
            max_parts: usize::MAX,
            max_media: usize::MAX,
            keep_structured: true,
            spill: None,
        }
    }

    pub(crate) fn is_unlimited(&self) -> bool {
        self.max_chars == usize::MAX
    }

    /// The limit set for this tool.
    pub(crate) fn of_tool(&self, spec: &ToolSpec) -> Option<usize> {
        let is_meant =
            |glob: &str| name_matches(glob, &spec.name) || glob_matches(glob, &spec.permission());
        self.tools.iter().rev().find(|(glob, _)| is_meant(glob)).map(|(_, most)| *most)
    }
}

/// Converts a server's result into an outcome without additions to its content, for a program that relies on structured
/// content.
pub(crate) fn verbatim(result: CallToolResult) -> ToolOutcome {
    let mut outcome = ToolOutcome::new(result.content);
    outcome.structured = result.structured_content;
    outcome.is_error = result.is_error;
    outcome.meta = result.meta;
    outcome
}

/// Converts a server's result into an outcome, uncut. A result without content is shown as its unknown members.
pub(crate) fn outcome(result: CallToolResult) -> ToolOutcome {
    let is_bare = result.content.is_empty() && result.structured_content.is_none();
    let bare = is_bare.then(|| members(&result)).flatten();
    let CallToolResult { mut content, structured_content, is_error, meta, .. } = result;
    if let Some(structured) = &structured_content {
        let written = Written::new(structured);
        let repeats =
            |block: &Content| block.as_text().is_some_and(|text| written.is_same_as(text));
        // The model reads only `content`, so structured content is added unless a text block already repeats it.
        if !structured.is_null() && !content.iter().any(repeats) {
            content.push(Content::text(structured.as_str()));
        }
    }
    if let Some(bare) = bare {
        content.push(Content::text(bare.as_str()));
    }
    let mut outcome = ToolOutcome::new(content);
    outcome.structured = structured_content;
    outcome.is_error = is_error;
    outcome.meta = meta;
    outcome
}

/// The members of a result that are not part of the protocol, as one object.
fn members(result: &CallToolResult) -> Option<RawJson> {
    let mut object = mcp_jsonrpc::ObjectWriter::new();
    for (name, value) in result.extra.iter() {
        object.raw(name, value);
    }
    result.extra.iter().next().is_some().then(|| object.finish())
}

/// Truncates long text, removes unusable media, and redacts keys in errors.
pub(crate) async fn fit(outcome: &mut ToolOutcome, limits: &OutputLimits, label: &str) {
    if outcome.is_error {
        redact_secrets(outcome);
    }
    if limits.is_unlimited() {
        return;
    }
    for block in &mut outcome.content {
        if let Some(problem) = media_problem(block, limits).or_else(|| link_problem(block)) {
            *block = Content::text(problem);
        }
    }
    let extra = outcome.content.iter().filter(|block| is_not_text(block)).count();
    let extra = extra.saturating_sub(limits.max_parts);
    let bytes: usize = outcome.content.iter().filter_map(text_of).map(str::len).sum();
    if extra == 0 && bytes <= limits.max_chars {
        return;
    }
    let chars: usize = outcome.content.iter().filter_map(text_of).map(|t| t.chars().count()).sum();
    if extra == 0 && chars <= limits.max_chars {
        return;
    }
    let is_long = chars > limits.max_chars;
    let kept_in = match &limits.spill {
        Some(spill) if is_long => keep(spill.clone(), label, &outcome.content).await,
        _ => None,
    };
    let place = match &kept_in {
        Some(path) => format!("; the whole output is in {}", path.display()),
        None => String::new(),
    };
    if is_long {
        cut(&mut outcome.content, limits.max_chars, chars, &place);
    }
    if extra > 0 {
        let mut left = limits.max_parts;
        outcome.content.retain(|block| {
            let stays = !is_not_text(block) || left > 0;
            left = left.saturating_sub(usize::from(is_not_text(block)));
            stays
        });
        outcome.content.push(Content::text(format!("… [{extra} more parts left out]")));
    }
    // Programs that need all of it can read the file.
    if !limits.keep_structured
        && outcome.structured.as_ref().is_some_and(|raw| raw.as_bytes().len() > limits.max_chars)
    {
        outcome.structured = None;
    }
    outcome.notes.push(Note::Truncated { chars, kept_in });
}

/// Redacts likely credentials in the text.
pub(crate) fn redact_secrets(outcome: &mut ToolOutcome) {
    for block in &mut outcome.content {
        if let Some(text) = text_of_mut(block)
            && let Cow::Owned(redacted) = redact(text)
        {
            *text = redacted;
            outcome.notes.push(Note::Redacted);
        }
    }
}

fn text_of(block: &Content) -> Option<&str> {
    match block {
        Content::Text(content) => Some(&content.text),
        Content::Resource(embedded) => embedded.resource.text.as_deref(),
        _ => None,
    }
}

/// Whether the limit on characters does not apply to a part.
fn is_not_text(block: &Content) -> bool {
    text_of(block).is_none_or(str::is_empty)
}

fn text_of_mut(block: &mut Content) -> Option<&mut String> {
    match block {
        Content::Text(content) => Some(&mut content.text),
        Content::Resource(embedded) => embedded.resource.text.as_mut(),
        _ => None,
    }
}

/// Why an image or audio cannot be passed on: a provider would reject the whole conversation.
fn media_problem(block: &Content, limits: &OutputLimits) -> Option<String> {
    let (kind, mime, data) = match block {
        Content::Image(media) => ("image", media.mime_type.as_str(), &media.data),
        Content::Audio(media) => ("audio", media.mime_type.as_str(), &media.data),
        Content::Resource(embedded) => match &embedded.resource.blob {
            Some(blob) => ("resource", "", blob),
            None => return None,
        },
        _ => return None,
    };
    let mime: String = mime
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "/+.-".contains(*c))
        .take(40)
        .collect();
    if data.len() > limits.max_media {
        return Some(format!(
            "[{kind} {mime} left out: {} bytes of Base64, the limit is {}]",
            data.len(),
            limits.max_media
        ));
    }
    (!is_base64(data)).then(|| format!("[{kind} {mime} left out: its data is not Base64]"))
}

/// Why a link cannot be passed on: its text exceeds the limit.
fn link_problem(block: &Content) -> Option<String> {
    let Content::ResourceLink(link) = block else { return None };
    let texts = [Some(&link.uri), Some(&link.name), link.title.as_ref(), link.description.as_ref()];
    let length: usize = texts.into_iter().flatten().map(String::len).sum();
    (length > LONGEST_LINK)
        .then(|| format!("[link left out: {length} bytes, the limit is {LONGEST_LINK}]"))
}

/// Whether the text is Base64 with padding, as the protocol requires.
fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let padding = data.len() - body.len();
    padding <= 2
        && data.len().is_multiple_of(4)
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

/// Keeps the beginning of the first texts and the end of the last, `max` characters of `total`. The marker is inserted
/// once, at the start of the gap: repeated in every block it would be longer than many of them.
fn cut(content: &mut Vec<Content>, max: usize, total: usize, place: &str) {
    let missing = max - max / 3..total - max / 3;
    let (mut from, mut is_marked) = (0, false);
    content.retain_mut(|block| {
        let Some(text) = text_of_mut(block) else { return true };
        let at = from;
        from += text.chars().count();
        if from <= missing.start || at >= missing.end {
            return true;
        }
        let head = &text[..nth_char(text, missing.start.saturating_sub(at))];
        let tail = &text[nth_char(text, missing.end - at)..];
        let is_first = !std::mem::replace(&mut is_marked, true);
        *text = if is_first {
            format!("{head}\n… [{} characters cut{place}] …\n{tail}", missing.len())
        } else {
            tail.to_owned()
        };
        !text.is_empty()
    });
}

/// The byte offset of the character with this number, or the end of the text.
fn nth_char(text: &str, number: usize) -> usize {
    text.char_indices().nth(number).map_or(text.len(), |(at, _)| at)
}

async fn keep(spill: Arc<Spill>, label: &str, content: &[Content]) -> Option<std::path::PathBuf> {
    let whole = content.iter().filter_map(text_of).collect::<Vec<_>>().join("\n");
    let label = label.to_owned();
    let extension = if RawJson::parse(whole.clone()).is_ok() { "json" } else { "txt" };
    let written = move || spill.write(&label, extension, whole.as_bytes());
    match tokio::task::spawn_blocking(written).await {
        Ok(Ok(path)) => Some(path),
        Ok(Err(error)) => {
            tracing::warn!(%error, "could not write a long output to a file");
            None
        }
        Err(_) => None,
    }
}
