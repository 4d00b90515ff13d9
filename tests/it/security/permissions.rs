//! Files that we write are accessible to their owner only, and planted symlinks are not followed.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
};

use mcp_auth::{
    OnEvent, Secret,
    store::{Key, StoreMode, Vault},
};
use mcp_bridge::{
    Approval, ApprovalRequest, Approver, Bridge, CallContext, RawJson, ServerConfig, output::Spill,
    tool::BoxFuture, trust::ToolApprovals,
};
use mcp_config::{
    ConfigFile, Environment, Remote, Transport,
    approval::{ApprovalStore, Disclosure},
};

use crate::transport::http::{
    server::Server,
    speak::{modern, text},
};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Every file and folder below `folder`.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            found.extend(below(&entry.path()));
        }
    }
    found
}

/// A user who always approves.
struct Always;

impl Approver for Always {
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async { Approval::Always })
    }
}

async fn server() -> Server {
    Server::start(|exchange| async move {
        match &*exchange.word() {
            "tools/call" => exchange.result(text(&"long ".repeat(500))).await,
            _ => modern(exchange).await,
        }
    })
    .await
}

/// The one catalogue file below `home`. Its name has a hash of the server's entry.
fn catalogue(home: &Path) -> PathBuf {
    let mut files = below(&home.join("cache/catalogue"));
    files.retain(|path| path.extension().is_some_and(|ending| ending == "catalogue"));
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

/// Runs a host that writes all its kinds of files below `home`.
async fn live(home: &Path, server: &Server) {
    let mut options = crate::bridge::options();
    options.catalogue = Some(home.join("cache/catalogue"));
    options.output.max_chars = 200;
    options.output.spill = Some(Arc::new(Spill::new(home.join("spill/deep"))));
    options.approvals = Arc::new(ToolApprovals::load(home.join("tools.json")).unwrap());
    options.approver = Arc::new(Always);
    let bridge = Bridge::new(options);
    let transport = Transport::Http(Remote::new(&*server.url));
    let config = ServerConfig::new("srv".parse().unwrap(), transport);
    bridge.add_server_as_written(config.clone());
    mcp_tests::soon("the start", bridge.start()).await;
    let snapshot = bridge.snapshot();
    let calling = snapshot.call("mcp__srv__echo", RawJson::empty_object(), CallContext::default());
    mcp_tests::soon("the call", calling).await;
    mcp_tests::soon("the end", bridge.shutdown()).await;

    let vault = Vault::open(StoreMode::File, &home.join("auth"), OnEvent::default()).await.unwrap();
    vault.store().set(&Key::named("x"), Secret::new("s3cret")).await.unwrap();
    vault.needs_auth().mark("https://a.test").await;

    let project = home.join("project");
    let shown = Disclosure::of(&config, &Environment::empty(), &project);
    ApprovalStore::new(home.join("approvals.json"))
        .update(&project, |approvals| approvals.approve(&project, &shown))
        .unwrap();
    ConfigFile::new(home.join("mcp.json")).add(&config).unwrap();
}

#[tokio::test]
async fn files_are_accessible_to_their_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    live(home, &server().await).await;
    let all = below(home);
    let names: Vec<String> =
        all.iter().map(|path| path.strip_prefix(home).unwrap().display().to_string()).collect();
    for expected in
        ["auth/secrets.json", "auth/needs-auth.json", "tools.json", "approvals.json", "mcp.json"]
    {
        assert!(names.iter().any(|name| name == expected), "{expected} is not in {names:?}");
    }
    assert!(names.iter().any(|name| name.starts_with("spill/deep/")), "{names:?}");
    assert!(catalogue(home).is_file());
    for path in all {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        let is_empty_lock = path.extension().is_some_and(|ending| ending == "lock");
        assert!(
            mode(&path) == expected || is_empty_lock && fs::read(&path).unwrap().is_empty(),
            "{}: {:o}",
            path.display(),
            mode(&path)
        );
    }
}

#[tokio::test]
async fn planted_symlinks_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir_all(home.join("auth")).unwrap();
    let victim = folder.path().join("victim");
    let text = r#"{"mine":1}"#;
    let planted = ["auth/secrets.json", "auth/needs-auth.json"].map(|name| home.join(name));
    for path in &planted {
        symlink(&victim, path).unwrap();
    }
    fs::write(&victim, text).unwrap();
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).unwrap();
    let server = server().await;
    live(&home, &server).await;
    // An attacker who knows the entry can compute the name of the catalogue.
    let catalogue = catalogue(&home);
    fs::remove_file(&catalogue).unwrap();
    symlink(&victim, &catalogue).unwrap();
    live(&home, &server).await;
    assert_eq!(fs::read_to_string(&victim).unwrap(), text);
    assert_eq!(mode(&victim), 0o644);
    for path in planted.iter().chain([&catalogue]) {
        assert!(!path.is_symlink() && mode(path) == 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn permissions_of_readable_secret_files_are_tightened() {
    let folder = tempfile::tempdir().unwrap();
    let auth = folder.path().join("auth");
    fs::create_dir(&auth).unwrap();
    fs::set_permissions(&auth, fs::Permissions::from_mode(0o755)).unwrap();
    let secrets = auth.join("secrets.json");
    fs::write(&secrets, r#"{"version":1,"entries":{}}"#).unwrap();
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o666)).unwrap();
    let vault = Vault::open(StoreMode::File, &auth, OnEvent::default()).await.unwrap();
    vault.store().set(&Key::named("x"), Secret::new("s3cret")).await.unwrap();
    assert_eq!((mode(&auth), mode(&secrets)), (0o700, 0o600));
}

#[tokio::test]
async fn user_files_keep_their_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    fs::write(&path, r#"{"mcpServers":{}}"#).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let transport = Transport::Http(Remote::new("https://a.test/mcp"));
    let config = ServerConfig::new("srv".parse().unwrap(), transport);
    ConfigFile::new(&path).add(&config).unwrap();
    assert_eq!(mode(&path), 0o640);
}
