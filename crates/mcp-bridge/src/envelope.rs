//! From what a server returned to what a model is given.

mod same;

use std::{borrow::Cow, sync::Arc};

use mcp_client::{CallToolResult, Content, RawJson};

use self::same::Written;
use crate::{
    outcome::{Note, ToolOutcome},
    redact::redact,
    spill::Spill,
};

/// The longest link: its address, names and description together, in bytes.
const LONGEST_LINK: usize = 8 << 10;

/// How much of a result reaches the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OutputLimits {
    /// Characters of text in all; more is cut in its middle. Default 100,000.
    pub max_chars: usize,
    /// Parts that are no text: pictures, sounds, links. More are left out, and said to be. Default 1,000.
    pub max_parts: usize,
    /// Bytes of Base64 of one picture or sound; a larger one is left out whole. Default 16 MiB.
    pub max_media: usize,
    /// Where what was cut is kept. Default: nowhere.
    pub spill: Option<Arc<Spill>>,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { max_chars: 100_000, max_parts: 1_000, max_media: 16 << 20, spill: None }
    }
}

/// A server's result as an outcome, uncut.
pub(crate) fn outcome(result: CallToolResult) -> ToolOutcome {
    let CallToolResult { mut content, structured_content, is_error, .. } = result;
    if let Some(structured) = &structured_content {
        let written = Written::new(structured);
        let repeats =
            |block: &Content| block.as_text().is_some_and(|text| written.is_same_as(text));
        // The model reads `content` alone, so what is only in the structure has to be there too, once.
        if !structured.is_null() && !content.iter().any(repeats) {
            content.push(Content::text(structured.as_str()));
        }
    }
    ToolOutcome { content, structured: structured_content, is_error, failure: None, notes: vec![] }
}

/// Cuts what is too long, leaves out what nobody can show, and keeps keys out of errors.
pub(crate) async fn fit(outcome: &mut ToolOutcome, limits: &OutputLimits, label: &str) {
    if outcome.is_error {
        redact_errors(outcome);
    }
    for block in &mut outcome.content {
        if let Some(problem) = media_problem(block, limits).or_else(|| link_problem(block)) {
            *block = Content::text(problem);
        }
    }
    let extra = outcome.content.iter().filter(|block| is_no_text(block)).count();
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
            let stays = !is_no_text(block) || left > 0;
            left = left.saturating_sub(usize::from(is_no_text(block)));
            stays
        });
        outcome.content.push(Content::text(format!("… [{extra} more parts left out]")));
    }
    // Programs that want all of it have the file.
    if outcome.structured.as_ref().is_some_and(|raw| raw.as_bytes().len() > limits.max_chars) {
        outcome.structured = None;
    }
    outcome.notes.push(Note::Truncated { chars, kept_in });
}

fn redact_errors(outcome: &mut ToolOutcome) {
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

/// Whether a part is one that the limit on characters does not see.
fn is_no_text(block: &Content) -> bool {
    text_of(block).is_none_or(str::is_empty)
}

fn text_of_mut(block: &mut Content) -> Option<&mut String> {
    match block {
        Content::Text(content) => Some(&mut content.text),
        Content::Resource(embedded) => embedded.resource.text.as_mut(),
        _ => None,
    }
}

/// Why a picture or a sound cannot be passed on: a provider would refuse the whole conversation.
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
            "[{kind} {mime} left out: {} bytes of Base64, and {} are the limit]",
            data.len(),
            limits.max_media
        ));
    }
    (!is_base64(data)).then(|| format!("[{kind} {mime} left out: its data is not Base64]"))
}

/// Why a link cannot be passed on: what a model is shown of it would be longer than any name.
fn link_problem(block: &Content) -> Option<String> {
    let Content::ResourceLink(link) = block else { return None };
    let texts = [Some(&link.uri), Some(&link.name), link.title.as_ref(), link.description.as_ref()];
    let length: usize = texts.into_iter().flatten().map(String::len).sum();
    (length > LONGEST_LINK)
        .then(|| format!("[link left out: {length} bytes, and {LONGEST_LINK} are the limit]"))
}

/// Whether the text is Base64 with padding, as the protocol wants it.
fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let padding = data.len() - body.len();
    padding <= 2
        && data.len().is_multiple_of(4)
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

/// Leaves the beginning of the first texts and the end of the last, `max` characters of `total`. What says
/// so stands once, where the first is missing: said in every block it would be longer than many of them.
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

/// Where the character with this number begins, or the text ends.
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
            tracing::warn!(%error, "a long output could not be kept");
            None
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(json: &str) -> CallToolResult {
        RawJson::parse(json.to_owned()).unwrap().decode().unwrap()
    }

    #[test]
    fn structured_content_is_shown_once() {
        let twice = result(
            r#"{"content":[{"type":"text","text":"{\n \"a\": 1 }"}],"structuredContent":{"a":1}}"#,
        );
        assert_eq!(outcome(twice).content.len(), 1);
        let apart =
            result(r#"{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}"#);
        let apart = outcome(apart);
        assert_eq!(apart.text_content(), "one\n{\"a\":1}");
        assert_eq!(apart.structured.unwrap().as_str(), r#"{"a":1}"#);
        let only = result(r#"{"structuredContent":[1,2]}"#);
        assert_eq!(outcome(only).text_content(), "[1,2]");
    }

    #[tokio::test]
    async fn long_text_is_cut_in_its_middle_kept_whole_and_pictures_stay() {
        let folder = tempfile::tempdir().unwrap();
        let limits = OutputLimits {
            max_chars: 90,
            spill: Some(Arc::new(Spill::new(folder.path()))),
            ..OutputLimits::default()
        };
        let text = format!("begin{}end", "é".repeat(1_000));
        let mut outcome = ToolOutcome::text(&text);
        let image = r#"{"type":"image","data":"QUJD","mimeType":"image/png"}"#;
        outcome.content.push(RawJson::parse(image.to_owned()).unwrap().decode().unwrap());
        fit(&mut outcome, &limits, "mcp__s__t").await;
        let shown = outcome.text_content();
        assert!(shown.starts_with("begin") && shown.ends_with("end"), "{shown}");
        assert!(shown.contains("918 characters cut; the whole output is in "), "{shown}");
        let [Note::Truncated { chars: 1_008, kept_in: Some(path) }] = &outcome.notes[..] else {
            panic!("{:?}", outcome.notes)
        };
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        assert!(matches!(&outcome.content[1], Content::Image(image) if image.data == "QUJD"));
    }

    /// Found by fuzzing: each of the small blocks became a longer one that said so.
    #[tokio::test]
    async fn many_small_texts_are_cut_as_one_long_one_is() {
        let mut outcome = ToolOutcome::text("");
        outcome.content = ('a'..='z').cycle().take(5_000).map(Content::text).collect();
        let limits = OutputLimits { max_chars: 9, ..OutputLimits::default() };
        fit(&mut outcome, &limits, "x").await;
        let shown: Vec<&str> = outcome.content.iter().filter_map(text_of).collect();
        let mark = "\n… [4991 characters cut] …\n";
        assert_eq!(shown, ["a", "b", "c", "d", "e", "f", mark, "f", "g", "h"]);
    }

    #[tokio::test]
    async fn a_key_in_a_resource_of_an_error_is_taken_out_too() {
        let mut error = ToolOutcome::error("see below");
        let key = "Authorization: Bearer abcDEF0123456789xyz";
        let resource = mcp_client::ResourceContents::text("log://1", key);
        error.content.push(Content::resource(resource));
        fit(&mut error, &OutputLimits::default(), "x").await;
        assert_eq!(text_of(&error.content[1]), Some("Authorization: Bearer [redacted]"));
    }

    #[tokio::test]
    async fn a_hundred_thousand_blocks_are_cut_as_one() {
        let mut outcome = ToolOutcome::text("first");
        outcome.content.extend((0..100_000).map(|n| Content::text(format!("{n:05}"))));
        fit(&mut outcome, &OutputLimits { max_chars: 900, ..OutputLimits::default() }, "x").await;
        let shown = outcome.text_content();
        assert!(shown.starts_with("first\n00000\n") && shown.ends_with("\n99999"), "{shown}");
        // Between blocks there is a line break each.
        assert!(shown.chars().count() < 1_200, "{}", shown.chars().count());
    }

    #[tokio::test]
    async fn media_no_provider_would_take_is_left_out_and_said_so() {
        let limits = OutputLimits { max_media: 8, ..OutputLimits::default() };
        for (data, problem) in [
            ("not base64!!", "12 bytes of Base64, and 8 are the limit"),
            ("a?==", "its data is not Base64"),
            ("abc", "its data is not Base64"),
        ] {
            let block =
                format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png\u001b"}}"#);
            let mut outcome = ToolOutcome::text("");
            outcome.content = vec![RawJson::parse(block).unwrap().decode().unwrap()];
            fit(&mut outcome, &limits, "x").await;
            let shown = outcome.text_content();
            assert!(shown.contains(problem) && shown.contains("image/png "), "{shown}");
        }
    }

    #[tokio::test]
    async fn an_error_never_carries_a_key_and_a_result_may() {
        let text = "Authorization: Bearer abcDEF0123456789xyz";
        let mut error = ToolOutcome::error(text);
        fit(&mut error, &OutputLimits::default(), "x").await;
        assert_eq!(error.text_content(), "Authorization: Bearer [redacted]");
        assert_eq!(error.notes, [Note::Redacted]);
        let mut file = ToolOutcome::text(text);
        fit(&mut file, &OutputLimits::default(), "x").await;
        assert_eq!(file.text_content(), text);
    }

    #[tokio::test]
    async fn parts_and_links_are_bounded_and_what_is_left_out_is_said() {
        let links: Vec<String> = (0..2_000)
            .map(|n| format!(r#"{{"type":"resource_link","uri":"a:{n}","name":"{n}"}}"#))
            .collect();
        let all = format!(r#"{{"content":[{}]}}"#, links.join(","));
        let mut many = outcome(result(&all));
        fit(&mut many, &OutputLimits::default(), "t").await;
        assert_eq!(many.content.len(), 1_001);
        assert_eq!(many.content[1_000].as_text(), Some("… [1000 more parts left out]"));
        assert!(matches!(many.notes[..], [Note::Truncated { .. }]));
        let long = "x".repeat(LONGEST_LINK);
        let one = format!(
            r#"{{"content":[{{"type":"resource_link","uri":"a:b","name":"b","description":"{long}"}}]}}"#
        );
        let mut one = outcome(result(&one));
        fit(&mut one, &OutputLimits::default(), "t").await;
        assert!(one.content[0].as_text().is_some_and(|text| text.starts_with("[link left out")));
    }
}
