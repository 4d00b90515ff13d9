//! Secrets are not leaked, a repository starts nothing without approval, and files are private.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::support::{MCP, Machine, Ran};

/// The prefix of every secret in these tests, to search for leaks.
const CANARY: &str = "CANARY-9f86d081";
/// The prefix in Base64, at each of the three alignments.
const ENCODED: [&str; 3] = ["Q0FOQVJZL", "NBTkFSWS0", "DQU5BUlkt"];

fn secret(name: &str) -> String {
    format!("{CANARY}-{name}")
}

fn leaks(text: &str) -> bool {
    text.contains(CANARY) || ENCODED.iter().any(|mark| text.contains(mark))
}

/// Returns one server per transport, each with every secret it can have.
fn servers() -> String {
    let remote = |scheme: &str, user: &str| {
        json!({
            "url": format!("{scheme}://{user}127.0.0.1:1/mcp?key={}&v=${{CANARY_VAR}}", secret("query")),
            "headers": {
                "Authorization": format!("Bearer {}", secret("bearer")),
                "X-Key": format!("${{CANARY_VAR:-{}}}", secret("default")),
            },
        })
    };
    let user = format!("{}:{}@", secret("user"), secret("password"));
    let mut http = remote("http", &user);
    http["type"] = "http".into();
    http["oauth"] = json!({ "clientId": "us", "clientSecret": secret("client") });
    let mut sse = remote("http", &user);
    sse["type"] = "sse".into();
    let mut ws = remote("ws", "");
    ws["type"] = "ws".into();
    let env = json!({ "SERVICE_TOKEN": secret("env"), "OTHER": "${CANARY_VAR}" });
    json!({ "mcpServers": {
        "works": { "command": MCP, "args": ["demo", "--stdio"], "env": env, "trust": true },
        "http": http,
        "sse": sse,
        "ws": ws,
        "dies": { "command": "sh", "args": ["-c", "exit 3"], "env": env },
        "tells": {
            "command": "sh",
            "args": ["-c", "echo using $SERVICE_TOKEN and $OTHER >&2; echo $OTHER; exit 3"],
            "env": env,
        },
        "unset": { "command": "sh", "env": { "A": format!("${{NEVER_SET}}{}", secret("unset")) } },
    } })
    .to_string()
}

const SERVERS: [&str; 7] = ["works", "http", "sse", "ws", "dies", "tells", "unset"];

fn run(machine: &Machine, args: &[&str]) -> Ran {
    let mut command = machine.command(args);
    command.env("CANARY_VAR", secret("variable"));
    machine.finish(command, "")
}

/// Returns every file below the home directory, with its contents.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else if let Ok(bytes) = fs::read(entry.path()) {
            found.push((entry.path(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}

#[test]
fn no_command_shows_a_secret() {
    let machine = Machine::new();
    machine.write(".config/mcp/mcp.json", &servers());
    let mut commands: Vec<Vec<String>> = [
        "list --connect",
        "list --offline",
        "tools",
        "search weekday",
        "stats",
        "resources",
        "prompts",
        "validate",
        "doctor",
        "auth status",
        "import",
        "approve",
        "call works/weekday date=2020-01-01 -y",
        "call works/weekday date=x -y",
        "record works -o tape weekday date=2020-01-01 -y",
        "replay tape",
        "install claude --dry-run",
        "call http/x",
    ]
    .iter()
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .collect();
    for server in SERVERS {
        for command in ["explain", "logs", "tools", "login", "logout"] {
            commands.push(vec![command.into(), server.into()]);
        }
        commands.push(vec!["record".into(), server.into(), "-o".into(), format!("{server}.tape")]);
    }
    let mut said = String::new();
    for command in &commands {
        for more in [&["--timeout", "20"][..], &["--timeout", "20", "--json"]] {
            let args: Vec<&str> =
                command.iter().map(String::as_str).chain(more.iter().copied()).collect();
            let ran = run(&machine, &args);
            for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
                assert!(!leaks(text), "`mcp {}` on {stream}: {text}", args.join(" "));
            }
            said.push_str(&ran.stdout);
            said.push_str(&ran.stderr);
        }
    }
    // The commands printed something.
    for expected in ["Wednesday", "exit status 3", "127.0.0.1", "[redacted]", "using"] {
        assert!(said.contains(expected), "{expected} was not shown");
    }
    let config = machine.home().join(".config/mcp/mcp.json");
    let kept = files(machine.home());
    assert!(kept.iter().any(|(path, _)| path.ends_with("works.tape")), "nothing was recorded");
    for (path, text) in kept {
        assert!(path == config || !leaks(&text), "{}: {text}", path.display());
    }
}

#[test]
fn added_secrets_are_stored_and_not_printed() {
    let machine = Machine::new();
    let (header, variable) =
        (format!("X-Key: {}", secret("header")), format!("K={}", secret("env")));
    let url = format!("https://u:{}@127.0.0.1:1/?k={}", secret("password"), secret("query"));
    for args in [
        vec!["add", "-s", "user", "one", &url, "-H", &header],
        vec!["add", "-s", "user", "-e", &variable, "two", "--", "sh"],
        vec!["add", "-s", "user", "one", &url, "-H", &header],
        vec!["add", "-s", "user", "--dry-run", "-e", &variable, "three", "--", "sh"],
        vec!["disable", "one"],
        vec!["remove", "one"],
    ] {
        for json in [false, true] {
            let mut args = args.clone();
            args.extend(json.then_some("--json"));
            let ran = run(&machine, &args);
            assert!(!leaks(&ran.stdout) && !leaks(&ran.stderr), "{}{}", ran.stdout, ran.stderr);
        }
    }
    assert!(leaks(&machine.read(".config/mcp/mcp.json")), "nothing was stored");
}

#[test]
fn project_starts_nothing_before_approval() {
    let machine = Machine::new();
    let touch = |name: &str| format!("touch {name}");
    let project = json!({ "mcpServers": {
        "program": { "command": "sh", "args": ["-c", touch("by-program")] },
        "helper": {
            "type": "http", "url": "http://127.0.0.1:1/mcp",
            "headersHelper": format!("sh -c '{}'", touch("by-helper")),
        },
    } });
    machine.write("project/.mcp.json", &project.to_string());
    // The same for project files of other tools.
    machine.write("project/.cursor/mcp.json", &project.to_string());
    machine
        .write("project/.vscode/mcp.json", &project.to_string().replace("mcpServers", "servers"));
    for args in [
        "list --connect",
        "tools",
        "tools program",
        "search x",
        "stats",
        "validate",
        "doctor",
        "explain program",
        "explain helper",
        "logs program",
        "logs helper",
        "record program -o tape",
        "login helper",
        "call program/x",
        "import",
        "resources",
        "prompts",
    ] {
        let mut args: Vec<&str> = args.split(' ').collect();
        args.extend(["--timeout", "20", "-y"]);
        if args[0] == "import" {
            args.retain(|arg| *arg != "-y");
        }
        let ran = machine.run(&args);
        for name in ["by-program", "by-helper"] {
            let started = machine.project().join(name).exists();
            assert!(!started, "`mcp {}` started it: {}{}", args.join(" "), ran.stdout, ran.stderr);
        }
    }
    machine.run(["approve", "program", "-y"]);
    machine.run(["logs", "program", "--timeout", "20"]);
    assert!(machine.project().join("by-program").exists(), "an approved server is started");
    assert!(!machine.project().join("by-helper").exists());
}

#[cfg(unix)]
#[test]
fn files_are_private_with_any_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new();
    let script = format!(
        "umask 000 && '{MCP}' add -s user -e K=v demo -- '{MCP}' demo --stdio && \
         '{MCP}' add -s local other -- sh && '{MCP}' doctor; '{MCP}' tools && \
         '{MCP}' record demo -o \"$HOME/tape\" weekday date=2020-01-01 -y"
    );
    let mut command = std::process::Command::new("sh");
    machine.set_up(&mut command);
    command.args(["-c", &script]);
    let ran = machine.finish(command, "");
    assert!(ran.stdout.contains("Wednesday"), "{}{}", ran.stdout, ran.stderr);
    let mut left = vec![machine.home().to_owned()];
    let mut seen = Vec::new();
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let (path, mode) = (entry.path(), entry.metadata().unwrap().permissions().mode());
            let name = path.strip_prefix(machine.home()).unwrap().display().to_string();
            if entry.file_type().unwrap().is_dir() {
                left.push(path);
                let is_ours = name.contains("/mcp");
                assert!(!is_ours || mode & 0o777 == 0o700, "{name}: {mode:o}");
            } else {
                let is_empty = entry.metadata().unwrap().len() == 0;
                assert!(is_empty || mode & 0o777 == 0o600, "{name}: {mode:o}");
            }
            seen.push(name);
        }
    }
    for expected in [".config/mcp/mcp.json", ".cache/mcp/catalogue", ".local/state/mcp", "tape"] {
        assert!(seen.iter().any(|name| name == expected), "{expected} is not in {seen:?}");
    }
}

#[cfg(unix)]
#[test]
fn recording_is_private_and_does_not_follow_links() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::with_demo();
    let precious = machine.write("project/precious", "precious");
    std::os::unix::fs::symlink(&precious, machine.project().join("link")).unwrap();
    let ran = machine.run(["record", "demo", "-o", "link"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stderr.contains("symbolic link"), "{}", ran.stderr);
    assert_eq!(machine.read("project/precious"), "precious");
    // A file that others can read is replaced, not overwritten in place.
    fs::set_permissions(&precious, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(machine.run(["record", "demo", "-o", "precious"]).code, 0);
    let mode = fs::metadata(&precious).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Names, arguments, paths and stderr lines that move the cursor, hide text, or reverse it.
#[cfg(unix)]
#[test]
fn hidden_characters_are_removed_from_foreign_text() {
    let hostile = "a\u{1b}[2J\u{1b}]0;t\u{7}b\u{202e}c\u{2028}d\u{ad}e\u{61c}f\u{e0041}g\u{fe0f}h\u{3164}i\u{9b}j\r";
    let says = r#"printf '%s\n' "$1" >&2; printf '%s\n' "$1"; exit 3"#;
    let servers = json!({ "mcpServers": {
        hostile: { "command": "sh" },
        "says": { "command": "sh", "args": ["-c", says, "sh", hostile], "trust": true },
        "absent": { "command": hostile, "args": [hostile], "env": { hostile: hostile } },
        "odd": { "command": "sh", hostile: hostile, "timeout": hostile, "type": hostile },
        "remote": { "type": "http", "url": format!("http://127.0.0.1:1/{hostile}") },
    } });
    let machine = Machine::new();
    machine.write(".config/mcp/mcp.json", &servers.to_string());
    let mut shown = 0;
    for args in [
        &["list"][..],
        &["doctor"],
        &["explain", "says"],
        &["explain", "absent"],
        &["explain", "odd"],
        &["explain", hostile],
        &["logs", "says"],
        &["tools", hostile],
        &["call", hostile],
        &["search", hostile],
        &["add", hostile, hostile],
        &["remove", hostile],
    ] {
        let ran = machine.run(args);
        for text in [&ran.stdout, &ran.stderr] {
            shown += text.len();
            assert!(mcp_safe::text::is_visible(text), "{args:?}: {text:?}");
        }
    }
    assert!(shown > 1_000, "something was shown: {shown} bytes");
}
