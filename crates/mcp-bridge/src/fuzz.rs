//! Targets for the fuzzer, which is in the `fuzz` folder of the workspace. Not part of the API.
//!
//! Each takes any bytes and panics if something does not hold that should.

use std::{
    borrow::Cow,
    pin::pin,
    task::{Context, Poll, Waker},
};

use mcp_client::{CallToolResult, Content, RawJson};
use serde_json::Value;

use crate::{
    check::{Check, Checked},
    envelope::{self, OutputLimits},
    hygiene::{clean, summary, visible},
    name::{NameScheme, Namer},
    outcome::Note,
    redact::redact,
    repair::repair,
    schema::{admit, provider_safe},
    tool::ToolSpec,
    trace::TraceParent,
};

/// Any schema: one that is admitted is an object's for every reader of JSON, and what a provider is
/// given refers to nothing elsewhere and stays as it is when it is made safe again.
pub fn schema(data: &[u8]) {
    let Ok(raw) = RawJson::parse(data.to_vec()) else { return };
    if let Ok(admitted) = admit(&raw) {
        if let Ok(value) = serde_json::from_str::<Value>(admitted.as_str()) {
            assert_eq!(value["type"], "object", "{}", admitted.as_str());
        }
        assert_eq!(admit(&admitted).as_ref(), Ok(&admitted));
    }
    let safe = provider_safe(&raw);
    let value: Value = serde_json::from_str(safe.as_str()).expect("JSON");
    assert!(value["type"] == "object" && value["properties"].is_object());
    is_local(&value);
    let again: Value = serde_json::from_str(provider_safe(&safe).as_str()).expect("JSON");
    assert_eq!(again, value);
}

fn is_local(value: &Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get("$ref") {
                assert!(target.starts_with('#'), "{target} is elsewhere");
            }
            members.values().for_each(is_local);
        }
        Value::Array(items) => items.iter().for_each(is_local),
        _ => {}
    }
}

/// A schema on the first line and arguments on the second: what is repaired needs no more repair,
/// passes where it passed before, and text that may be text is left alone.
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
    match check.arguments(&spec, &arguments) {
        Checked::Same => assert!(arguments.is_object()),
        Checked::Repaired(repaired, _) => {
            assert!(matches!(check.arguments(&spec, &repaired), Checked::Same), "{repaired:?}");
        }
        Checked::Invalid(problems) => {
            assert!((1..=8).contains(&problems.len()));
            assert!(problems.iter().all(|problem| visible(problem) == *problem), "{problems:?}");
        }
    }
}

/// Any result of a tool: what reaches the model is within its limit, cut at characters, with media
/// that a provider accepts, and errors without keys.
pub fn outcome(data: &[u8]) {
    let Some((&max, text)) = data.split_first() else { return };
    let Ok(raw) = RawJson::parse(text.to_vec()) else { return };
    let Ok(result) = raw.decode::<CallToolResult>() else { return };
    let (is_error, blocks) = (result.is_error, result.content.len());
    let mut outcome = envelope::outcome(result);
    assert!(outcome.content.len() <= blocks + 1);
    let limits =
        OutputLimits { max_chars: usize::from(max), max_media: 64, ..OutputLimits::default() };
    let waker = Waker::noop();
    // Without a place to keep things there is nothing to wait for.
    let fitted =
        pin!(envelope::fit(&mut outcome, &limits, "label")).poll(&mut Context::from_waker(waker));
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
    // What is cut in two may look like something else.
    assert!(!is_error || is_cut || texts.iter().all(|text| is_clean(text)), "a key is left");
    let chars: usize = texts.iter().map(|text| text.chars().count()).sum();
    // What stands for all that was cut is not part of the limit, but has one of its own.
    assert!(chars <= limits.max_chars + 100, "{chars} of {}", limits.max_chars);
}

/// Any text of a server, and any names: what people and models see is bounded, visible, without
/// keys, and the same when it is cleaned again.
pub fn text(data: &[u8]) {
    let Some((&cap, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let cap = usize::from(cap);
    let cleaned = clean(&text, cap).text;
    assert!(cleaned.chars().count() <= cap && summary(&text, cap).chars().count() <= cap);
    assert_eq!(visible(&cleaned), cleaned);
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
