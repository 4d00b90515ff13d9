//! Real keyrings: a Secret Service (gnome-keyring on a separate bus) and the kernel's.
//!
//! A process opens its keyring once, so each situation runs in a separate process: this binary again, with the
//! situation in an environment variable.

use std::{
    env,
    path::Path,
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_auth::{
    AuthEvent, OnEvent, Secret,
    store::{FileStore, Key, KeyringStore, SecretStore as _, StoreError, StoreMode, Vault},
};

const SITUATION: &str = "MCP_AUTH_KEYRING";

fn key() -> Key {
    Key::new("https://a.test/mcp", "https://as.test", "me")
}

fn installed(program: &str) -> bool {
    let found =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok()
}

/// Runs [`worker`] in a situation, on a separate bus with the files of the keyring in `folder`.
fn on_a_bus(situation: &str, folder: &Path, before: &str) -> Option<Output> {
    if !installed("dbus-run-session") || !installed("gnome-keyring-daemon") {
        let remedy = "install `dbus-daemon` and `gnome-keyring`";
        mcp_skip::skip("no bus with a keyring is available", remedy);
        return None;
    }
    let this = env::current_exe().unwrap();
    let script = format!("{before} exec '{}' --exact keyrings::worker --nocapture", this.display());
    let output = Command::new("timeout")
        .args(["60", "dbus-run-session", "--", "sh", "-c", &script])
        .env(SITUATION, situation)
        .env("MCP_AUTH_FOLDER", folder)
        .env("XDG_DATA_HOME", folder)
        .env("XDG_RUNTIME_DIR", folder)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    Some(output)
}

fn passed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{said}");
}

const UNLOCK: &str =
    r"printf '\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1 &&";

#[test]
fn unlocked_secret_service_stores_secrets() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(output) = on_a_bus("unlocked", folder.path(), UNLOCK) {
        passed(&output);
    }
}

#[test]
fn locked_secret_service_is_detected_and_the_file_is_used() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(output) = on_a_bus("locked", folder.path(), "") {
        passed(&output);
    }
}

#[test]
fn secret_service_that_is_killed_causes_an_error_and_no_hang() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(output) = on_a_bus("dying", folder.path(), UNLOCK) {
        passed(&output);
    }
}

/// An update from a version that used the store of the `keyring` crate must find the existing logins.
#[cfg(target_os = "linux")]
#[test]
fn items_have_the_attributes_of_the_keyring_crate() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(output) = on_a_bus("attributes", folder.path(), UNLOCK) {
        passed(&output);
    }
}

#[test]
fn file_is_used_without_a_bus() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "keyrings::worker", "--nocapture"])
        .env(SITUATION, "absent")
        .env("MCP_AUTH_FOLDER", folder.path())
        .env("XDG_RUNTIME_DIR", "/nonexistent")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .output()
        .unwrap();
    passed(&output);
}

/// The work of a process in its situation. Does nothing unless another test starts it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(situation) = env::var(SITUATION) else {
        println!("run by the other tests of this module");
        return;
    };
    let folder = env::var("MCP_AUTH_FOLDER").unwrap();
    let folder = Path::new(&folder).join("auth");
    match situation.as_str() {
        "unlocked" => unlocked(&folder).await,
        "locked" => unusable(&folder, |error| matches!(error, StoreError::Locked)).await,
        "absent" => unusable(&folder, |error| matches!(error, StoreError::Unavailable(_))).await,
        "dying" => dying().await,
        #[cfg(target_os = "linux")]
        "attributes" => attributes().await,
        other => panic!("no such situation: {other}"),
    }
}

/// Opens a vault, and returns it with the reported events.
async fn open(mode: StoreMode, folder: &Path) -> (Result<Vault, StoreError>, Vec<AuthEvent>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let events = told.clone();
    let on_event = OnEvent::new(move |event| events.lock().unwrap().push(event.clone()));
    let vault = Vault::open(mode, folder, on_event).await;
    let told = told.lock().unwrap().clone();
    (vault, told)
}

async fn unlocked(folder: &Path) {
    let keyring = KeyringStore::platform().await.unwrap();
    keyring.probe().await.unwrap();
    assert_eq!(keyring.list().await.unwrap(), [], "the probe left something");
    let long = Secret::new("x".repeat(20_000));
    keyring.set(&key(), long.clone()).await.unwrap();
    assert_eq!(keyring.get(&key()).await.unwrap(), Some(long));
    assert_eq!(keyring.list().await.unwrap(), [key()]);
    assert!(keyring.delete(&key()).await.unwrap() && !keyring.delete(&key()).await.unwrap());

    // A secret in the file moves to the keyring with the next write.
    let file = FileStore::new(folder, OnEvent::default());
    file.set(&key(), Secret::new("old")).await.unwrap();
    let (vault, told) = open(StoreMode::Auto, folder).await;
    let vault = vault.unwrap();
    assert_eq!(told, []);
    assert_eq!(vault.store().get(&key()).await.unwrap(), Some(Secret::new("old")));
    vault.store().set(&key(), Secret::new("new")).await.unwrap();
    assert_eq!(file.get(&key()).await.unwrap(), None);
    assert_eq!(keyring.get(&key()).await.unwrap(), Some(Secret::new("new")));
}

async fn unusable(folder: &Path, is_expected: impl Fn(&StoreError) -> bool) {
    let (vault, told) = open(StoreMode::Auto, folder).await;
    let [AuthEvent::KeyringUnavailable { file, .. }] = told.as_slice() else {
        panic!("{told:?}");
    };
    let vault = vault.unwrap();
    vault.store().set(&key(), Secret::new("1")).await.unwrap();
    assert!(file.exists());
    let (strict, _) = open(StoreMode::Keyring, folder).await;
    let error = strict.map(|_| ()).unwrap_err();
    assert!(is_expected(&error), "{error}");
}

#[cfg(target_os = "linux")]
async fn attributes() {
    use std::collections::HashMap;

    use secret_service::{EncryptionType, SecretService};

    let line = key().to_line();
    let wanted = HashMap::from([("service", "mcp-auth"), ("username", line.as_str())]);
    let service = SecretService::connect(EncryptionType::Plain).await.unwrap();
    let keyring = KeyringStore::platform().await.unwrap();

    keyring.set(&key(), Secret::new("1")).await.unwrap();
    let found = service.search_items(wanted.clone()).await.unwrap().unlocked;
    let [item] = found.as_slice() else { panic!("{} items", found.len()) };
    assert_eq!(item.get_label().await.unwrap(), format!("keyring:{line}@mcp-auth"));
    assert_eq!(item.get_secret().await.unwrap(), b"1");
    item.delete().await.unwrap();

    // The other direction, twice: with two items, neither is the right one.
    let login = service.get_default_collection().await.unwrap();
    for (count, secret) in [(1, "old"), (2, "older")] {
        let (secret, kind) = (secret.as_bytes(), "application/octet-stream");
        login.create_item("x", wanted.clone(), secret, false, kind).await.unwrap();
        match keyring.get(&key()).await {
            Ok(read) if count == 1 => assert_eq!(read, Some(Secret::new("old"))),
            Err(StoreError::Unavailable(why)) if count == 2 => assert!(why.contains("several")),
            other => panic!("{other:?}"),
        }
    }

    // Without a display, the prompt for the password is dismissed.
    login.lock().await.unwrap();
    let refused = keyring.get(&key()).await;
    assert!(matches!(refused, Err(StoreError::Locked)), "{refused:?}");
}

async fn dying() {
    let keyring = KeyringStore::platform().await.unwrap().with_limit(Duration::from_secs(20));
    keyring.set(&key(), Secret::new("1")).await.unwrap();
    assert!(kill_our_daemon(), "no daemon was found");
    // Either the bus starts another daemon, which is locked, or the connection is gone. Both are errors, and the
    // process continues.
    match keyring.get(&key()).await {
        Err(StoreError::Locked | StoreError::Unavailable(_) | StoreError::TimedOut(_)) => {}
        other => panic!("{other:?}"),
    }
    assert!(keyring.probe().await.is_err());
}

/// Kills the daemon of this bus, which has our folder in its environment.
fn kill_our_daemon() -> bool {
    let folder = env::var("XDG_RUNTIME_DIR").unwrap();
    let ours = format!("XDG_RUNTIME_DIR={folder}");
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |name: &str| std::fs::read(process.path().join(name)).unwrap_or_default();
        let is_ours = read("environ").split(|byte| *byte == 0).any(|line| line == ours.as_bytes());
        if is_ours && read("comm").starts_with(b"gnome-keyring") {
            let id = process.file_name().into_string().unwrap();
            return Command::new("kill").args(["-KILL", &id]).status().unwrap().success();
        }
    }
    false
}

#[cfg(target_os = "linux")]
fn not_permitted(error: &StoreError) {
    let reason = format!("the kernel's keyring is not permitted: {error}");
    mcp_skip::skip(&reason, "allow `add_key` and `keyctl` to this container");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn kernel_keyring_stores_secrets() {
    let keyring = match KeyringStore::keyutils().await {
        Ok(keyring) => keyring.for_service(format!("mcp-auth-test-{}", std::process::id())),
        Err(error) => {
            return not_permitted(&error);
        }
    };
    if let Err(error) = keyring.probe().await {
        return not_permitted(&error);
    }
    keyring.set(&key(), Secret::new("1")).await.unwrap();
    assert_eq!(keyring.get(&key()).await.unwrap(), Some(Secret::new("1")));
    let large = keyring.set(&key(), Secret::new("x".repeat(40_000))).await;
    assert!(matches!(large, Err(StoreError::TooLarge)), "{large:?}");
    assert!(keyring.delete(&key()).await.unwrap() && !keyring.delete(&key()).await.unwrap());
}
