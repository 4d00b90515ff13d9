//! Fuzz targets for the `fuzz` folder of the workspace. Not part of the API.
//!
//! Each target takes arbitrary bytes and panics if an invariant is violated.

use std::{
    borrow::Cow,
    pin::pin,
    task::{Context, Poll, Waker},
};

use mcp_client::{CallToolResult, Content, RawJson};
use mcp_safe::{secrets::redact, text::is_visible};
use mcp_tool::{Note, ToolSpec, TraceParent};
use serde_json::Value;

use crate::{
    output::{self, OutputLimits},
    sanitize::{clean, summary},
    tools::check::{Check, Checked},
    tools::name::{NameScheme, Namer},
    tools::repair::repair,
    tools::schema::admit,
};

/// Arbitrary schemas. An admitted schema has type `object` for every JSON parser, and admitting it again does not change
/// it. Schemas for model APIs are those of `mcp-providers`.
pub fn schema(data: &[u8]) {
    let Ok(raw) = RawJson::parse(data.to_vec()) else { return };
    if let Ok(admitted) = admit(&raw) {
        if let Ok(value) = serde_json::from_str::<Value>(admitted.as_str()) {
            assert_eq!(value["type"], "object", "{}", admitted.as_str());
        }
        assert_eq!(admit(&admitted).as_ref(), Ok(&admitted));
    }
}

/// A schema on the first line and arguments on the second. Repair is idempotent, valid arguments stay valid, and
/// strings stay unchanged where the schema allows a string.
pub fn arguments(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((schema, arguments)) = text.split_once('\n') else { return };
    let Ok(schema) = RawJson::parse(schema.to_owned()) else { return };
    let Ok(arguments) = RawJson::parse(arguments.to_owned()) else { return };
    if let (Ok(schema), Ok(mut value)) =
        (serde_json::from_str(schema.as_str()), serde_json::from_str(arguments.as_str()))
    {
        let changes = repair(&mut value, &schema);
        assert!(changes.len() <= 16);
        let repaired = value.clone();
        assert_eq!((repair(&mut value, &schema), &value), (Vec::new(), &repaired));
    }
    let Ok(schema) = admit(&schema) else { return };
    let mut spec = ToolSpec::new("tool", "");
    spec.input_schema = schema;
    let check = Check::new();
    // Large checks run on a blocking thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime");
    match runtime.block_on(check.arguments(&spec, &arguments)) {
        Ok(Checked { repaired: None, .. }) => assert!(arguments.is_object()),
        Ok(Checked { repaired: Some(repaired), .. }) => {
            let again = runtime.block_on(check.arguments(&spec, &repaired));
            assert!(again.is_ok_and(|again| again.repaired.is_none()), "{repaired:?}");
        }
        Err(problems) => {
            assert!((1..=8).contains(&problems.len()));
            assert!(problems.iter().all(|problem| is_visible(problem)), "{problems:?}");
        }
    }
}

/// Arbitrary tool results. The content for the model is within its limit and cut at character boundaries, its media are
/// acceptable to providers, and errors do not contain keys.
pub fn outcome(data: &[u8]) {
    let Some((&max, text)) = data.split_first() else { return };
    let Ok(raw) = RawJson::parse(text.to_vec()) else { return };
    let Ok(result) = raw.decode::<CallToolResult>() else { return };
    let (is_error, blocks) = (result.is_error, result.content.len());
    let mut outcome = output::outcome(result);
    assert!(outcome.content.len() <= blocks + 1);
    let limits =
        OutputLimits { max_chars: usize::from(max), max_media: 64, ..OutputLimits::default() };
    let waker = Waker::noop();
    // Without a spill directory `fit` never waits.
    let fitted =
        pin!(output::fit(&mut outcome, &limits, "label")).poll(&mut Context::from_waker(waker));
    assert_eq!(fitted, Poll::Ready(()));
    let is_cut = outcome.notes.iter().any(|note| matches!(note, Note::Truncated { .. }));
    let mut texts = Vec::new();
    for block in &outcome.content {
        match block {
            Content::Text(content) => texts.push(content.text.as_str()),
            Content::Resource(embedded) => texts.extend(embedded.resource.text.as_deref()),
            Content::Image(media) | Content::Audio(media) => assert!(media.data.len() <= 64),
            _ => {}
        }
    }
    let is_clean = |text: &str| matches!(redact(text), Cow::Borrowed(_));
    // Text that is cut in two may match a different pattern.
    assert!(!is_error || is_cut || texts.iter().all(|text| is_clean(text)), "a key is left");
    let chars: usize = texts.iter().map(|text| text.chars().count()).sum();
    // The truncation marker is not part of the limit, but has its own bound.
    assert!(chars <= limits.max_chars + 100, "{chars} of {}", limits.max_chars);
}

/// Arbitrary text and names of a server. The text shown to users and models is bounded, visible and without keys, and
/// cleaning it again does not change it.
pub fn text(data: &[u8]) {
    let Some((&cap, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let cap = usize::from(cap);
    let cleaned = clean(&text, cap).text;
    assert!(cleaned.chars().count() <= cap && summary(&text, cap).chars().count() <= cap);
    assert!(is_visible(&cleaned));
    assert!(!summary(&text, cap).contains('\n'));
    let redacted = redact(&text);
    assert_eq!(redact(&redacted), redacted, "a key is left");
    let mut namer =
        Namer::new([NameScheme::Double, NameScheme::Plain, NameScheme::Single][cap % 3]);
    let mut given = std::collections::HashMap::new();
    for pair in text.split('\n') {
        let (server, tool) = pair.split_once('\t').unwrap_or(("s", pair));
        let (name, _) = namer.name(server, tool);
        let is_safe = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        assert!((1..=64).contains(&name.len()) && name.bytes().all(is_safe), "{name}");
        let earlier = given.insert(name, (server, tool));
        assert!(earlier.is_none_or(|earlier| earlier == (server, tool)), "two tools of one name");
    }
    if let Ok(parent) = text.parse::<TraceParent>() {
        assert_eq!(parent.to_string().parse(), Ok(parent));
    }
}
