//! Invalid input: each kind drops only its own entry, with a precise message.

use mcp_config::{
    ConfigFile, Dialect, ReadOptions,
    diagnostic::{Problem, Severity},
    read,
};

/// Reads `text` as `.mcp.json`; returns the names of the servers and the diagnostics.
fn reading(text: &str) -> (Vec<String>, Vec<String>) {
    reading_as(text.as_bytes(), ".mcp.json", None)
}

fn reading_as(bytes: &[u8], file: &str, dialect: Option<Dialect>) -> (Vec<String>, Vec<String>) {
    let mut options = ReadOptions::new(file);
    options.dialect = dialect;
    let document = read(bytes, &options);
    let names = document.entries.iter().map(|entry| entry.config.name.to_string()).collect();
    (names, document.diagnostics.iter().map(ToString::to_string).collect())
}

/// Reads one entry beside a valid one, which must not be affected.
fn entry(json: &str) -> String {
    let text = format!("{{\"mcpServers\":{{\n\"bad\":{json},\n\"good\":{{\"command\":\"x\"}}}}}}");
    let (names, said) = reading(&text);
    assert_eq!(names.last().map(String::as_str), Some("good"), "{text}");
    assert_eq!(said.len(), 1, "{said:?}");
    let kept = if names.len() == 2 { " [kept]" } else { "" };
    said[0].clone() + kept
}

#[test]
fn invalid_entry_is_dropped_alone_with_a_precise_message() {
    for (json, message) in [
        ("3", ".mcp.json:2:7: error: server `bad`: found a number for `bad`, expected an object"),
        (
            "{}",
            ".mcp.json:2:1: error: server `bad`: found neither a command nor a URL, expected `command` or `url`",
        ),
        (
            r#"{"command":["x"]}"#,
            ".mcp.json:2:18: error: server `bad`: found an array for `command`, expected a string",
        ),
        (
            r#"{"command":""}"#,
            ".mcp.json:2:18: error: server `bad`: found an empty string for `command`, expected a program",
        ),
        (
            r#"{"command":"x","args":"y"}"#,
            ".mcp.json:2:29: error: server `bad`: found a string for `args`, expected an array of strings",
        ),
        (
            r#"{"command":"x","env":["A=1"]}"#,
            ".mcp.json:2:28: error: server `bad`: found an array for `env`, expected an object of strings",
        ),
        (
            r#"{"command":"x","url":"https://h/"}"#,
            ".mcp.json:2:1: error: server `bad`: found both a command and a URL, expected one of them",
        ),
        (
            r#"{"type":"http","command":"x"}"#,
            ".mcp.json:2:1: error: server `bad`: found a command that contradicts the `type`, expected a matching pair",
        ),
        (
            r#"{"type":"carrier-pigeon","url":"https://h/"}"#,
            ".mcp.json:2:15: error: server `bad`: found `carrier-pigeon` for `type`, expected `stdio`, `http`, `sse`, `ws`, `sdk` or `streamable-http`",
        ),
        (
            r#"{"url":"example.com/mcp"}"#,
            ".mcp.json:2:14: error: server `bad`: found text that is not a URL for `url`, expected a URL with http, https, ws, wss, unix or pipe",
        ),
        (
            r#"{"command":"x","args":["a\u0000b"]}"#,
            ".mcp.json:2:30: error: server `bad`: found a string with a NUL character for `args`, expected a string",
        ),
        (
            r#"{"url":"https://h/","headers":{"A B":"x"}}"#,
            ".mcp.json:2:37: error: server `bad`: found an invalid header name for `headers`, expected letters, digits and `-`",
        ),
        (
            r#"{"url":"https://h/","headers":{"A":"x\ny"}}"#,
            ".mcp.json:2:42: error: server `bad`: found a line break for `headers`, expected a header on one line",
        ),
        (
            r#"{"command":"x","timeout":-1}"#,
            ".mcp.json:2:32: error: server `bad`: found a number out of range for `timeout`, expected a number of milliseconds",
        ),
        (
            r#"{"command":"x","enabled":"no"}"#,
            ".mcp.json:2:32: error: server `bad`: found a string for `enabled`, expected true or false",
        ),
        // Accepted with a warning.
        (
            r#"{"command":"x","timeout":5}"#,
            ".mcp.json:2:32: warning: server `bad`: found less than a second for `timeout`, expected milliseconds, 1000 or more (ignored) [kept]",
        ),
        (
            r#"{"command":"x","haeders":{}}"#,
            ".mcp.json:2:22: warning: server `bad`: found the unknown field `haeders` (did you mean `headers`?) [kept]",
        ),
        (
            r#"{"command":"x","icon":"y"}"#,
            ".mcp.json:2:22: note: server `bad`: found the unknown field `icon` (kept as it is) [kept]",
        ),
        (
            r#"{"command":"x","serverUrl":"y"}"#,
            ".mcp.json:2:22: warning: server `bad`: found the unknown field `serverUrl` (that is the Windsurf name; use `url` here) [kept]",
        ),
        (
            r#"{"transport":"sse","url":"https://h/"}"#,
            ".mcp.json:2:20: warning: server `bad`: found `transport`, expected `type` (.mcp.json ignores it; use `type`) [kept]",
        ),
        (
            r#"{"command":"x","args":[8080]}"#,
            ".mcp.json:2:30: warning: server `bad`: found a number in `args`, expected a string (read as text) [kept]",
        ),
        (
            r#"{"command":"npx -y server"}"#,
            ".mcp.json:2:1: note: server `bad`: found a command with spaces and no `args`, expected the program alone (did you mean `npx` with `args`?) [kept]",
        ),
        (
            r#"{"command":"x","args":["a"],"args":["b"]}"#,
            ".mcp.json:2:22: warning: server `bad`: found `args` a first time, expected each key once (the last one counts) [kept]",
        ),
    ] {
        assert_eq!(entry(json), message);
    }
}

#[test]
fn syntax_error_names_the_character_and_the_expected_token() {
    for (text, message) in [
        (
            "{\n  \"mcpServers\": {\n    \"a\" {}\n  }\n}",
            ".mcp.json:3:9: error: found `{`, expected `:` after the key",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"x\"",
            ".mcp.json:1:37: error: found the end of the file, expected `,` or `}`",
        ),
        ("nope", ".mcp.json:1:1: error: found `n`, expected a value"),
        (
            "[]",
            ".mcp.json:1:1: error: found an array, expected `mcpServers`, `servers`, `mcp`, `context_servers`, `mcp_servers` or `extensions`",
        ),
        (
            "{\"a\": 1, \"b\": 2}",
            ".mcp.json:1:1: error: found the keys `a`, `b`, expected `mcpServers`, `servers`, `mcp`, `context_servers`, `mcp_servers` or `extensions`",
        ),
        (
            "{\"mcpServers\": 7}",
            ".mcp.json:1:1: error: found the keys `mcpServers`, expected `mcpServers`, `servers`, `mcp`, `context_servers`, `mcp_servers` or `extensions`",
        ),
    ] {
        assert_eq!(reading(text), (vec![], vec![message.to_owned()]), "{text}");
    }
}

#[cfg(all(feature = "toml", feature = "yaml"))]
#[test]
fn malformed_toml_and_yaml_report_the_position() {
    let (names, said) = reading_as(b"[mcp_servers.a]\ncommand = \n", "config.toml", None);
    assert!(
        names.is_empty()
            && said[0].starts_with("config.toml:2:11: error: found text that is not TOML"),
        "{said:?}"
    );
    let (names, said) = reading_as(b"extensions:\n  a: [\n", "config.yaml", None);
    assert!(
        names.is_empty()
            && said[0].starts_with("config.yaml:3:1: error: found text that is not YAML"),
        "{said:?}"
    );
    let (names, said) = reading_as(
        b"[mcp_servers.a]\ncommand = 1\n[mcp_servers.b]\ncommand = 'x'\n",
        "config.toml",
        None,
    );
    assert_eq!(names, ["b"]);
    assert_eq!(
        said,
        ["config.toml:2:11: error: server `a`: found a number for `command`, expected a string"]
    );
}

#[test]
fn invalid_utf8_is_refused_with_its_position() {
    let (names, said) = reading_as(b"{\n  \"a\": \"\xff\"}", ".mcp.json", None);
    assert!(names.is_empty());
    assert_eq!(said, [".mcp.json:2:9: error: found the byte 0xFF, expected UTF-8 text"]);
    let (_, said) = reading("{\"mcpServers\": \0}");
    assert_eq!(
        said,
        [".mcp.json:1:16: error: found the control character U+0000, expected a value"]
    );
    // A byte-order mark is skipped.
    let (names, said) = reading("\u{feff}{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}");
    assert_eq!((names.as_slice(), said.len()), (["a".to_owned()].as_slice(), 0));
}

#[test]
fn misleading_server_names_drop_only_their_entry() {
    for name in
        ["../../etc/passwd", "a\\\\b", "a\\u0007", "pay\u{202e}lap", " x", "", &"y".repeat(65)]
    {
        let text = format!(
            "{{\"mcpServers\":{{\"{name}\":{{\"command\":\"x\"}},\"good\":{{\"command\":\"x\"}}}}}}"
        );
        let (names, said) = reading(&text);
        assert_eq!(names, ["good"], "{name}");
        assert!(said[0].contains("expected 1 to 64 characters"), "{said:?}");
        assert!(!said[0].contains('\u{202e}') && !said[0].contains('\u{7}'));
    }
}

#[test]
fn size_and_depth_limits_are_named_in_the_message() {
    let mut options = ReadOptions::new(".mcp.json");
    options.max_bytes = 10;
    let document = read(b"{\"mcpServers\":{}}", &options);
    assert_eq!(
        document.diagnostics[0].to_string(),
        ".mcp.json: error: found 17 bytes, expected at most 10 bytes"
    );
    let (_, said) = reading(&("{\"mcpServers\":".to_owned() + &"[".repeat(100_000)));
    assert!(said[0].contains("found more than 128 levels of nesting"), "{said:?}");
}

#[test]
fn file_full_of_mistakes_is_read_in_bounded_time_and_memory() {
    let entries: Vec<String> = (0..50_000).map(|i| format!("\"s{i}\":{{\"args\":{i}}}")).collect();
    let text = format!("{{\"mcpServers\":{{{}}}}}", entries.join(","));
    let document = read(text.as_bytes(), &ReadOptions::new(".mcp.json"));
    assert_eq!((document.entries.len(), document.diagnostics.len()), (0, 1001));
    let more = document.diagnostics.last().unwrap();
    assert_eq!((more.problem, more.found.as_str()), (Problem::Omitted, "49000 more findings"));
    // A megabyte of unclosed variables.
    let text = format!(
        "{{\"mcpServers\":{{\"a\":{{\"command\":\"x\",\"args\":[\"{}\"]}}}}}}",
        "${".repeat(500_000)
    );
    let (names, _) = reading(&text);
    assert_eq!(names, ["a"]);
}

#[test]
fn error_is_reported_after_any_number_of_warnings() {
    let fields: Vec<String> = (0..3000).map(|i| format!("\"unheard-of-{i}\":1")).collect();
    let entry = format!("{{\"command\":\"x\",{}}}", fields.join(","));
    let text = format!("{{\"mcpServers\":{{\"a\":{entry},\"b\":{{\"command\":3}}}}}}");
    let document = read(text.as_bytes(), &ReadOptions::new(".mcp.json"));
    let errors = document.diagnostics.iter().filter(|d| d.severity == Severity::Error);
    assert_eq!(errors.map(|error| error.server.as_deref()).collect::<Vec<_>>(), [Some("b")]);
    assert_eq!(document.diagnostics.len(), 1002);
    assert_eq!(document.diagnostics[1001].found, "2000 more findings");
}

#[test]
fn an_environment_of_any_size_is_sorted_once() {
    // In reverse, the worst order for a sorted list.
    let members: Vec<String> = (0..200_000).rev().map(|n| format!("\"V{n:06}\":\"\"")).collect();
    let env = members.join(",");
    let text = format!(r#"{{"mcpServers":{{"a":{{"command":"x","env":{{{env}}}}}}}}}"#);
    let document = read(text.as_bytes(), &ReadOptions::new(".mcp.json"));
    let mcp_config::Transport::Stdio(stdio) = &document.get("a").unwrap().config.transport else {
        panic!("a program");
    };
    assert_eq!(stdio.env.len(), 200_000);
    assert!(stdio.env.iter().map(|(name, _)| name).is_sorted());
}

#[test]
fn comments_the_tool_rejects_are_accepted_with_a_warning() {
    let (names, said) =
        reading("{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"x\"},}\n}");
    assert_eq!(names, ["a"]);
    assert_eq!(
        said,
        [
            ".mcp.json:2:3: warning: found a comment, expected strict JSON (.mcp.json rejects files with one)",
            ".mcp.json:3:39: warning: found a trailing comma, expected strict JSON (.mcp.json rejects files with one)",
        ]
    );
    let (_, said) = reading_as(b"{\n // mine\n \"servers\": {},}", ".vscode/mcp.json", None);
    assert!(said.is_empty());
}

#[cfg(unix)]
#[test]
fn unreadable_paths_give_documents_with_a_diagnostic() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("folder.json")).unwrap();
    symlink(at("b.json"), at("a.json")).unwrap();
    symlink(at("a.json"), at("b.json")).unwrap();
    std::fs::write(at("large.json"), vec![b' '; 2000]).unwrap();
    std::fs::write(at("secret.json"), "{}").unwrap();
    std::fs::set_permissions(at("secret.json"), std::fs::Permissions::from_mode(0o0)).unwrap();
    let said = |name: &str| {
        let mut file = ConfigFile::new(at(name));
        file.max_bytes = 1000;
        let document = file.read();
        assert!(
            document
                .diagnostics
                .iter()
                .all(|d| d.severity == Severity::Error && d.problem == Problem::Unreadable)
        );
        document.diagnostics.first().map(|d| d.found.clone())
    };
    assert_eq!(said("folder.json").as_deref(), Some("a directory"));
    assert_eq!(said("a.json").as_deref(), Some("a symlink loop"));
    assert_eq!(said("large.json").as_deref(), Some("more than 1000 bytes"));
    assert_eq!(said("absent.json"), None);
    // Root can read every file, so there is no diagnostic.
    let readable = std::fs::read(at("secret.json")).is_ok();
    assert_eq!(said("secret.json").is_none(), readable);
}
