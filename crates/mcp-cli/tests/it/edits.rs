//! Commands that change configuration files, including those of other tools.

use insta::assert_snapshot;

use crate::support::{MCP, Machine};

#[test]
fn add_flags_of_claude_code_are_supported() {
    let machine = Machine::new();
    let add = |args: &[&str]| {
        let ran = machine.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        ran.stdout
    };
    assert_snapshot!(add(&["add", "-s", "user", "-e", "KEY=v", "files", "--", "npx", "-y", "server", "--root", "."]),
        @"added files to the user scope ([home]/.config/mcp/mcp.json)");
    add(&[
        "add",
        "-s",
        "user",
        "-t",
        "http",
        "docs",
        "https://example.com/mcp",
        "-H",
        "X-Key: ${KEY}",
    ]);
    add(&["add-json", "-s", "user", "old", r#"{"type":"sse","url":"https://example.com/sse"}"#]);
    assert_snapshot!(machine.read(".config/mcp/mcp.json"), @r#"
    {
      "mcpServers": {
        "files": {
          "type": "stdio",
          "command": "npx",
          "args": ["-y", "server", "--root", "."],
          "env": {
            "KEY": "v"
          }
        },
        "docs": {
          "type": "http",
          "url": "https://example.com/mcp",
          "headers": {
            "X-Key": "${KEY}"
          }
        },
        "old": {
          "type": "sse",
          "url": "https://example.com/sse"
        }
      }
    }
    "#);
    add(&["disable", "old"]);
    let listed = machine.run(["list", "--offline", "--json"]).json();
    let states: Vec<_> =
        listed["servers"].as_array().unwrap().iter().map(|s| s["state"].clone()).collect();
    assert_eq!(states, ["idle", "idle", "disabled"]);
    add(&["enable", "old"]);
    assert_snapshot!(add(&["remove", "old"]), @"removed old from the user scope ([home]/.config/mcp/mcp.json)");
    assert_eq!(machine.run(["remove", "old"]).code, 4);
}

#[test]
fn invalid_entries_are_refused_before_writing() {
    let machine = Machine::new();
    for args in [
        &["add", "", "--", "x"][..],
        &["add", "-H", "A: b", "x", "--", "program"],
        &["add", "-e", "A=b", "x", "https://example.com/mcp"],
        &["add", "-e", "nothing", "x", "--", "program"],
        &["add-json", "x", "{\"type\":\"http\"}"],
        &["add-json", "x", "{"],
    ] {
        assert_eq!(machine.run(args).code, 2, "{args:?}");
    }
    assert!(!machine.home().join(".config").exists());
    let dry = machine.run(["add", "--dry-run", "x", "--", "program"]);
    assert!(dry.stdout.starts_with("would add x"), "{}", dry.stdout);
    assert!(!machine.home().join(".config").exists());
}

#[test]
fn cause_is_named_when_json_is_not_a_server() {
    let machine = Machine::new();
    let said = |json: &str| machine.run(["add-json", "x", json]).stderr;
    assert_snapshot!(said(r#"{"foo":1}"#), @"error: not a valid server entry: found neither a command nor a URL, expected `command` or `url`");
    assert_snapshot!(said(r#"{"comand":"npx"}"#), @r"
    error: not a valid server entry: found neither a command nor a URL, expected `command` or `url`
    hint: found the unknown field `comand` (did you mean `command`?)
    ");
    assert_snapshot!(said(r#"{"mcpServers":{"x":{"command":"y"}}}"#), @"error: not a valid server entry: found an object of servers, expected the entry of one server (leave out the braces and the name around it)");
    assert!(said("{\n  x").contains("line 2, column 3: "), "{}", said("{\n  x"));
}

#[test]
fn existing_file_of_opencode_gets_the_entry_in_its_shape() {
    let machine = Machine::new();
    let path = ".config/opencode/opencode.jsonc";
    machine.write(path, "{\n  // mine\n  \"mcp\": { \"servers\": {} }\n}\n");
    assert_eq!(machine.run(["install", "--client", "opencode", "--yes"]).code, 0);
    let text = machine.read(path);
    assert!(text.contains("// mine"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&text.replace("// mine", "")).unwrap();
    assert_eq!(json["mcp"]["servers"]["gateway"]["type"], "local", "{text}");
    assert!(!machine.home().join(".config/opencode/opencode.json").exists());
}

#[test]
fn local_servers_of_claude_stay_with_their_project() {
    let machine = Machine::new();
    let project = machine.project().canonicalize().unwrap();
    let file = serde_json::json!({"mcpServers": {"everywhere": {"command": "one"}},
        "projects": {project.to_str().unwrap(): {"mcpServers": {"here": {"command": "two"}}}}});
    machine.write(".claude.json", &file.to_string());
    assert_eq!(machine.run(["import", "--yes"]).code, 0);
    let listed = machine.run(["list", "--offline", "--json"]).json();
    let scopes: Vec<(&str, &str)> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| (server["name"].as_str().unwrap(), server["scope"].as_str().unwrap()))
        .collect();
    assert_eq!(scopes, [("here", "local"), ("everywhere", "user")]);
}

#[test]
fn name_in_two_scopes_is_ambiguous() {
    let machine = Machine::new();
    machine.run(["add", "-s", "user", "x", "--", "one"]);
    machine.run(["add", "-s", "local", "x", "--", "two"]);
    let ran = machine.run(["remove", "x"]);
    assert_eq!(ran.code, 2);
    assert_snapshot!(ran.stderr, @r"
    error: x is in several scopes: local, user
    hint: choose one with -s
    ");
    assert_eq!(machine.run(["remove", "x", "-s", "local"]).code, 0);
    assert_eq!(machine.run(["remove", "x"]).code, 0);
}

#[test]
fn import_shows_servers_of_other_tools_before_it_adds_them() {
    let machine = Machine::new();
    let gateway = format!(r#""mcp": {{"command": "{MCP}", "args": ["serve"]}}"#);
    machine.write(
        ".cursor/mcp.json",
        &format!(r#"{{"mcpServers": {{"a": {{"command": "one"}}, {gateway}}}}}"#),
    );
    machine.write(".codex/config.toml", "[mcp_servers.b]\ncommand = \"two\"\n");
    let shown = machine.run(["import"]);
    assert_eq!(shown.code, 0, "a preview succeeds");
    assert!(shown.stdout.contains("+ a, from Cursor") && shown.stdout.contains("+ b, from Codex"));
    assert!(!shown.stdout.contains("+ mcp"), "a gateway must not start itself: {}", shown.stdout);
    assert!(!machine.home().join(".config/mcp/mcp.json").exists());
    let done = machine.run(["import", "--yes", "--json"]).json();
    assert_eq!((&done["new"], &done["imported"]), (&2.into(), &true.into()));
    let names = machine.run(["list", "--offline", "--json"]).json();
    assert_eq!(names["servers"].as_array().unwrap().len(), 2);
    assert_eq!(machine.run(["import"]).code, 0, "nothing is new");
}

#[test]
fn install_adds_one_entry_and_keeps_the_rest() {
    let machine = Machine::new();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"one\" }\n  }\n}\n";
    machine.write(".cursor/mcp.json", before);
    let dry = machine.run(["install", "--client", "cursor"]);
    assert_eq!(dry.code, 0);
    assert_snapshot!(dry.stdout, @r#"
    [home]/.cursor/mcp.json:
    +     "gateway": {
    +       "type": "stdio",
    +       "command": "[mcp]",
    +       "args": ["serve", "--names", "server"]
    +     }
    "#);
    assert_snapshot!(dry.stderr, @r"
    note: cursor will have no tools yet: no servers are configured: add one with `mcp add NAME -- COMMAND`, or run `mcp import`
    nothing was written; `--yes` writes it
    ");
    assert_eq!(machine.read(".cursor/mcp.json"), before);
    assert_eq!(machine.run(["install", "--client", "cursor", "--mode", "search", "--yes"]).code, 0);
    assert_snapshot!(machine.filtered(&machine.read(".cursor/mcp.json")), @r#"
    {
      // mine
      "mcpServers": {
        "a": { "command": "one" },
        "gateway": {
          "type": "stdio",
          "command": "[mcp]",
          "args": ["serve", "--mode", "search", "--names", "server"]
        }
      }
    }
    "#);
    assert_eq!(machine.run(["install", "--client", "cursor", "--remove", "--yes"]).code, 0);
    for client in [
        "claude",
        "claude-desktop",
        "vscode",
        "windsurf",
        "zed",
        "codex",
        "opencode",
        "gemini",
        "goose",
        "copilot",
        "cline",
        "roo",
        "kiro",
        "amp",
        "qwen",
        "lmstudio",
        "junie",
    ] {
        let ran = machine.run(["install", "--client", client, "--yes"]);
        assert_eq!(ran.code, 0, "{client}: {}", ran.stderr);
        let again = machine.run(["install", "--client", client]);
        assert!(again.stdout.contains("nothing to change"), "{client}: {}", again.stdout);
    }
}

#[test]
fn secrets_of_other_tools_are_not_shown() {
    let machine = Machine::new();
    let key = "ghp_aB3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7j";
    let before = format!(r#"{{"mcpServers":{{"a":{{"command":"x","env":{{"KEY":"{key}"}}}}}}}}"#);
    machine.write(".cursor/mcp.json", &before);
    for args in [&["install", "--client", "cursor"][..], &["import"]] {
        for json in [&[][..], &["--json"]] {
            let ran = machine.run(args.iter().chain(json));
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert!(!ran.stdout.contains(key), "{}", ran.stdout);
        }
    }
}

#[test]
fn existing_server_is_not_replaced_without_a_flag() {
    let machine = Machine::new();
    assert_eq!(machine.run(["add", "-s", "user", "x", "--", "one"]).code, 0);
    let same = machine.run(["add", "-s", "user", "x", "--", "one"]);
    assert_snapshot!(same.stdout, @"x already exists in the user scope ([home]/.config/mcp/mcp.json)");
    let other = machine.run(["add", "-s", "user", "x", "--", "two"]);
    assert_eq!(other.code, 3);
    assert_snapshot!(other.stderr, @r"
    error: x already exists with a different entry
    hint: `mcp explain x` shows it; --replace overwrites it
    ");
    let replaced = machine.run(["add", "-s", "user", "--replace", "x", "--", "two"]);
    assert_snapshot!(replaced.stdout, @"replaced x in the user scope ([home]/.config/mcp/mcp.json)");
    assert!(machine.read(".config/mcp/mcp.json").contains("\"two\""));
    assert_eq!(machine.run(["remove", "-s", "user", "y"]).code, 4);
}

#[test]
fn file_given_with_config_is_the_one_changed() {
    let machine = Machine::new();
    for name in ["a.json", "b.json"] {
        machine.write(&format!("project/{name}"), r#"{"mcpServers":{}}"#);
    }
    let added = machine.run(["--config", "a.json", "add", "x", "--", "one"]);
    assert_snapshot!(added.stdout, @"added x to a.json");
    assert!(machine.read("project/a.json").contains("\"one\""));
    let two = machine.run(["--config", "a.json", "--config", "b.json", "add", "y", "--", "one"]);
    assert_eq!(two.code, 2);
    let scope = machine.run(["--config", "a.json", "add", "-s", "user", "y", "--", "one"]);
    assert_eq!(scope.code, 2);
    assert!(!machine.home().join(".config/mcp").exists());
}

#[test]
fn disabling_and_enabling_a_project_server_keeps_its_approval() {
    let machine = Machine::new();
    assert_eq!(machine.run(["add", "-s", "project", "x", "--", "one"]).code, 0);
    let state =
        || machine.run(["list", "--offline", "--json"]).json()["servers"][0]["state"].clone();
    assert_eq!(state(), "idle");
    assert_eq!(machine.run(["disable", "x"]).code, 0);
    assert_eq!(state(), "disabled");
    assert_eq!(machine.run(["enable", "x"]).code, 0);
    assert_eq!(state(), "idle");
}

#[test]
fn oauth_client_is_added_with_flags() {
    let machine = Machine::new();
    let url = "https://example.com/mcp";
    let args = ["add", "-s", "user", "x", url, "--client-id", "id", "--client-secret"];
    let ran = machine.run(args.iter().chain(&["--callback-port", "8080"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_snapshot!(machine.read(".config/mcp/mcp.json"), @r#"
    {
      "mcpServers": {
        "x": {
          "type": "http",
          "url": "https://example.com/mcp",
          "oauth": {
            "callbackPort": 8080,
            "clientId": "id",
            "clientSecret": "${MCP_CLIENT_SECRET}"
          }
        }
      }
    }
    "#);
    assert_eq!(machine.run(["add", "y", "--client-id", "id", "--", "one"]).code, 2);
}

#[test]
fn ambiguous_flags_after_a_program_are_refused() {
    let machine = Machine::new();
    for args in [&["add", "x", "npx", "-y", "pkg"][..], &["add", "x", "npx", "pkg", "-s", "user"]] {
        let ran = machine.run(args);
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains("put `--` before the program"), "{}", ran.stderr);
    }
    let url = "https://example.com/mcp";
    assert_eq!(machine.run(["add", "-s", "user", "x", "--", "npx", "-y", "pkg"]).code, 0);
    assert!(machine.read(".config/mcp/mcp.json").contains(r#""-y""#));
    assert_eq!(
        machine.run(["add", "y", url, "-H", "A: b", "-s", "user"]).code,
        0,
        "flags after a URL are ours"
    );
    let ran = machine.run(["add", "z", "localhost:3000"]);
    assert!(ran.code == 2 && ran.stderr.contains("write http://localhost:3000"), "{}", ran.stderr);
    for (kind, address) in [("http", "example.com/mcp"), ("ws", "https://example.com")] {
        let ran = machine.run(["add", "-t", kind, "z", address]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("not a valid server URL"), "{}", ran.stderr);
    }
}

#[test]
fn add_reports_when_the_entry_is_not_used() {
    let machine = Machine::new();
    let add = |args: &[&str]| machine.run(["add"].iter().chain(args)).stderr;
    assert_eq!(add(&["-s", "user", "one", "https://example.com/mcp"]), "");
    // Two accounts at one URL in one file are intended.
    assert_eq!(add(&["-s", "user", "two", "https://example.com/mcp"]), "");
    assert_eq!(machine.run(["list", "--json"]).json()["servers"].as_array().unwrap().len(), 2);
    let same = add(&["-s", "local", "three", "https://example.com/mcp"]);
    assert_eq!(same, "", "the local scope outranks the user's");
    add(&["-s", "local", "four", "--", "x"]);
    let hidden = add(&["-s", "user", "four", "--", "y"]);
    assert!(hidden.contains("it is not used: `four` of the local scope"), "{hidden}");
}

#[test]
fn project_servers_are_shown_and_imported_into_the_local_scope() {
    let machine = Machine::new();
    machine.write(
        "project/.vscode/mcp.json",
        r#"{"servers": {"vsc": {"type": "stdio", "command": "node", "args": ["x.js"]}}}"#,
    );
    machine.write(".cursor/mcp.json", r#"{"mcpServers": {"cur": {"command": "cur-server"}}}"#);
    assert_eq!(machine.run(["import", "--yes"]).code, 0);
    let ran = machine.run(["import", "--project", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("args[0] \"x.js\""), "{}", ran.stdout);
    let listed = machine.run(["list", "--json"]).json();
    let scopes: Vec<(&str, &str)> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| (server["name"].as_str().unwrap(), server["scope"].as_str().unwrap()))
        .collect();
    assert_eq!(scopes, [("vsc", "local"), ("cur", "user")]);
}
