//! Watching files for changes.

use std::{
    fs,
    path::Path,
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use mcp_config::{
    ConfigFile, Layers, Scope,
    files::FileSource,
    load,
    watch::{Update, Watcher},
};

use crate::resolution::program;

/// Long enough for a loaded machine; only a failure waits this long.
const TIMEOUT: Duration = Duration::from_secs(30);

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

/// Waits until exactly these servers are active; returns the last update.
fn until(updates: &Receiver<Update>, names: &[&str]) -> Update {
    loop {
        let update = updates.recv_timeout(TIMEOUT).unwrap();
        let active = update.resolution.servers().map(|c| c.entry.config.name.as_str());
        if active.eq(names.iter().copied()) {
            return update;
        }
    }
}

#[test]
fn writes_renames_and_removals_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".mcp.json");
    let (watcher, updates) = watch(&path);
    // As this crate writes: a new file renamed over the old one.
    ConfigFile::new(&path).add(&program("a", "x")).unwrap();
    assert_eq!(until(&updates, &["a"]).diff.to_string(), "+ a\n");
    // As editors write: a temporary file moved into place.
    let beside = folder.path().join("4913~");
    fs::write(&beside, r#"{"mcpServers":{"a":{"command":"y"},"b":{"command":"z"}}}"#).unwrap();
    fs::rename(&beside, &path).unwrap();
    assert_eq!(until(&updates, &["a", "b"]).diff.to_string(), "+ b\n~ a (command)\n");
    // In place, where a watcher may see a partial write.
    fs::write(&path, r#"{"mcpServers":{"b":{"command":"z"}}}"#).unwrap();
    until(&updates, &["b"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(until(&updates, &[]).diff.to_string(), "- b\n");
    drop(watcher);
    assert!(updates.recv().is_err(), "a dropped watcher is silent");
}

#[test]
fn change_without_active_server_is_reported() {
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
fn file_in_a_folder_created_later_is_reported() {
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
fn folder_removed_and_recreated_quickly_is_still_watched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".cursor/mcp.json");
    let file = ConfigFile::new(&path);
    file.add(&program("old", "x")).unwrap();
    // A quiet period longer than it takes to remove and create a folder.
    let (_watcher, updates) = watch_with(&path, Duration::from_millis(200));
    for names in [["a", "b"], ["c", "d"]] {
        fs::remove_dir_all(folder.path().join(".cursor")).unwrap();
        file.add(&program(names[0], "x")).unwrap();
        until(&updates, &names[..1]);
        file.add(&program(names[1], "y")).unwrap();
        until(&updates, &names);
    }
}
