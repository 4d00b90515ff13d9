//! Tests of the file store: permissions, damage, limits and concurrent changes.

use std::sync::Mutex;

use super::*;

fn key(account: &str) -> Key {
    Key::new("https://a.test/mcp", "https://as.test", account)
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A store, its folder, and the events it reported.
fn store() -> (FileStore, tempfile::TempDir, Arc<Mutex<Vec<AuthEvent>>>) {
    let folder = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let events = told.clone();
    let on_event = OnEvent::new(move |event| events.lock().unwrap().push(event.clone()));
    (FileStore::new(folder.path().join("auth"), on_event), folder, told)
}

#[tokio::test]
async fn file_entry_is_found_and_deleted_once() {
    let (store, _folder, _) = store();
    assert_eq!(store.get(&key("a")).await.unwrap(), None);
    assert!(!store.delete(&key("a")).await.unwrap());
    store.set(&key("a"), Secret::new("1")).await.unwrap();
    store.set(&key("b"), Secret::new("2")).await.unwrap();
    store.set(&key("a"), Secret::new("3")).await.unwrap();
    assert_eq!(store.get(&key("a")).await.unwrap(), Some(Secret::new("3")));
    assert_eq!(store.list().await.unwrap(), [key("a"), key("b")]);
    assert!(store.delete(&key("a")).await.unwrap());
    assert!(!store.delete(&key("a")).await.unwrap());
    assert_eq!(store.list().await.unwrap(), [key("b")]);
}

#[cfg(unix)]
#[tokio::test]
async fn secrets_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;

    let (store, folder, _) = store();
    store.set(&key("a"), Secret::new("1")).await.unwrap();
    let inside = folder.path().join("auth");
    assert_eq!(mode(&inside), 0o700);
    assert_eq!(mode(&store.path()), 0o600);
    assert_eq!(mode(&inside.join(LOCK)), 0o600);

    fs::set_permissions(&inside, fs::Permissions::from_mode(0o755)).unwrap();
    store.set(&key("a"), Secret::new("2")).await.unwrap();
    assert_eq!(mode(&inside), 0o700);
}

#[tokio::test]
async fn damaged_secrets_file_is_moved_and_reported_once() {
    for damage in ["{", "[]", r#"{"version":0,"entries":{}}"#, r#"{"version":1,"entries":{"x":1}}"#]
    {
        let (store, _folder, told) = store();
        store.set(&key("a"), Secret::new("1")).await.unwrap();
        fs::write(store.path(), damage).unwrap();
        assert_eq!(store.get(&key("a")).await.unwrap(), None);
        store.set(&key("b"), Secret::new("2")).await.unwrap();
        let told = told.lock().unwrap().clone();
        let [AuthEvent::SecretsSetAside { kept }] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(fs::read_to_string(kept).unwrap(), damage);
        assert_eq!(store.list().await.unwrap(), [key("b")]);
    }
}

#[tokio::test]
async fn secrets_file_of_a_newer_version_is_not_changed() {
    let (store, _folder, told) = store();
    store.set(&key("a"), Secret::new("1")).await.unwrap();
    let newer = r#"{"version":2,"kept":{}}"#;
    fs::write(store.path(), newer).unwrap();
    assert!(matches!(store.get(&key("a")).await, Err(StoreError::Unsupported(_))));
    assert!(matches!(store.delete(&key("a")).await, Err(StoreError::Unsupported(_))));
    let kept = store.set(&key("b"), Secret::new("2")).await;
    assert!(matches!(kept, Err(StoreError::Unsupported(_))));
    assert_eq!(fs::read_to_string(store.path()).unwrap(), newer);
    assert!(told.lock().unwrap().is_empty());
}

#[tokio::test]
async fn full_secrets_file_keeps_its_entries() {
    let (store, _folder, told) = store();
    store.set(&key("mine"), Secret::new("precious")).await.unwrap();
    let huge = Secret::new("x".repeat(LARGEST_SECRET + 1));
    assert!(matches!(store.set(&key("huge"), huge).await, Err(StoreError::TooLarge)));
    let large = || Secret::new("x".repeat(LARGEST_SECRET));
    let mut entries: Entries = (0..63).map(|index| (key(&index.to_string()), large())).collect();
    entries.insert(key("mine"), Secret::new("precious"));
    fs::write(store.path(), to_text(&entries)).unwrap();
    assert!(matches!(store.set(&key("63"), large()).await, Err(StoreError::TooLarge)));
    assert_eq!(store.get(&key("mine")).await.unwrap(), Some(Secret::new("precious")));
    assert!(told.lock().unwrap().is_empty());
    store.delete(&key("0")).await.unwrap();
    store.set(&key("next"), Secret::new("1")).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn planted_symlink_is_not_followed() {
    let (store, folder, _) = store();
    store.set(&key("a"), Secret::new("1")).await.unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(store.path(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, store.path()).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    store.set(&key("b"), Secret::new("2")).await.unwrap();
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
    assert_eq!(store.list().await.unwrap(), [key("b")]);
}

#[tokio::test]
async fn full_disk_leaves_the_secrets_file_intact() {
    let (store, folder, _) = store();
    store.set(&key("a"), Secret::new("1")).await.unwrap();
    let full = |file: &mut File, bytes: &[u8]| {
        file.write_all(&bytes[..bytes.len() / 2])?;
        Err(io::ErrorKind::StorageFull.into())
    };
    let broken = FileStore {
        inner: Arc::new(Inner {
            folder: folder.path().join("auth"),
            on_event: OnEvent::default(),
            write: full,
        }),
    };
    let error = broken.set(&key("b"), Secret::new("canary")).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"));
    let StoreError::Io { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(store.list().await.unwrap(), [key("a")]);
    let left: Vec<_> = fs::read_dir(folder.path().join("auth")).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "the file and its lock: {left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_changes_of_the_secrets_file_are_all_kept() {
    let (store, _folder, _) = store();
    let tasks: Vec<_> = (0..40)
        .map(|index| {
            let store = store.clone();
            tokio::spawn(async move {
                store.set(&key(&format!("{index:02}")), Secret::new("1")).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(store.list().await.unwrap().len(), 40);
}
