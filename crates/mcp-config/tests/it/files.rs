//! Changes to files: atomic, under a lock, without losing concurrent changes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use mcp_config::{
    ConfigFile, Document, Scope,
    diagnostic::{Problem, Severity},
    edit::Edit,
    files::{FileError, FileSource, Source},
};

use crate::resolution::program;

fn names(file: &ConfigFile) -> Vec<String> {
    let mut names: Vec<String> =
        file.read().entries.iter().map(|e| e.config.name.to_string()).collect();
    names.sort_unstable();
    names
}

/// The files beside `path`: no lock or temporary file may remain.
fn beside(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|other| other != path).collect()
}

#[test]
fn add_remove_enable_disable_and_move_between_scopes() {
    let folder = tempfile::tempdir().unwrap();
    let project = ConfigFile::new(folder.path().join("repo/.mcp.json"));
    let mut local = ConfigFile::new(folder.path().join(".claude.json"));
    local.project = Some("/code/app".into());
    local.scope = Some(Scope::Local);
    project.add(&program("a", "x")).unwrap();
    project.add(&program("b", "y")).unwrap();
    project.enable("b", false).unwrap();
    assert!(!project.read().get("b").unwrap().config.enabled);
    project.move_to("a", &local).unwrap();
    assert_eq!(names(&project), ["b"]);
    let moved = local.read();
    assert_eq!(moved.get("a").unwrap().scope, Some(Scope::Local));
    assert_eq!(moved.get("a").unwrap().place.pointer, "/projects/~1code~1app/mcpServers/a");
    project.remove("b").unwrap();
    assert!(names(&project).is_empty());
    let error = project.remove("b").unwrap_err();
    assert!(matches!(&error, FileError::Edit(..)) && !error.is_transient());
    assert!(beside(&project.path).is_empty(), "{:?}", beside(&project.path));
}

#[test]
fn a_server_moves_between_the_scopes_of_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut user = ConfigFile::new(folder.path().join(".claude.json"));
    user.project = Some("/code/app/".into());
    user.scope = Some(Scope::User);
    let mut local = user.clone();
    local.scope = Some(Scope::Local);
    let scopes = || user.read().entries.iter().map(|entry| entry.scope).collect::<Vec<_>>();
    user.add(&program("a", "x")).unwrap();
    assert_eq!(scopes(), [None]);
    user.move_to("a", &local).unwrap();
    assert_eq!(scopes(), [Some(Scope::Local)]);
    assert!(fs::read_to_string(&user.path).unwrap().contains("\"/code/app\""));
    local.move_to("a", &user).unwrap();
    assert_eq!(scopes(), [None]);
}

#[test]
fn several_edits_are_applied_atomically() {
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(folder.path().join(".mcp.json"));
    file.add(&program("a", "x")).unwrap();
    let before = fs::read(&file.path).unwrap();
    let edits = [Edit::Put(Box::new(program("b", "y"))), Edit::Remove("absent".into())];
    assert!(file.apply(&edits).is_err());
    assert_eq!(fs::read(&file.path).unwrap(), before);
    assert!(beside(&file.path).is_empty());
}

#[test]
fn a_file_with_a_syntax_error_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(folder.path().join(".mcp.json"));
    for broken in ["{\"mcpServers\": {", "{\"mcpServers\": {}} trailing", "\"text\""] {
        fs::write(&file.path, broken).unwrap();
        assert!(file.add(&program("a", "x")).is_err(), "{broken}");
        assert_eq!(fs::read_to_string(&file.path).unwrap(), broken);
    }
    fs::write(&file.path, b"\xff").unwrap();
    assert!(file.add(&program("a", "x")).is_err());
}

#[cfg(unix)]
#[test]
fn permissions_and_links_are_kept_and_new_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let fresh = ConfigFile::new(folder.path().join("new.json"));
    fresh.add(&program("a", "x")).unwrap();
    assert_eq!(mode(&fresh.path), 0o600);
    fs::set_permissions(&fresh.path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&fresh.path, &link).unwrap();
    ConfigFile::new(&link).add(&program("b", "y")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!((mode(&fresh.path), names(&fresh)), (0o640, vec!["a".to_owned(), "b".to_owned()]));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_that_does_not_exist_yet_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (link, second) = (folder.path().join("link.json"), folder.path().join("second.json"));
    std::os::unix::fs::symlink("second.json", &link).unwrap();
    std::os::unix::fs::symlink(folder.path().join("dotfiles/mcp.json"), &second).unwrap();
    ConfigFile::new(&link).add(&program("a", "x")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::symlink_metadata(&second).unwrap().is_symlink());
    assert_eq!(names(&ConfigFile::new(folder.path().join("dotfiles/mcp.json"))), ["a"]);
}

#[test]
fn changes_from_many_threads_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".mcp.json");
    let start = Arc::new(Barrier::new(4));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (file, start) = (ConfigFile::new(&path), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                for i in 0..10 {
                    file.add(&program(&format!("w{writer}-{i}"), "x")).unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(names(&ConfigFile::new(&path)).len(), 40);
    assert!(beside(&path).is_empty(), "{:?}", beside(&path));
}

#[test]
fn changes_from_many_processes_are_all_kept() {
    const CHILD: &str = "MCP_CONFIG_TEST_WRITES_TO";
    // The test starts its own binary for the other processes.
    if let Ok(path) = std::env::var(CHILD) {
        let file = ConfigFile::new(path);
        for i in 0..10 {
            file.add(&program(&format!("p{}-{i}", std::process::id()), "x")).unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".mcp.json");
    let this = std::env::current_exe().unwrap();
    let spawn = || {
        let mut command = Command::new(&this);
        command.args(["--exact", "files::changes_from_many_processes_are_all_kept"]);
        command.env(CHILD, &path).stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut children: Vec<_> = (0..4).map(|_| spawn()).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(names(&ConfigFile::new(&path)).len(), 40);
    assert!(beside(&path).is_empty(), "{:?}", beside(&path));
}

#[test]
fn held_lock_is_a_transient_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = ConfigFile::new(folder.path().join(".mcp.json"));
    let lock = fs::File::create(folder.path().join(".mcp.json.lock")).unwrap();
    lock.lock().unwrap();
    file.lock_timeout = Duration::from_millis(5);
    let error = file.add(&program("a", "x")).unwrap_err();
    assert!(error.is_transient(), "{error}");
    drop(lock);
    file.add(&program("a", "x")).unwrap();
}

#[cfg(all(feature = "toml", feature = "yaml"))]
#[test]
fn new_files_get_the_dialect_of_their_path() {
    use mcp_config::Dialect;
    let folder = tempfile::tempdir().unwrap();
    let server = program("a", "x");
    for (place, dialect) in [
        (".codex/config.toml", Dialect::Codex),
        ("goose/config.yaml", Dialect::Goose),
        (".vscode/mcp.json", Dialect::VsCode),
        ("zed/settings.json", Dialect::Zed),
        ("opencode.json", Dialect::OpenCode),
        (".mcp.json", Dialect::McpJson),
    ] {
        let file = ConfigFile::new(folder.path().join(place));
        file.add(&server).unwrap();
        let document = file.read();
        assert_eq!(document.dialect, Some(dialect), "{place}");
        assert_eq!(document.get("a").unwrap().config, server);
    }
}

/// The servers of a file in `scope`, and the error if it is not used.
#[cfg(unix)]
fn used(file: &ConfigFile, scope: Scope) -> Result<usize, String> {
    let mut source = FileSource::new(scope, &file.path);
    source.file.project.clone_from(&file.project);
    let Document { entries, diagnostics, .. } = source.document().unwrap();
    match diagnostics.first() {
        Some(found) => {
            assert_eq!((found.severity, found.problem), (Severity::Error, Problem::Ignored));
            assert!(entries.is_empty());
            Err(found.to_string())
        }
        None => Ok(entries.len()),
    }
}

#[cfg(unix)]
#[test]
fn user_files_that_every_user_can_write_are_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(folder.path().join("mcp.json"));
    file.add(&program("a", "x")).unwrap();
    for mode in [0o644, 0o664] {
        fs::set_permissions(&file.path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(used(&file, Scope::User), Ok(1), "{mode:o}");
    }
    fs::set_permissions(&file.path, fs::Permissions::from_mode(0o602)).unwrap();
    for scope in [Scope::User, Scope::Local] {
        let said = used(&file, scope).unwrap_err();
        assert!(said.contains("others may have written: every user can write to it"), "{said}");
    }
    // Files of these scopes are not trusted, or the user has just named them.
    for scope in [Scope::Project, Scope::Dynamic] {
        assert_eq!(used(&file, scope), Ok(1), "{scope}");
    }
}

#[cfg(unix)]
#[test]
fn user_files_of_another_user_are_not_used() {
    use std::os::unix::fs::chown;
    let folder = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(folder.path().join("mcp.json"));
    file.add(&program("a", "x")).unwrap();
    if chown(&file.path, Some(65534), None).is_err() {
        mcp_skip::skip("only root can give a file to another user", "run as root");
        return;
    }
    let said = used(&file, Scope::User).unwrap_err();
    assert!(said.contains("it belongs to another user"), "{said}");
}

#[cfg(unix)]
#[test]
fn user_files_inside_the_project_are_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("app");
    let inside = ConfigFile::new(project.join(".config/mcp/mcp.json")).with_project(&project);
    inside.add(&program("a", "x")).unwrap();
    let link = ConfigFile::new(folder.path().join("mcp.json")).with_project(&project);
    std::os::unix::fs::symlink(&inside.path, &link.path).unwrap();
    for file in [&inside, &link] {
        let said = used(file, Scope::User).unwrap_err();
        assert!(said.contains("found a file inside the project"), "{said}");
        assert_eq!(used(file, Scope::Project), Ok(1));
    }
    let elsewhere = inside.with_project(folder.path().join("other"));
    assert_eq!(used(&elsewhere, Scope::User), Ok(1));
    // The files of a user who works in the home directory, or above it, are inside of that folder.
    let home = elsewhere.with_project("/");
    assert_eq!(used(&home, Scope::User), Ok(1));
}
