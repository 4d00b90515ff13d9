//! Local servers in sandboxes: published programs, with the launcher between.

use std::{fs, path::Path, sync::Arc};

use mcp_bridge::{
    Bridge, ServerConfig,
    connect::{DefaultConnector, SandboxOptions, Sandboxes},
    trust::{Decision, PolicyCall},
};
use mcp_config::Transport;
use mcp_sandbox::{Level, Measure, Profile};
use mcp_tests::soon;
use serde_json::{Value, json};

use super::live::{Kits, call, options, text};

/// Sandboxes with `tool-server` as the launcher: a test binary cannot be its own.
fn sandboxes(home: &Path, state: &Path, project: &Path) -> Sandboxes {
    let mut options = SandboxOptions::new(home, state);
    options.project = Some(project.to_path_buf());
    options.launcher = Some(env!("CARGO_BIN_EXE_tool-server").into());
    Sandboxes::new(options)
}

fn bridge(sandboxes: &Sandboxes) -> Bridge {
    let mut options = options();
    options.connector = Arc::new(DefaultConnector::new().sandboxes(sandboxes.clone()));
    // Untrusted servers ask before each call.
    options.policy = Arc::new(|_: &PolicyCall<'_>| Decision::AllowDestructive);
    Bridge::new(options)
}

fn untrusted(mut config: ServerConfig) -> ServerConfig {
    config.trust = false;
    config
}

#[tokio::test]
async fn untrusted_server_cannot_read_the_home_and_a_trusted_one_can() {
    let Some(kits) = Kits::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, project) = (root.join("home"), root.join("project"));
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::create_dir_all(&project).unwrap();
    fs::write(home.join(".ssh/id"), "canary").unwrap();
    fs::write(project.join("readme"), "from the project").unwrap();
    let sandboxes = sandboxes(&home, &root.join("state"), &project);
    let bridge = bridge(&sandboxes);
    bridge.add_server_as_written(kits.filesystem("trusted", Path::new("/")));
    bridge.add_server_as_written(untrusted(kits.filesystem("stranger", Path::new("/"))));
    let mut lifted = untrusted(kits.filesystem("lifted", Path::new("/")));
    let Transport::Stdio(stdio) = &mut lifted.transport else { panic!("a program") };
    stdio.sandbox = Some(Profile::new(Level::Off));
    bridge.add_server_as_written(lifted);
    soon("the start", bridge.start()).await;
    assert_eq!(bridge.explain_all(), []);

    let read = async |server: &str, path: &Path| {
        let tool = format!("mcp__{server}__read_text_file");
        text(&bridge, &tool, &json!({"path": path})).await
    };
    let key = home.join(".ssh/id");
    assert_eq!(read("trusted", &key).await, "canary");
    assert_eq!(read("lifted", &key).await, "canary");
    let refused = call(&bridge, "mcp__stranger__read_text_file", &json!({"path": key})).await;
    assert!(refused.is_error, "{refused}");
    assert!(!refused.text_content().contains("canary"), "{refused}");
    assert_eq!(read("stranger", &project.join("readme")).await, "from the project");

    assert!(sandboxes.last_start("trusted").is_none());
    assert!(sandboxes.last_start("lifted").is_none());
    let start = sandboxes.last_start("stranger").unwrap();
    assert_eq!(start.profile, Profile::new(Level::Standard));
    let report = start.report.expect("the launcher's report");
    assert!(report.applied.contains(&Measure::Files), "{report:?}");
    soon("the end", bridge.shutdown()).await;
}

#[tokio::test]
async fn published_servers_start_and_answer_under_the_standard_profile() {
    let Some(kits) = Kits::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap();
    let made = std::process::Command::new("git").args(["init", "-q"]).arg(&project).status();
    assert!(made.unwrap().success());
    // Programs are installed below the real home on many machines.
    let home = std::env::home_dir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let sandboxes = sandboxes(&home, state.path(), &project);
    let bridge = bridge(&sandboxes);
    for config in [
        kits.everything("everything"),
        kits.filesystem("files", &project),
        kits.memory("memory", &project),
        kits.time("time"),
        kits.git("git", &project),
    ] {
        bridge.add_server_as_written(untrusted(config));
    }
    soon("the start", bridge.start()).await;
    assert_eq!(bridge.explain_all(), []);
    let calls: [(&str, Value, &str); 6] = [
        ("mcp__everything__echo", json!({"message": "one"}), "Echo: one"),
        (
            "mcp__files__write_file",
            json!({"path": project.join("new.txt"), "content": "written"}),
            "Successfully wrote",
        ),
        ("mcp__memory__create_entities", json!({"entities": []}), "[]"),
        ("mcp__memory__read_graph", json!({}), "entities"),
        ("mcp__time__get_current_time", json!({"timezone": "Europe/Oslo"}), "Europe/Oslo"),
        ("mcp__git__git_status", json!({"repo_path": project}), "new.txt"),
    ];
    for (tool, arguments, answer) in calls {
        let said = text(&bridge, tool, &arguments).await;
        assert!(said.contains(answer), "{tool}: {said}");
    }
    assert_eq!(fs::read_to_string(project.join("new.txt")).unwrap(), "written");
    for server in ["everything", "files", "memory", "time", "git"] {
        let start = sandboxes.last_start(server).unwrap();
        assert!(start.report.unwrap().applied.contains(&Measure::Files), "{server}");
    }
    soon("the end", bridge.shutdown()).await;
}
