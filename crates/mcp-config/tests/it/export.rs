//! Export of one server to other dialects and to files.

use std::{fs, path::Path};

use mcp_config::{
    Dialect, Environment, ReadOptions, Remote, Scope, Sdk, ServerConfig, Stdio, Transport,
    diagnostic::Severity,
    dialect::{read_acp, read_server, to_acp},
    edit::{EditError, export},
    expand,
    expand::NoInputs,
    files::{Platform, file_to_change},
    known_files,
    model::{RuleAction, TrustRule},
    read,
};
use serde_json::json;

fn program() -> ServerConfig {
    let mut stdio = Stdio::new("npx");
    stdio.args = vec!["-y".into(), "server".into()];
    stdio.env.insert("KEY", "abc".into());
    ServerConfig::new("files".parse().unwrap(), Transport::Stdio(stdio))
}

fn endpoint() -> ServerConfig {
    let mut remote = Remote::new("https://example.com/mcp");
    remote.headers.insert("X-Key", "abc".into());
    ServerConfig::new("docs".parse().unwrap(), Transport::Http(remote))
}

#[test]
fn exported_server_is_read_back_in_every_dialect() {
    for dialect in Dialect::ALL {
        for server in [program(), endpoint()] {
            let exported = match export(&server, dialect) {
                Ok(exported) => exported,
                // Dialects that support only stdio.
                Err(EditError::Inexpressible(..)) => {
                    let local = [Dialect::ClaudeDesktop, Dialect::Attocode];
                    assert!(
                        local.contains(&dialect) && server.name.as_str() == "docs",
                        "{dialect}"
                    );
                    continue;
                }
                Err(error) => panic!("{dialect}: {error}"),
            };
            assert_eq!(exported.lost, [""; 0], "{dialect}");
            let mut options = ReadOptions::new("exported");
            options.dialect = Some(dialect);
            let document = read(exported.text.as_bytes(), &options);
            let back = document.get(server.name.as_str()).map(|entry| &entry.config);
            assert_eq!(back, Some(&server), "{dialect}: {}", exported.text);
        }
    }
}

#[test]
fn export_names_the_settings_it_leaves_out() {
    let mut server = endpoint();
    server.trust = true;
    server.tools.deny.push("delete_*".into());
    let lost = |dialect| export(&server, dialect).unwrap().lost;
    assert_eq!(lost(Dialect::McpJson), [""; 0]);
    assert_eq!(lost(Dialect::Cursor), ["tools", "trust"]);
    assert_eq!(lost(Dialect::Roo), ["trust"]);
    let own = ServerConfig::new("own".parse().unwrap(), Transport::Sdk(Sdk::default()));
    let refused = export(&own, Dialect::Cursor).unwrap_err();
    assert_eq!(refused, EditError::Inexpressible(Dialect::Cursor, vec!["this kind of server"]));
    assert!(!format!("{:?}", export(&server, Dialect::Cursor).unwrap()).contains("abc"));
}

#[test]
fn acp_servers_are_read_and_written() {
    let sent = json!([
        {"name": "files", "command": "npx", "args": ["-y", "${HOME}"],
            "env": [{"name": "KEY", "value": "a=$b"}]},
        {"type": "http", "name": "docs", "url": "https://example.com/mcp",
            "headers": [{"name": "X-Key", "value": "abc"}]},
        {"type": "sse", "name": "old", "url": "https://example.com/sse", "headers": []},
    ]);
    let document = read_acp(&sent);
    assert_eq!(document.diagnostics, []);
    let written: Vec<_> = document
        .entries
        .iter()
        .map(|entry| {
            let server = expand(&entry.config, &Environment::empty(), &NoInputs).unwrap();
            let (json, lost) = to_acp(&server).unwrap();
            assert_eq!(lost, [""; 0]);
            json
        })
        .collect();
    assert_eq!(serde_json::Value::Array(written), sent);

    let broken =
        read_acp(&json!([{"name": "x", "command": "y", "env": {"A": "b"}}, {"name": "z"}]));
    assert_eq!(broken.entries.len(), 0);
    let errors = broken.diagnostics.iter().filter(|d| d.severity == Severity::Error);
    assert_eq!(errors.count(), 2, "{:?}", broken.diagnostics);
}

#[test]
fn acp_server_has_expanded_values_and_no_host_settings() {
    let mut server = endpoint();
    if let Transport::Http(remote) = &mut server.transport {
        remote.headers.insert("X-Key", "${KEY}".into());
    }
    server.trust = true;
    let env = Environment::empty().with("KEY", "value");
    let (json, lost) = to_acp(&expand(&server, &env, &NoInputs).unwrap()).unwrap();
    assert_eq!(json["headers"], json!([{"name": "X-Key", "value": "value"}]));
    assert_eq!(lost, ["trust"]);
    let ws = ServerConfig::new("ws".parse().unwrap(), Transport::Ws(Remote::new("wss://e.test")));
    assert_eq!(to_acp(&expand(&ws, &env, &NoInputs).unwrap()), None);
}

#[cfg(feature = "toml")]
#[test]
fn codex_callback_url_is_the_redirect_uri() {
    let text = "[mcp_servers.docs]\nurl = \"https://example.com/mcp\"\n\n[mcp_servers.docs.oauth]\n\
                client_id = \"abc\"\ncallback_url = \"http://localhost:9/back\"\n";
    let document = read(text.as_bytes(), &ReadOptions::new("config.toml"));
    assert_eq!(document.diagnostics, []);
    let remote = document.get("docs").unwrap().config.transport.remote().unwrap().clone();
    assert_eq!(remote.oauth.unwrap().redirect_uri.unwrap().expose(), "http://localhost:9/back");
}

#[test]
fn existing_file_keeps_its_name_and_dialect_when_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut env = Environment::empty();
    env.home = Some(folder.path().to_owned());
    let project = Path::new("/code/app");
    let known = known_files(Platform::Linux, &env, project);
    let file = || file_to_change(&known, Dialect::OpenCode, Scope::User).unwrap();
    assert!(file().path.ends_with("opencode/opencode.json"));

    let path = folder.path().join(".config/opencode/opencode.jsonc");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (before, after) in [
        (
            "{\n  // mine\n  \"mcp\": {\n    \"servers\": {}\n  }\n}\n",
            "/mcp/servers/files/environment/KEY",
        ),
        ("{\"mcp\": {\"timeout\": {\"startup\": 9}}}", "/mcp/servers/files/environment/KEY"),
        ("{\"mcp\": {}}", "/mcp/files/environment/KEY"),
        ("{}", "/mcp/files/environment/KEY"),
    ] {
        fs::write(&path, before).unwrap();
        assert_eq!(file().path, path);
        file().config_file(project).add(&program()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("// mine"), before.contains("// mine"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&text.replace("// mine", "")).unwrap();
        assert_eq!(json.pointer(after), Some(&json!("abc")), "{text}");
    }
}

#[test]
fn single_entry_is_read_or_its_diagnostics_are_returned() {
    assert_eq!(read_server("files", r#"{"command":"npx"}"#).unwrap().name.as_str(), "files");
    for (json, message) in [
        (r#"{"foo":1}"#, "found neither a command nor a URL, expected `command` or `url`"),
        (r#"{"command":3}"#, "found a number for `command`, expected a string"),
        (
            r#"{"mcpServers":{"x":{"command":"y"}}}"#,
            "found an object of servers, expected the entry of one server (leave out the braces and the name around it)",
        ),
        (
            r#"{"x":{"command":"y"}}"#,
            "found an object of servers, expected the entry of one server (leave out the braces and the name around it)",
        ),
        (r#""npx""#, "found a string, expected an object"),
    ] {
        let found = read_server("x", json).unwrap_err();
        assert_eq!(found[0].message(), message);
    }
    let typo = read_server("x", r#"{"comand":"npx"}"#).unwrap_err();
    assert_eq!(typo[0].severity, Severity::Error);
    assert_eq!(typo[1].message(), "found the unknown field `comand` (did you mean `command`?)");
    assert!(read_server("x", "{").unwrap_err()[0].to_string().starts_with("the JSON:1:"));
}

#[test]
fn servers_and_rules_round_trip_through_serde() {
    let server = program().with_trust(true);
    let written = serde_json::to_value(&server).unwrap();
    assert_eq!(
        written,
        json!({"name": "files", "entry": {"type": "stdio", "command": "npx", "args": ["-y", "server"],
            "env": {"KEY": "abc"}, "trust": true}})
    );
    assert_eq!(serde_json::from_value::<ServerConfig>(written).unwrap(), server);
    let no_target = json!({"name": "x", "entry": {"foo": 1}});
    let error = serde_json::from_value::<ServerConfig>(no_target).unwrap_err().to_string();
    assert!(error.contains("neither a command nor a URL"), "{error}");

    let rule = TrustRule::new("mcp:files:*", RuleAction::Deny).with_pattern("*/etc/*");
    let written = serde_json::to_value(&rule).unwrap();
    assert_eq!(
        written,
        json!({"permission": "mcp:files:*", "pattern": "*/etc/*", "action": "deny"})
    );
    assert_eq!(serde_json::from_value::<TrustRule>(written).unwrap(), rule);
    for broken in [
        json!({"permission": "x", "action": "deny", "patern": "y"}),
        json!({"permission": "x", "action": "maybe"}),
        json!({"permission": 1, "action": "deny"}),
        json!({"action": "deny"}),
    ] {
        assert!(serde_json::from_value::<TrustRule>(broken).is_err());
    }
    for scope in Scope::ALL {
        let written = serde_json::to_value(scope).unwrap();
        assert_eq!(written, scope.as_str());
        assert_eq!(serde_json::from_value::<Scope>(written).unwrap(), scope);
    }
    let found = read_server("x", "{}").unwrap_err();
    assert_eq!(
        serde_json::to_value(&found[0]).unwrap(),
        json!({"place": {"file": "the JSON", "position": {"line": 1, "column": 1}, "pointer": ""},
            "severity": "error", "problem": "bad-transport", "server": "x",
            "found": "neither a command nor a URL", "expected": "`command` or `url`", "hint": null})
    );
}
