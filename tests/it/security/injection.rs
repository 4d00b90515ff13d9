//! Names and arguments chosen by servers and models do not become paths, lines or commands.

use std::{fs, path::Path, sync::Arc, time::Duration};

use mcp_bridge::{Bridge, CallContext, RawJson, ServerConfig, output::Spill};
use mcp_config::{Remote, SecretText, ServerName, Stdio, Template, Transport};
use serde_json::{Value, json};

use crate::transport::http::{
    server::Server,
    speak::{modern, text},
};

/// Hostile names for tools and arguments.
const NAMES: &[&str] = &[
    "../../../../tmp/escaped",
    "..\\..\\escaped",
    "/etc/passwd",
    "C:\\Windows\\x",
    "a/b",
    "..",
    ".",
    "",
    " ",
    "a\0b",
    "a\nb: c",
    "a\r\nx-header: y",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "pay\u{202e}lap",
    "$(touch escaped)",
    "`touch escaped`",
    "; touch escaped #",
    "| touch escaped",
    "& calc.exe &",
    "%PATH%",
    "^&whoami",
    "\"quoted\" 'twice'",
    "--output=escaped",
    "-rf",
    "NUL",
    "CON.txt",
    "file:stream",
    "~/.ssh/id_rsa",
    "mcp__other__tool",
    "tool_search",
];

fn is_plain(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Every file below `folder`, relative to it.
fn below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            }
            found.push(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn tool_names_do_not_become_paths() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|exchange| async move {
        match &*exchange.word() {
            "tools/list" => {
                let tool = |name: &&str| {
                    json!({ "name": name, "inputSchema": { "type": "object" },
                            "annotations": { "readOnlyHint": true } })
                };
                let tools: Vec<Value> = NAMES.iter().map(tool).collect();
                exchange.result(json!({ "resultType": "complete", "tools": tools })).await
            }
            // Too long to be shown, so that it is written to a file.
            "tools/call" => {
                let called = exchange.params()["name"].to_string();
                exchange.result(text(&format!("{called} {}", "long ".repeat(500)))).await
            }
            _ => modern(exchange).await,
        }
    })
    .await;
    let mut options = crate::bridge::options();
    let home = folder.path().join("home");
    options.catalogue = Some(home.join("catalogue"));
    options.output.max_chars = 200;
    options.output.spill = Some(Arc::new(Spill::new(home.join("spill"))));
    let bridge = Bridge::new(options);
    // Hostile but valid server names.
    for name in ["..x", "$(id)", "a & b", "CON", "%PATH%", "x;y", "é"] {
        let transport = Transport::Http(Remote::new(&*server.url));
        let mut config = ServerConfig::new(name.parse().unwrap(), transport);
        config.trust = true;
        bridge.add_server_as_written(config);
    }
    mcp_tests::soon("the start", bridge.start()).await;
    let snapshot = bridge.snapshot();
    assert!(snapshot.tools().len() >= 7 * 20, "{} tools", snapshot.tools().len());
    for tool in snapshot.tools() {
        let name = &tool.spec().name;
        assert!(is_plain(name), "{name:?}");
        let arguments = RawJson::parse(r#"{"../k":"../v"}"#.to_owned()).unwrap();
        let called = snapshot.call(name, arguments, CallContext::default());
        let outcome = mcp_tests::soon(name, called).await;
        let text = outcome.text_content();
        assert!(!text.contains('\u{1b}') && !text.contains('\0'), "{text:?}");
    }
    mcp_tests::soon("the end", bridge.shutdown()).await;
    assert_eq!(below(folder.path())[0], "home", "nothing is beside it");
    let files = below(&home);
    assert!(files.iter().filter(|file| file.starts_with("spill/")).count() >= 60, "{files:?}");
    assert_eq!(files.iter().filter(|file| file.ends_with(".catalogue")).count(), 7, "{files:?}");
    for file in files {
        let is_ours = file.split('/').all(|part| {
            let stem = part.rsplit_once('.').map_or(part, |(stem, _)| stem);
            stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        });
        assert!(is_ours && file.matches('/').count() <= 1, "{file}");
    }
}

#[test]
fn server_names_do_not_become_paths_or_lines() {
    for name in NAMES {
        if let Ok(name) = name.parse::<ServerName>() {
            let name = name.as_str();
            assert!(!name.contains(['/', '\\', '\0', '\n', '\r', '\u{1b}']), "{name:?}");
            assert!(name != "." && name != "..", "{name:?}");
        }
    }
    for refused in ["../x", "a/b", "..", "a\0b", "a\nb", "\u{1b}[2J", "pay\u{202e}lap"] {
        assert!(refused.parse::<ServerName>().is_err(), "{refused:?}");
    }
}

/// Starts `sh` with a script that prints its arguments. Returns the error shown to a host.
#[cfg(unix)]
async fn started(args: &[&str], cwd: &Path) -> String {
    let mut program = Stdio::new("sh");
    let show = r#"for a in "$@"; do printf '[%s]\n' "$a" >&2; done; exit 3"#;
    program.args = ["-c", show, "sh"].iter().chain(args).map(|arg| literal(arg)).collect();
    program.cwd = Some(literal(&cwd.display().to_string()));
    explained(program).await
}

fn literal(text: &str) -> Template {
    Template::literal(text)
}

async fn explained(program: Stdio) -> String {
    let mut options = crate::bridge::options();
    options.backoff.delays = vec![Duration::from_secs(3600)];
    let bridge = Bridge::new(options);
    bridge
        .add_server_as_written(ServerConfig::new("s".parse().unwrap(), Transport::Stdio(program)));
    mcp_tests::soon("the start", bridge.start()).await;
    let explained = bridge.explain("s").unwrap().to_string();
    mcp_tests::soon("the end", bridge.shutdown()).await;
    explained
}

#[cfg(unix)]
#[tokio::test]
async fn program_arguments_are_not_interpreted_as_commands() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = [
        "$(touch escaped)",
        "`touch escaped`",
        "; touch escaped #",
        "| touch escaped",
        "&& touch escaped",
        "> escaped",
        "a b  c",
        "*",
        "%PATH%",
        "^&whoami",
        "\"'",
    ];
    for argument in hostile {
        let told = started(&["first", argument, "last"], folder.path()).await;
        for shown in ["[first]", &format!("[{argument}]"), "[last]"] {
            assert!(told.contains(shown), "{argument}: {told}");
        }
        assert!(below(folder.path()).is_empty(), "{argument}: {:?}", below(folder.path()));
    }
}

#[tokio::test]
async fn strings_with_nul_are_rejected_and_not_truncated() {
    let mut programs = Vec::new();
    let nul = "a\0b";
    programs.push(Stdio::new(literal(nul)));
    let mut program = Stdio::new("sh");
    program.args = vec![literal(nul)];
    programs.push(program);
    let mut program = Stdio::new("sh");
    program.cwd = Some(literal("/tmp\0/x"));
    programs.push(program);
    for (name, value) in [("A=B", "c"), ("", "c"), ("A\0B", "c"), ("A", "b\0c")] {
        let mut program = Stdio::new("sh");
        program.args = vec![literal("-c"), literal("exit 3")];
        program.env.insert(name, SecretText::literal(value));
        programs.push(program);
    }
    for program in programs {
        let shown = format!("{program:?}");
        let told = explained(program).await;
        assert!(!told.contains("exit status 3"), "it was started: {shown}: {told}");
        assert!(!told.contains('\0'), "{told:?}");
    }
}
