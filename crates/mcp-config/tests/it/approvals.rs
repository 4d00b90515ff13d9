//! Approvals on disk.

use std::{fs, path::Path};

use mcp_config::{
    Environment, Layers, ReadOptions, Scope, ServerConfig,
    approval::{Approval, ApprovalError, ApprovalStore, Disclosure},
    custom::CustomTool,
    read, resolve,
    resolve::Verdict,
};

use crate::resolution::program;

fn shown(config: &ServerConfig) -> Disclosure {
    Disclosure::of(config, &Environment::empty(), Path::new(""))
}

#[test]
fn decisions_apply_to_one_project_and_one_content() {
    let folder = tempfile::tempdir().unwrap();
    let (project, other) = (folder.path().join("app"), folder.path().join("other"));
    fs::create_dir(&project).unwrap();
    let store = ApprovalStore::new(folder.path().join("user/approvals.json"));
    let (a, b) = (shown(&program("a", "x")), shown(&program("b", "y")));
    assert_eq!(store.load(&project).unwrap().of(&project, &a), Approval::Unknown);
    store.update(&project, |approvals| approvals.approve(&project, &a)).unwrap();
    store.update(&project, |approvals| approvals.reject(&project, &b)).unwrap();
    let approvals = store.load(&project).unwrap();
    assert_eq!(approvals.of(&project, &a), Approval::Approved);
    assert_eq!(approvals.of(&project, &shown(&program("a", "changed"))), Approval::Changed);
    assert_eq!(approvals.of(&project, &b), Approval::Rejected);
    assert_eq!(approvals.of(&other, &a), Approval::Unknown);
}

#[test]
fn approvals_are_withdrawn_by_name_and_for_the_whole_project() {
    let (project, other) = (Path::new("/code/app"), Path::new("/code/other"));
    let (a, b) = (shown(&program("a", "x")), shown(&program("b", "y")));
    let mut approvals = mcp_config::approval::Approvals::new();
    for project in [project, other] {
        approvals.approve(project, &a);
        approvals.approve(project, &b);
    }
    approvals.reject(project, &a);
    assert_eq!(approvals.of(project, &a), Approval::Rejected);
    assert!(approvals.forget(project, "a"));
    assert!(!approvals.forget(project, "a"));
    assert_eq!(approvals.of(project, &a), Approval::Unknown);
    assert_eq!(approvals.of(project, &b), Approval::Approved);
    approvals.approve(project, &a);
    assert_eq!(approvals.forget_project(project), 2);
    assert_eq!(approvals.forget_project(project), 0);
    assert_eq!(approvals.of(project, &b), Approval::Unknown);
    assert_eq!(approvals.of(other, &a), Approval::Approved);
}

#[test]
fn a_rejected_server_stays_listed_as_rejected() {
    let mut layers = Layers::new();
    layers.project = "/code/app".into();
    let text = br#"{"mcpServers":{"a":{"command":"x"}}}"#;
    layers.push(Scope::Project, read(text, &ReadOptions::new("/code/app/.mcp.json")));
    let waiting = resolve(&layers);
    let shown = waiting.candidates[0].disclosure(&layers.env, &layers.project);
    layers.approvals.approve(&layers.project, &shown);
    assert_eq!(resolve(&layers).candidates[0].verdict, Verdict::Active);
    layers.approvals.reject(&layers.project, &shown);
    assert_eq!(resolve(&layers).candidates[0].verdict, Verdict::Rejected);
    layers.approvals.forget(&layers.project, "a");
    let verdict = resolve(&layers).candidates.remove(0).verdict;
    assert_eq!(verdict, Verdict::Unapproved { changed: false });
}

#[test]
fn approvals_inside_the_repository_are_refused_on_save_and_load() {
    let project = tempfile::tempdir().unwrap();
    let path = project.path().join(".state/approvals.json");
    let store = ApprovalStore::new(&path);
    let error = store.update(project.path(), |_| {}).unwrap_err();
    assert!(matches!(error, ApprovalError::InsideProject(_)));
    assert!(!project.path().join(".state").exists());
    // Written for another project, then committed to this one.
    let elsewhere = Path::new("/code/elsewhere");
    let server = shown(&program("a", "x"));
    store.update(elsewhere, |approvals| approvals.approve(project.path(), &server)).unwrap();
    assert!(store.load(elsewhere).is_ok());
    assert!(matches!(store.load(project.path()), Err(ApprovalError::InsideProject(_))));
}

#[test]
fn failed_load_is_reported_and_approves_nothing() {
    let project = tempfile::tempdir().unwrap();
    let project = project.path();
    let path = project.join("state/approvals.json");
    let store = ApprovalStore::new(&path);
    let mut layers = Layers::new();
    layers.project = project.into();
    let text = br#"{"mcpServers":{"a":{"command":"x"}}}"#;
    layers.push(Scope::Project, read(text, &ReadOptions::new("/code/app/.mcp.json")));
    let now = resolve(&layers).candidates[0].disclosure(&layers.env, project);
    store.update(Path::new("/elsewhere"), |all| all.approve(project, &now)).unwrap();
    store.load_into(&mut layers);
    let resolution = resolve(&layers);
    assert_eq!(resolution.candidates[0].verdict, Verdict::Unapproved { changed: false });
    let said: Vec<String> = resolution.diagnostics.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|d| d.contains("approvals inside the project are ignored")),
        "{said:?}"
    );
}

#[cfg(unix)]
#[test]
fn approvals_writable_by_others_are_ignored() {
    use std::os::unix::fs::PermissionsExt as _;
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let (state, project) = (folder.path().join("state"), folder.path().join("app"));
    let path = state.join("approvals.json");
    let store = ApprovalStore::new(&path);
    let server = shown(&program("a", "x"));
    store.update(&project, |approvals| approvals.approve(&project, &server)).unwrap();
    assert!(store.load(&project).is_ok());
    for (what, mode) in [(&path, 0o602), (&path, 0o620), (&state, 0o777), (&state, 0o770)] {
        let before = fs::metadata(what).unwrap().permissions().mode();
        chmod(what, mode);
        let error = store.load(&project).unwrap_err();
        assert!(matches!(error, ApprovalError::NotPrivate(..)), "{mode:o}: {error}");
        chmod(what, before);
    }
    chmod(&path, 0o666);
    assert!(store.update(&project, |_| {}).is_err(), "nothing is added to a file others can write");
    // The next decision makes a folder private that is too open.
    chmod(&path, 0o600);
    chmod(&state, 0o777);
    store.update(&project, |approvals| approvals.reject(&project, &server)).unwrap();
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    let link = state.join("link.json");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(ApprovalStore::new(&link).load(&project).is_err());
}

/// Only root can change the owner; otherwise the check of the folder covers this.
#[cfg(unix)]
#[test]
fn approvals_owned_by_another_user_are_ignored() {
    use std::os::unix::fs::chown;
    let folder = tempfile::tempdir().unwrap();
    let (path, project) = (folder.path().join("approvals.json"), folder.path().join("app"));
    let store = ApprovalStore::new(&path);
    store.update(&project, |_| {}).unwrap();
    if chown(&path, Some(65534), None).is_err() {
        mcp_skip::skip("only root can give a file to another user", "run as root");
        return;
    }
    let error = store.load(&project).unwrap_err();
    assert!(error.to_string().contains("it belongs to another user"), "{error}");
    // Another user owns the whole folder, including the file.
    chown(folder.path(), Some(65534), None).unwrap();
    assert!(store.load(&project).is_err());
    chown(&path, Some(0), None).unwrap();
    let error = store.load(&project).unwrap_err();
    assert!(error.to_string().contains("its folder belongs to another user"), "{error}");
}

#[cfg(unix)]
#[test]
fn new_folders_of_configuration_and_approvals_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("app");
    let mode =
        |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    mcp_config::ConfigFile::new(folder.path().join("config/mcp/mcp.json"))
        .add(&program("a", "x"))
        .unwrap();
    ApprovalStore::new(folder.path().join("state/mcp/approvals.json"))
        .update(&project, |_| {})
        .unwrap();
    for name in ["config", "config/mcp", "state", "state/mcp"] {
        assert_eq!(mode(name), 0o700, "{name}");
    }
}

#[test]
fn a_damaged_store_approves_nothing_and_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approvals.json");
    let project = folder.path().join("app");
    let store = ApprovalStore::new(&path);
    let hash = |text: &str| {
        format!(
            r#"{{"version":1,"projects":{{"p":{{"s":{{"approved":true,"fingerprint":"{text}"}}}}}}}}"#
        )
    };
    let wrong = [hash("ab"), hash(&"é".repeat(32)), hash(&"x".repeat(64))];
    let whole = shown(&program("a", "x")).fingerprint();
    assert_eq!(format!("{whole:?}"), whole.to_string());
    mcp_safe::fs::replace(&path, hash(&whole.to_string()).as_bytes()).unwrap();
    assert!(store.load(&project).is_ok());
    for damaged in wrong.iter().map(String::as_str).chain([
        "{",
        "[]",
        "{\"version\":2,\"projects\":{}}",
        "{\"version\":1,\"projects\":{\"p\":{\"s\":{\"approved\":true}}}}",
    ]) {
        mcp_safe::fs::replace(&path, damaged.as_bytes()).unwrap();
        assert!(matches!(store.load(&project), Err(ApprovalError::Malformed(_))), "{damaged}");
        let server = shown(&program("a", "x"));
        assert!(store.update(&project, |approvals| approvals.approve(&project, &server)).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[test]
fn store_inside_project_is_detected_through_symlinks() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("app");
    fs::create_dir(&project).unwrap();
    let inside = |path: &Path, project: &Path| {
        matches!(ApprovalStore::new(path).load(project), Err(ApprovalError::InsideProject(_)))
    };
    // Neither exists, so the paths are compared as written.
    let absent = folder.path().join("absent");
    assert!(inside(&absent.join("approvals.json"), &absent));
    assert!(!inside(&folder.path().join("other/approvals.json"), &absent));
    // Without a project, no path is inside it.
    assert!(!inside(&folder.path().join("approvals.json"), Path::new("")));
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&project, &link).unwrap();
        assert!(inside(&link.join("state/approvals.json"), &project));
        assert!(inside(&project.join("state/approvals.json"), &link));
    }
    assert!(!inside(&folder.path().join("state/approvals.json"), &project));
}

#[test]
fn unreadable_store_reports_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approvals.json");
    mcp_safe::fs::create_folder(&path).unwrap();
    let store = ApprovalStore::new(&path);
    let error = store.load(Path::new("/code/app")).unwrap_err();
    assert!(matches!(error, ApprovalError::Unreadable(..)), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    let inside = ApprovalStore::new(folder.path().join("x")).load(folder.path()).unwrap_err();
    assert!(std::error::Error::source(&inside).is_none());
}

#[test]
fn decisions_about_tools_and_servers_are_separate() {
    let project = Path::new("/code/app");
    let tool = |name: &str| {
        let text = format!(r#"{{"name":"{name}","steps":[{{"tool":"mcp__x__y"}}]}}"#);
        CustomTool::parse(&text).unwrap()
    };
    let (a, b, server) = (tool("a"), tool("b"), shown(&program("a", "x")));
    let mut approvals = mcp_config::approval::Approvals::new();
    approvals.decide_tool(project, &a, true);
    approvals.decide_tool(project, &b, false);
    approvals.reject(project, &server);
    assert_eq!(approvals.of_tool(project, &a), Approval::Approved);
    assert_eq!(approvals.of_tool(project, &b), Approval::Rejected);
    assert_eq!(approvals.of(project, &server), Approval::Rejected);
    assert!(approvals.forget_tool(project, "a"));
    assert!(!approvals.forget_tool(project, "a"));
    assert_eq!(approvals.of_tool(project, &a), Approval::Unknown);
    assert_eq!(approvals.of_tool(project, &b), Approval::Rejected);
    assert_eq!(approvals.of(project, &server), Approval::Rejected);
}
