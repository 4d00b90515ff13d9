//! Custom tools, composed from other tools.

use std::path::Path;

use mcp_config::{
    Dialect, Document, Layers, ReadOptions, Resolution, Scope,
    approval::{Approval, Approvals},
    custom::{CustomTool, CustomVerdict},
    edit::{Edit, edit_text},
    policy::Exclusivity,
    read, resolve,
};
use serde_json::json;

fn file(path: &str, text: &str) -> Document {
    read(text.as_bytes(), &ReadOptions::new(path))
}

const ISSUES: &str = r#"{
  "mcpServers": {"github": {"url": "https://example.com/mcp"}},
  "customTools": {
    "my_issues": {
      "description": "The issues that are mine.",
      "parameters": {"type": "object", "properties": {"label": {"type": "string"}}},
      "readOnly": true,
      "steps": [
        {"tool": "github/list_issues", "fixed": {"assignee": "me"}, "rename": {"label": "labels"}},
        {"tool": "notes/summarise", "resultAs": "text"}
      ]
    }
  }
}"#;

#[test]
fn custom_tool_is_read_with_its_place() {
    let document = file(".mcp.json", ISSUES);
    assert_eq!(document.diagnostics, []);
    assert_eq!(document.entries.len(), 1);
    let entry = &document.custom_tools[0];
    assert_eq!(entry.place.to_string(), ".mcp.json:4:5");
    assert_eq!(entry.place.pointer, "/customTools/my_issues");
    let tool = &entry.tool;
    assert_eq!((tool.name.as_str(), tool.read_only), ("my_issues", true));
    assert_eq!(tool.parameters.as_ref().unwrap()["properties"]["label"]["type"], "string");
    assert_eq!(tool.steps[0].fixed["assignee"], json!("me"));
    assert_eq!(tool.steps[0].rename["label"], "labels");
    assert_eq!(tool.steps[1].result_as.as_deref(), Some("text"));
}

#[test]
fn file_with_only_custom_tools_is_read() {
    let text = r#"{"customTools": {"a": {"steps": [{"tool": "s/t"}]}}}"#;
    let document = file("tools.json", text);
    assert_eq!(document.dialect, Some(Dialect::McpJson));
    assert_eq!(document.custom_tools.len(), 1);
    let atto = r#"{"servers": {"s": {"command": "x"}}, "customTools": {"a": {"steps": [{"tool": "s/t"}]}}}"#;
    let document = file(".mcp.json", atto);
    assert_eq!((document.dialect, document.custom_tools.len()), (Some(Dialect::Attocode), 1));
}

#[test]
fn invalid_custom_tool_is_dropped_alone_with_its_position() {
    let text = r#"{"mcpServers": {}, "customTools": {
  "bad name": {"steps": [{"tool": "s/t"}]},
  "no_steps": {},
  "too_many": {"steps": [{"tool":"t"},{"tool":"t"},{"tool":"t"},{"tool":"t"},{"tool":"t"},{"tool":"t"},{"tool":"t"},{"tool":"t"},{"tool":"t"}]},
  "no_tool": {"steps": [{}]},
  "fixed": {"steps": [{"tool": "t", "fixed": []}]},
  "rename": {"steps": [{"tool": "t", "rename": {"a": 1}}]},
  "schema": {"parameters": "string", "steps": [{"tool": "t"}]},
  "typo": {"step": [], "steps": [{"tool": "t", "resultsAs": "x"}]},
  "good": {"steps": [{"tool": "t"}]}
}}"#;
    let document = file(".mcp.json", text);
    let kept: Vec<&str> = document.custom_tools.iter().map(|e| e.tool.name.as_str()).collect();
    assert_eq!(kept, ["typo", "good"]);
    let said: Vec<String> = document.diagnostics.iter().map(ToString::to_string).collect();
    for (line, words) in [
        ("2:3", "1 to 64 letters, digits, `_` and `-`"),
        ("3:15", "found no `steps`, expected an array of 1 to 8 steps"),
        ("4:25", "an array of 1 to 8 steps"),
        ("5:25", "an object with a `tool`"),
        ("6:46", "an object of arguments"),
        ("7:54", "another name"),
        ("8:28", "a JSON Schema of an object"),
        ("9:12", "did you mean `steps`?"),
        ("9:48", "did you mean `resultAs`?"),
    ] {
        let place = format!(".mcp.json:{line}:");
        let fits = |text: &&String| text.starts_with(&place) && text.contains(words);
        assert!(said.iter().any(|text| fits(&text)), "{line} {words}: {said:#?}");
    }
    let wrong = file(".mcp.json", r#"{"mcpServers": {}, "customTools": []}"#);
    assert!(wrong.diagnostics[0].to_string().contains("an object of tools, by name"));
}

#[test]
fn custom_tool_is_parsed_from_json_text() {
    let tool = CustomTool::parse(r#"{"name": "a", "steps": [{"tool": "s/t"}]}"#).unwrap();
    assert_eq!(tool.name, "a");
    for (bad, words) in [
        ("", "custom tool"),
        ("{", "custom tool:1:2"),
        ("{}", "letters, digits"),
        (r#"{"name":"a b","steps":[{"tool":"x"}]}"#, "letters, digits"),
        (r#"{"name":"a","steps":[]}"#, "1 to 8 steps"),
    ] {
        let error = CustomTool::parse(bad).unwrap_err().to_string();
        assert!(error.contains(words), "{bad}: {error}");
    }
}

fn named(steps: &str) -> String {
    format!(
        r#"{{"mcpServers": {{}}, "customTools": {{"a": {{"steps": [{{"tool": "{steps}"}}]}}}}}}"#
    )
}

fn verdicts(resolution: &Resolution) -> Vec<(Scope, &CustomVerdict)> {
    resolution.custom_tools.iter().map(|tool| (tool.scope, &tool.verdict)).collect()
}

#[test]
fn higher_scope_wins_and_repository_tools_need_approval() {
    let mut layers = Layers::new();
    layers.project = "/code/app".into();
    layers.push(Scope::Project, file(".mcp.json", &named("project/t")));
    layers.push(Scope::User, file("user.json", &named("user/t")));
    let resolution = resolve(&layers);
    let active: Vec<_> = resolution.active_tools().map(|t| t.steps[0].tool.as_str()).collect();
    assert_eq!(active, ["user/t"]);
    assert_eq!(
        verdicts(&resolution)[1],
        (Scope::Project, &CustomVerdict::Unapproved { changed: false })
    );
    // An unapproved tool shadows nothing; an approved one is subject to precedence.
    let tool = resolution.unapproved_tools().next().unwrap().entry.tool.clone();
    layers.approvals.decide_tool(Path::new("/code/app"), &tool, true);
    let resolution = resolve(&layers);
    assert!(
        matches!(verdicts(&resolution)[1].1, CustomVerdict::Shadowed(place) if &*place.file == "user.json")
    );
    layers.layers.retain(|layer| layer.scope == Scope::Project);
    assert_eq!(resolve(&layers).active_tools().count(), 1);
}

#[test]
fn approval_of_a_custom_tool_is_bound_to_its_content() {
    let project = Path::new("/code/app");
    let tool = |text: &str| CustomTool::parse(text).unwrap();
    let mut approvals = Approvals::new();
    let first = tool(r#"{"name":"a","steps":[{"tool":"s/t"}]}"#);
    approvals.decide_tool(project, &first, true);
    assert_eq!(approvals.of_tool(project, &first), Approval::Approved);
    for other in [
        r#"{"name":"a","steps":[{"tool":"s/other"}]}"#,
        r#"{"name":"a","description":"x","steps":[{"tool":"s/t"}]}"#,
        r#"{"name":"a","readOnly":true,"steps":[{"tool":"s/t"}]}"#,
        r#"{"name":"a","parameters":{},"steps":[{"tool":"s/t"}]}"#,
        r#"{"name":"a","steps":[{"tool":"s/t","fixed":{"x":1}}]}"#,
        r#"{"name":"a","steps":[{"tool":"s/t","rename":{"x":"y"}}]}"#,
        r#"{"name":"a","steps":[{"tool":"s/t","resultAs":"x"}]}"#,
        r#"{"name":"a","steps":[{"tool":"s/t"},{"tool":"s/t"}]}"#,
    ] {
        assert_eq!(approvals.of_tool(project, &tool(other)), Approval::Changed, "{other}");
    }
    approvals.decide_tool(project, &first, false);
    assert_eq!(approvals.of_tool(project, &first), Approval::Rejected);
}

#[test]
fn exclusive_enterprise_document_excludes_custom_tools() {
    let mut layers = Layers::new();
    layers.push(Scope::User, file("user.json", &named("user/t")));
    let policy = r#"{"mcpServers": {}, "policy": {"exclusive": "all"}}"#;
    layers.push(Scope::Enterprise, file("managed.json", policy));
    let resolution = resolve(&layers);
    assert_eq!(resolution.active_tools().count(), 0);
    assert_eq!(verdicts(&resolution)[0].1, &CustomVerdict::Withheld(Exclusivity::All));
}

#[test]
fn editing_a_server_preserves_custom_tools() {
    let options = ReadOptions::new(".mcp.json");
    let after = edit_text(ISSUES, &options, &Edit::Remove("github".into())).unwrap();
    let before = file(".mcp.json", ISSUES);
    let document = file(".mcp.json", &after);
    assert_eq!(document.entries.len(), 0);
    assert_eq!(document.custom_tools[0].tool, before.custom_tools[0].tool);
}
