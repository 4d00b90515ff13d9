//! Changes on disk, as they happen.

use std::{
    fs,
    path::Path,
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use mcp_config::{ConfigFile, FileSource, Layers, Scope, Update, Watcher, load};

use crate::resolution::program;

/// Long enough for a loaded machine; nothing waits for it unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(30);

fn watch(path: &Path) -> (Watcher, Receiver<Update>) {
    watch_with(path, Duration::from_millis(10))
}

fn watch_with(path: &Path, quiet: Duration) -> (Watcher, Receiver<Update>) {
    let (send, updates) = mpsc::channel();
    let source = path.to_owned();
    let layers = move || {
        let mut layers = Layers::new();
        layers.layers = load(&[std::sync::Arc::new(FileSource::new(Scope::User, &source))]);
        layers
    };
    let watcher = Watcher::new(&[path.to_owned()], quiet, layers, move |update| {
        let _ = send.send(update);
    });
    (watcher.unwrap(), updates)
}

/// Waits until just these servers are active; gives the last step on the way there.
fn until(updates: &Receiver<Update>, names: &[&str]) -> Update {
    loop {
        let update = updates.recv_timeout(PATIENCE).unwrap();
        let active = update.resolution.servers().map(|c| c.entry.config.name.as_str());
        if active.eq(names.iter().copied()) {
            return update;
        }
    }
}

#[test]
fn writing_renaming_and_removing_are_all_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".mcp.json");
    let (watcher, updates) = watch(&path);
    // Our own way: a new file renamed over the old one.
    ConfigFile::new(&path).add(&program("a", "x")).unwrap();
    assert_eq!(until(&updates, &["a"]).diff.to_string(), "+ a\n");
    // An editor's way: written beside, then moved in.
    let beside = folder.path().join("4913~");
    fs::write(&beside, r#"{"mcpServers":{"a":{"command":"y"},"b":{"command":"z"}}}"#).unwrap();
    fs::rename(&beside, &path).unwrap();
    assert_eq!(until(&updates, &["a", "b"]).diff.to_string(), "+ b\n~ a (command)\n");
    // In place, where a watcher may see it half done.
    fs::write(&path, r#"{"mcpServers":{"b":{"command":"z"}}}"#).unwrap();
    until(&updates, &["b"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(until(&updates, &[]).diff.to_string(), "- b\n");
    drop(watcher);
    assert!(updates.recv().is_err(), "a dropped watcher is silent");
}

#[test]
fn a_change_that_starts_nothing_is_told_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".mcp.json");
    let (_watcher, updates) = watch(&path);
    let beside = folder.path().join("beside");
    fs::write(&beside, r#"{"mcpServers":{"a":{"command":3}}}"#).unwrap();
    fs::rename(&beside, &path).unwrap();
    let update = until(&updates, &[]);
    assert!(update.diff.is_empty());
    assert_eq!(update.resolution.diagnostics.len(), 1);
}

#[test]
fn a_file_in_a_folder_that_does_not_exist_yet_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".cursor/mcp.json");
    let (_watcher, updates) = watch(&path);
    let file = ConfigFile::new(&path);
    file.add(&program("a", "x")).unwrap();
    until(&updates, &["a"]);
    file.add(&program("b", "y")).unwrap();
    until(&updates, &["a", "b"]);
}

#[test]
fn a_folder_removed_and_made_again_before_anyone_looked_is_still_watched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".cursor/mcp.json");
    let file = ConfigFile::new(&path);
    file.add(&program("old", "x")).unwrap();
    // Quiet for longer than it takes to remove and make a folder.
    let (_watcher, updates) = watch_with(&path, Duration::from_millis(200));
    for names in [["a", "b"], ["c", "d"]] {
        fs::remove_dir_all(folder.path().join(".cursor")).unwrap();
        file.add(&program(names[0], "x")).unwrap();
        until(&updates, &names[..1]);
        file.add(&program(names[1], "y")).unwrap();
        until(&updates, &names);
    }
}
