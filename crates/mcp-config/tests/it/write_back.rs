//! Edits change only the bytes of the entry concerned.

use std::path::Path;

use mcp_config::{
    Dialect, ReadOptions, Remote, ServerConfig, Stdio, Transport,
    edit::{Edit, EditError, edit_text},
    read,
};

use crate::matrix::{FIXTURES, Fixture, open};

fn edit(fixture: &Fixture, text: &str, edit: &Edit) -> Result<String, EditError> {
    let mut options = ReadOptions::new(fixture.place);
    options.project = Some(Path::new("/code/app"));
    options.dialect = Some(fixture.dialect);
    edit_text(text, &options, edit)
}

fn added() -> ServerConfig {
    let mut stdio = Stdio::new("node");
    stdio.args = vec!["server.js".into(), "--port=1".into()];
    ServerConfig::new("added".parse().unwrap(), Transport::Stdio(stdio))
}

fn put(config: &ServerConfig) -> Edit {
    Edit::Put(Box::new(config.clone()))
}

/// The lengths of the common prefix and suffix of two texts.
fn common(before: &str, after: &str) -> (usize, usize) {
    let head = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before
        .bytes()
        .rev()
        .zip(after.bytes().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    (head, tail)
}

#[test]
fn putting_an_unchanged_server_changes_no_bytes() {
    for fixture in FIXTURES {
        for entry in open(fixture).entries {
            let same = edit(fixture, fixture.text, &put(&entry.config)).unwrap();
            assert_eq!(same, fixture.text, "{} {}", fixture.dialect, entry.config.name);
        }
    }
}

#[test]
fn added_server_reads_back_and_other_bytes_are_unchanged() {
    for fixture in FIXTURES {
        let text = edit(fixture, fixture.text, &put(&added())).unwrap();
        let (head, tail) = common(fixture.text, &text);
        assert_eq!(
            head + tail,
            fixture.text.len(),
            "{}: more than an insertion\n{text}",
            fixture.dialect
        );
        let mut options = ReadOptions::new(fixture.place);
        options.project = Some(Path::new("/code/app"));
        let document = read(text.as_bytes(), &options);
        let found = document.get("added").unwrap_or_else(|| panic!("{}\n{text}", fixture.dialect));
        assert_eq!(found.config, added(), "{}", fixture.dialect);
        assert_eq!(document.entries.len(), open(fixture).entries.len() + 1);
    }
}

#[test]
fn adding_and_removing_gives_the_same_bytes() {
    for fixture in FIXTURES {
        let text = edit(fixture, fixture.text, &put(&added())).unwrap();
        let back = edit(fixture, &text, &Edit::Remove("added".into())).unwrap();
        assert_eq!(back, fixture.text, "{}", fixture.dialect);
    }
}

#[test]
fn removing_a_server_leaves_the_others_unchanged() {
    for fixture in FIXTURES {
        let before = open(fixture);
        for entry in &before.entries {
            let name = entry.config.name.as_str();
            let text = edit(fixture, fixture.text, &Edit::Remove(name.into())).unwrap();
            let (head, tail) = common(fixture.text, &text);
            // Only a comma before or after it may be removed too.
            assert!(
                head + tail + 1 >= text.len(),
                "{}: more than a removal\n{text}",
                fixture.dialect
            );
            let mut options = ReadOptions::new(fixture.place);
            options.project = Some(Path::new("/code/app"));
            options.dialect = Some(fixture.dialect);
            let after = read(text.as_bytes(), &options);
            let rest: Vec<_> = before
                .entries
                .iter()
                .filter(|e| e.config.name.as_str() != name)
                .map(|e| &e.config)
                .collect();
            let kept: Vec<_> = after.entries.iter().map(|e| &e.config).collect();
            assert_eq!(kept, rest, "{} without {name}\n{text}", fixture.dialect);
        }
    }
}

#[test]
fn server_is_disabled_and_enabled_where_the_dialect_supports_it() {
    for fixture in FIXTURES {
        match edit(fixture, fixture.text, &Edit::Enable("time".into(), false)) {
            Ok(off) => {
                assert_ne!(off, fixture.text, "{}", fixture.dialect);
                let mut options = ReadOptions::new(fixture.place);
                options.project = Some(Path::new("/code/app"));
                let document = read(off.as_bytes(), &options);
                let by_field = document.get("time").is_some_and(|entry| !entry.config.enabled);
                let by_list = document.switched_off.iter().any(|named| named.name == "time");
                assert!(by_field || by_list, "{}\n{off}", fixture.dialect);
                let on = edit(fixture, &off, &Edit::Enable("time".into(), true)).unwrap();
                let document = read(on.as_bytes(), &options);
                assert!(!document.switched_off.iter().any(|named| named.name == "time"));
                assert!(document.get("time").is_none_or(|entry| entry.config.enabled), "{on}");
            }
            Err(error) => {
                let without = [
                    Dialect::Attocode,
                    Dialect::ClaudeDesktop,
                    Dialect::ClaudeManaged,
                    Dialect::ClaudeSettings,
                    Dialect::CopilotCli,
                    Dialect::Cursor,
                    Dialect::Junie,
                    Dialect::LmStudio,
                    Dialect::VsCode,
                    Dialect::Windsurf,
                ];
                assert!(without.contains(&fixture.dialect), "{}: {error}", fixture.dialect);
            }
        }
    }
}

#[test]
fn one_changed_setting_changes_one_value() {
    for fixture in FIXTURES {
        let Some(entry) = open(fixture).get("time").cloned() else { continue };
        let mut config = entry.config;
        let Transport::Stdio(stdio) = &mut config.transport else { unreachable!() };
        stdio.args[1] = "CET".into();
        let text = edit(fixture, fixture.text, &put(&config)).unwrap();
        let (head, tail) = common(fixture.text, &text);
        let (old, new) =
            (&fixture.text[head..fixture.text.len() - tail], &text[head..text.len() - tail]);
        assert!(
            new.contains("CE") && !new.contains("command"),
            "{}: {old:?} became {new:?}",
            fixture.dialect
        );
        let mut options = ReadOptions::new(fixture.place);
        options.project = Some(Path::new("/code/app"));
        assert_eq!(read(text.as_bytes(), &options).get("time").unwrap().config, config, "{text}");
    }
}

#[test]
fn comments_order_and_unknown_keys_are_preserved() {
    let text = r#"{
  // head
  "zebra": 1,
  "mcpServers": {
    "b": { "command": "b", "future": { "x": [1, 2] } }, // about b
    /* before a */
    "a": {
      "command": "a" // why
    } // about a
  },
  "apple": { "keep":   "odd   spacing" }
}
"#;
    let options = ReadOptions::new(".mcp.json");
    let mut b = read(text.as_bytes(), &options).get("b").unwrap().config.clone();
    let Transport::Stdio(stdio) = &mut b.transport else { unreachable!() };
    stdio.args.push("-v".into());
    let edited = edit_text(text, &options, &put(&b)).unwrap();
    assert_eq!(
        edited,
        text.replace(
            "\"b\", \"future\": { \"x\": [1, 2] } }",
            "\"b\", \"future\": { \"x\": [1, 2] }, \"args\": [\"-v\"] }"
        )
    );
    let edited = edit_text(text, &options, &put(&added())).unwrap();
    let expected = "    }, // about a\n    \"added\": {\n      \"type\": \"stdio\",\n      \"command\": \"node\",\n      \"args\": [\"server.js\", \"--port=1\"]\n    }\n  },\n";
    assert_eq!(edited, text.replace("    } // about a\n  },\n", expected));
    let edited = edit_text(text, &options, &Edit::Remove("b".into())).unwrap();
    assert_eq!(
        edited,
        text.replace(
            "    \"b\": { \"command\": \"b\", \"future\": { \"x\": [1, 2] } }, // about b\n",
            ""
        )
    );
}

#[test]
fn new_variable_preserves_other_variables_and_comments() {
    let text = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"one\"\n      ],\n      \"env\": {\n        \"Z\": \"${Z}\", // rotated\n        \"A\": \"1\"\n      }\n    }\n  }\n}\n";
    let options = ReadOptions::new(".mcp.json");
    let mut config = read(text.as_bytes(), &options).get("a").unwrap().config.clone();
    let Transport::Stdio(stdio) = &mut config.transport else { unreachable!() };
    stdio.env.insert("M", "2".into());
    let with = edit_text(text, &options, &put(&config)).unwrap();
    assert_eq!(with, text.replace("\"A\": \"1\"\n", "\"A\": \"1\",\n        \"M\": \"2\"\n"));
    let Transport::Stdio(stdio) = &mut config.transport else { unreachable!() };
    stdio.env =
        stdio.env.iter().filter(|(name, _)| *name == "Z").map(|(n, v)| (n, v.clone())).collect();
    stdio.args.push("two".into());
    let without = edit_text(text, &options, &put(&config)).unwrap();
    let expected = text.replace("\", // rotated\n        \"A\": \"1\"\n", "\" // rotated\n");
    assert_eq!(without, expected.replace("\"one\"\n", "\"one\",\n        \"two\"\n"));
}

#[cfg(feature = "yaml")]
#[test]
fn yaml_edit_preserves_spaces_and_comments() {
    let text = "other: \nextensions:\n  a:\n    type: stdio\n    enabled: true # on\n    name: a\n    cmd: x\n    args: [one] # flow\n    envs: \n      K: v # kept\n";
    let options = ReadOptions::new("config.yaml");
    let mut config = read(text.as_bytes(), &options).get("a").unwrap().config.clone();
    let Transport::Stdio(stdio) = &mut config.transport else { unreachable!() };
    stdio.args.push("two".into());
    stdio.env.insert("L", "w".into());
    let edited = edit_text(text, &options, &put(&config)).unwrap();
    let expected =
        text.replace("[one]", "[\"one\",\"two\"]").replace("# kept\n", "# kept\n      L: w\n");
    assert_eq!(edited, expected);
}

#[test]
fn line_ends_tabs_and_one_line_files_keep_their_style() {
    let options = ReadOptions::new(".mcp.json");
    let put = put(&ServerConfig::new("n".parse().unwrap(), Transport::Stdio(Stdio::new("x"))));
    for (before, after) in [
        (
            "{\r\n\t\"mcpServers\": {}\r\n}\r\n",
            "{\r\n\t\"mcpServers\": {\r\n\t\t\"n\": {\r\n\t\t\t\"type\": \"stdio\",\r\n\t\t\t\"command\": \"x\"\r\n\t\t}\r\n\t}\r\n}\r\n",
        ),
        (
            r#"{"mcpServers":{"a":{"command":"y"}}}"#,
            r#"{"mcpServers":{"a":{"command":"y"},"n":{"type":"stdio","command":"x"}}}"#,
        ),
        (
            "",
            "{\n  \"mcpServers\": {\n    \"n\": {\n      \"type\": \"stdio\",\n      \"command\": \"x\"\n    }\n  }\n}\n",
        ),
    ] {
        let mut options = options;
        options.dialect = Some(Dialect::McpJson);
        assert_eq!(edit_text(before, &options, &put).unwrap(), after);
    }
}

#[test]
fn unsupported_settings_are_refused_by_name() {
    let desktop =
        FIXTURES.iter().find(|fixture| fixture.dialect == Dialect::ClaudeDesktop).unwrap();
    let mut config = added();
    config.trust = true;
    config.timeouts.call = Some(std::time::Duration::from_secs(5));
    let error = edit(desktop, desktop.text, &put(&config)).unwrap_err();
    assert_eq!(error.to_string(), "a Claude Desktop file does not support timeouts, trust");
    let remote =
        ServerConfig::new("r".parse().unwrap(), Transport::Http(Remote::new("https://h/mcp")));
    let error = edit(desktop, desktop.text, &put(&remote)).unwrap_err();
    assert_eq!(
        error,
        EditError::Inexpressible(Dialect::ClaudeDesktop, vec!["this kind of server"])
    );
}

#[test]
fn local_section_is_edited_only_with_local_scope() {
    let claude = FIXTURES.iter().find(|fixture| fixture.dialect == Dialect::ClaudeCode).unwrap();
    // Without a scope, the entry is found in any section.
    let text = edit(claude, claude.text, &Edit::Remove("github".into())).unwrap();
    assert!(!text.contains("server-github") && text.contains("\"elsewhere\""));
    // New entries go to the user's section.
    let text = edit(claude, claude.text, &put(&added())).unwrap();
    assert!(text.find("\"added\"").unwrap() < text.find("\"projects\"").unwrap());
}

#[cfg(feature = "yaml")]
#[test]
fn edit_that_would_not_read_back_is_refused() {
    // Found by fuzzing: a lone carriage return ends a line in YAML, and so the mapping.
    let text =
        "extensions:\n  a:\n    type: stdio\n    cmd: x\n    env_keys:\n      - Y\rMODE: z\n";
    let error = edit_text(text, &ReadOptions::new("config.yaml"), &put(&added())).unwrap_err();
    assert!(matches!(error, EditError::Awkward(_)), "{error}");
}
