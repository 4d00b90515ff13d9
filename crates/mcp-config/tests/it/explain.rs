//! Snapshots of the explanations that users read.

use mcp_config::{Document, Layers, Scope, resolve};

use crate::resolution::{file, http, program};

fn machine() -> Layers {
    let mut layers = Layers::new();
    layers.project = "/code/app".into();
    let user = r#"{
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://me:pw@api.github.test/mcp?key=abc",
      "headers": { "Authorization": "Bearer literal-secret" }
    },
    "broken": { "command": 3 }
  }
}"#;
    layers.push(Scope::User, file("~/.claude.json", user));
    let project = r#"{
  "mcpServers": {
    "github": { "command": "npx", "args": ["-y", "server-github"], "env": { "TOKEN": "t0ken" } },
    "build": { "command": "make", "args": ["serve", "${PORT}"], "env": { "KEY": "k3y" } }
  }
}"#;
    layers.push(Scope::Project, file("/code/app/.mcp.json", project));
    layers.push(
        Scope::Dynamic,
        Document::from_servers("session", [http("github", "https://other.test/mcp")]),
    );
    layers.push(
        Scope::Cloud,
        Document::from_servers(
            "connectors",
            [http("gh", "https://API.github.test/mcp/?key=abc"), program("wiki", "w")],
        ),
    );
    layers
}

fn explain(layers: &Layers, name: &str) -> String {
    resolve(layers).explain(name).to_string()
}

#[test]
fn active_server_explains_its_source_and_shadowed_entries() {
    assert_eq!(
        explain(&machine(), "github"),
        "\
`github` is active
  runs  http https://api.github.test/mcp?…
  from  user scope, ~/.claude.json:3:5 (Claude Code, /mcpServers/github)
  not   project scope, /code/app/.mcp.json:3:5 (/mcpServers/github)
        it came with the project and waits for your approval
  not   dynamic scope, session (/mcpServers/github)
        same name; the user scope outranks the dynamic scope
  not   `gh`, cloud scope, connectors (/mcpServers/gh)
        same server as `github` (https://api.github.test/mcp?…); the user scope outranks the cloud scope
"
    );
}

#[test]
fn unapproved_server_explains_that_it_needs_approval() {
    assert_eq!(
        explain(&machine(), "build"),
        "\
`build` is not used: it came with the project and waits for your approval
  runs  make serve ${PORT}  (sets KEY)
  from  project scope, /code/app/.mcp.json:4:5 (/mcpServers/build)
"
    );
}

#[test]
fn duplicate_explains_which_server_it_duplicates() {
    assert_eq!(
        explain(&machine(), "gh"),
        "\
`gh` is not used: same server as `github` (https://api.github.test/mcp?…); the user scope outranks the cloud scope
  runs  http https://API.github.test/mcp/?…
  from  cloud scope, connectors (/mcpServers/gh)
"
    );
}

#[test]
fn invalid_entry_explains_its_diagnostics() {
    assert_eq!(
        explain(&machine(), "broken"),
        "\
`broken` is not used: its entry is invalid
  ~/.claude.json:8:28: error: server `broken`: found a number for `command`, expected a string
"
    );
}

#[test]
fn unknown_name_suggests_the_nearest_one() {
    assert_eq!(
        explain(&machine(), "gihtub"),
        "`gihtub` is not configured; did you mean `github`?\n"
    );
    assert_eq!(explain(&machine(), "zzz"), "`zzz` is not configured in any scope\n");
}

#[test]
fn server_removed_by_policy_explains_the_rule() {
    let mut layers = machine();
    let managed = r#"{ "deniedMcpServers": [{ "serverUrl": "https://*.github.test" }] }"#;
    layers.push(Scope::Enterprise, file("/etc/claude-code/managed-settings.json", managed));
    assert_eq!(
        explain(&layers, "wiki"),
        "\
`wiki` is not used: an enterprise document is present, which excludes cloud servers
  runs  w
  from  cloud scope, connectors (/mcpServers/wiki)
"
    );
    assert_eq!(
        explain(&layers, "github"),
        "\
`github` is active
  runs  http https://other.test/mcp
  from  dynamic scope, session (/mcpServers/github)
  not   project scope, /code/app/.mcp.json:3:5 (/mcpServers/github)
        it came with the project and waits for your approval
  not   user scope, ~/.claude.json:3:5 (Claude Code, /mcpServers/github)
        denied by URL `https://*.github.test`
"
    );
}

#[test]
fn no_text_from_a_file_reaches_the_terminal_unescaped() {
    let text = r#"{"mcpServers":{
        "a":{"command":"x\u001b[2J","args":["\u001b[2J"],"env":{"A\u001b[2J":"1"}},
        "b":{"command":"x","\u001b[2J":1,"tools":{"\u001b[2J":"1"},"args":["\u001b[2J",{}]},
        "c":{"url":"https://h/\u001b[2J","headers":{"\u001b[2J":"1"}},
        "d":{"command":"x","type":"\u001b[2J"}}}"#;
    let mut layers = Layers::new();
    layers.push(Scope::User, file("/code/\u{1b}[2J/.mcp.json", text));
    // Servers added by the host are not parsed, so their text is not rejected.
    let mut server = program("e", "x");
    if let mcp_config::Transport::Stdio(stdio) = &mut server.transport {
        stdio.env.insert("E\u{1b}[2J", "1".into());
    }
    layers.push(Scope::Dynamic, Document::from_servers("session\u{1b}[2J", [server]));
    let resolution = resolve(&layers);
    assert!(resolution.get("a").is_none(), "a variable's name has no control characters");
    for name in ["a", "b", "c", "d", "e", "\u{1b}[2J"] {
        let shown = resolution.explain(name).to_string();
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
    for diagnostic in &resolution.diagnostics {
        assert!(!diagnostic.to_string().contains('\u{1b}'), "{diagnostic:?}");
    }
}

#[test]
fn oauth_urls_and_headers_helper_are_explained_before_approval() {
    let text = r#"{"mcpServers": {"docs": {
  "url": "https://docs.test/mcp",
  "oauth": {
    "clientId": "us",
    "authorizationUrl": "https://elsewhere.test/login?key=s3cret",
    "tokenUrl": "https://elsewhere.test/token"
  }
}, "helped": {"url": "https://h.test/mcp", "headersHelper": "print-headers --token=s3cret"}}}"#;
    let mut layers = Layers::new();
    layers.push(Scope::Project, file("/code/app/.mcp.json", text));
    let resolution = resolve(&layers);
    let docs = resolution.explain("docs").to_string();
    assert!(docs.contains("(logs in at https://elsewhere.test/login?…)"), "{docs}");
    assert!(docs.contains("(gets tokens at https://elsewhere.test/token)"), "{docs}");
    let helped = resolution.explain("helped").to_string();
    assert!(helped.contains("(headers by `print-headers"), "{helped}");
    assert!(!docs.contains("s3cret") && !helped.contains("s3cret"), "{docs}{helped}");
}
