//! Tests of the output for models and programs.

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
    let apart = result(r#"{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}"#);
    let apart = outcome(apart);
    assert_eq!(apart.text_content(), "one\n{\"a\":1}");
    assert_eq!(apart.structured.unwrap().as_str(), r#"{"a":1}"#);
    let only = result(r#"{"structuredContent":[1,2]}"#);
    assert_eq!(outcome(only).text_content(), "[1,2]");
}

#[test]
fn a_result_without_content_is_shown_as_its_json() {
    assert_eq!(outcome(result(r#"{"foo":1}"#)).text_content(), r#"{"foo":1}"#);
    assert_eq!(outcome(result(r#"{"content":[]}"#)).content.len(), 0);
    let with_content = result(r#"{"content":[{"type":"text","text":"a"}],"foo":1}"#);
    assert_eq!(outcome(with_content).text_content(), "a");
}

#[test]
fn last_matching_tool_limit_applies() {
    let tools = vec![("mcp__srv__*".into(), 10), ("mcp:srv:log".into(), 5)];
    let limits = OutputLimits { tools, ..OutputLimits::default() };
    let of = |tool: &str| {
        let mut spec = ToolSpec::new(format!("mcp__srv__{tool}"), "");
        spec.origin = mcp_tool::Origin::Server { server: "srv".into(), tool: tool.into() };
        limits.of_tool(&spec)
    };
    assert_eq!((of("log"), of("read")), (Some(5), Some(10)));
    assert_eq!(limits.of_tool(&ToolSpec::new("own", "")), None);
}

#[tokio::test]
async fn long_text_is_cut_in_the_middle_and_saved_and_images_stay() {
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

/// Found by fuzzing: each small block was replaced by a longer truncation marker.
#[tokio::test]
async fn many_small_texts_are_cut_like_one_long_text() {
    let mut outcome = ToolOutcome::text("");
    outcome.content = ('a'..='z').cycle().take(5_000).map(Content::text).collect();
    let limits = OutputLimits { max_chars: 9, ..OutputLimits::default() };
    fit(&mut outcome, &limits, "x").await;
    let shown: Vec<&str> = outcome.content.iter().filter_map(text_of).collect();
    let mark = "\n… [4991 characters cut] …\n";
    assert_eq!(shown, ["a", "b", "c", "d", "e", "f", mark, "f", "g", "h"]);
}

#[tokio::test]
async fn key_in_an_embedded_resource_of_an_error_is_redacted() {
    let mut error = ToolOutcome::error("see below");
    let key = "Authorization: Bearer abcDEF0123456789xyz";
    let resource = mcp_client::types::ResourceContents::text("log://1", key);
    error.content.push(Content::resource(resource));
    fit(&mut error, &OutputLimits::default(), "x").await;
    assert_eq!(text_of(&error.content[1]), Some("Authorization: Bearer [redacted]"));
}

#[tokio::test]
async fn hundred_thousand_blocks_are_cut_like_one_text() {
    let mut outcome = ToolOutcome::text("first");
    outcome.content.extend((0..100_000).map(|n| Content::text(format!("{n:05}"))));
    fit(&mut outcome, &OutputLimits { max_chars: 900, ..OutputLimits::default() }, "x").await;
    let shown = outcome.text_content();
    assert!(shown.starts_with("first\n00000\n") && shown.ends_with("\n99999"), "{shown}");
    // Each pair of blocks is separated by a line break.
    assert!(shown.chars().count() < 1_200, "{}", shown.chars().count());
}

#[tokio::test]
async fn verbatim_outcome_keeps_long_structured_content_and_text_once() {
    let both = r#"{"content":[{"type":"text","text":"done"}],"structuredContent":{"a":[1,2]},"_meta":{"k":1}}"#;
    let mut given = verbatim(result(both));
    assert_eq!(given.text_content(), "done");
    assert_eq!(given.meta.as_ref().map(RawJson::as_str), Some(r#"{"k":1}"#));
    let limits = OutputLimits { max_chars: 2, keep_structured: true, ..OutputLimits::default() };
    fit(&mut given, &limits, "x").await;
    assert_eq!(given.structured.unwrap().as_str(), r#"{"a":[1,2]}"#);
    assert!(given.content[0].as_text().unwrap().contains("2 characters cut"));
    let mut shown = outcome(result(both));
    fit(&mut shown, &OutputLimits { keep_structured: false, ..limits }, "x").await;
    assert_eq!(shown.structured, None);
}

#[tokio::test]
async fn unusable_media_are_replaced_by_a_note() {
    let limits = OutputLimits { max_media: 8, ..OutputLimits::default() };
    for (data, problem) in [
        ("not base64!!", "12 bytes of Base64, the limit is 8"),
        ("a?==", "its data is not Base64"),
        ("abc", "its data is not Base64"),
    ] {
        let block = format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png\u001b"}}"#);
        let mut outcome = ToolOutcome::text("");
        outcome.content = vec![RawJson::parse(block).unwrap().decode().unwrap()];
        fit(&mut outcome, &limits, "x").await;
        let shown = outcome.text_content();
        assert!(shown.contains(problem) && shown.contains("image/png "), "{shown}");
    }
}

#[tokio::test]
async fn keys_are_redacted_in_errors_but_not_in_results() {
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
async fn number_of_parts_and_size_of_links_are_limited_with_a_note() {
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
