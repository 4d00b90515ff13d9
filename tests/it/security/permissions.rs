//! Everything we write to disk is for its owner alone, and a link that somebody planted leads nowhere.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
};

use mcp_auth::{Key, OnEvent, Secret, StoreMode, Vault};
use mcp_bridge::{
    Approval, ApprovalRequest, Approver, BoxFuture, Bridge, CallContext, RawJson, ServerConfig,
    Spill, ToolApprovals,
};
use mcp_config::{ApprovalStore, ConfigFile, Remote, Transport};

use crate::transport::http::{
    server::Server,
    speak::{modern, text},
};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Every file and folder below.
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

/// A person who says yes once and for all.
struct Always;

impl Approver for Always {
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async { Approval::Always })
    }
}

/// A host that writes whatever a host can write, all of it below `home`.
async fn live(home: &Path) {
    let server = Server::start(|exchange| async move {
        match &*exchange.word() {
            "tools/call" => exchange.result(text(&"long ".repeat(500))).await,
            _ => modern(exchange).await,
        }
    })
    .await;
    let mut options = crate::bridge::options();
    options.catalogue = Some(home.join("cache/catalogue"));
    options.output.max_chars = 200;
    options.output.spill = Some(Arc::new(Spill::new(home.join("spill/deep"))));
    options.approvals = Arc::new(ToolApprovals::load(home.join("tools.json")).unwrap());
    options.approver = Arc::new(Always);
    let bridge = Bridge::new(options);
    let transport = Transport::Http(Remote::new(&*server.url));
    let config = ServerConfig::new("srv".parse().unwrap(), transport);
    bridge.add_server(config.clone());
    mcp_tests::soon("the start", bridge.start()).await;
    let snapshot = bridge.snapshot();
    let calling = snapshot.call("mcp__srv__echo", RawJson::empty_object(), CallContext::default());
    mcp_tests::soon("the call", calling).await;
    mcp_tests::soon("the end", bridge.shutdown()).await;

    let vault = Vault::open(StoreMode::File, &home.join("auth"), OnEvent::default()).await.unwrap();
    vault.store().set(&Key::named("x"), Secret::new("s3cret")).await.unwrap();
    vault.needs_auth().mark("https://a.test").await;

    let project = home.join("project");
    ApprovalStore::new(home.join("approvals.json"))
        .update(&project, |approvals| approvals.approve(&project, &config))
        .unwrap();
    ConfigFile::new(home.join("mcp.json")).add(&config).unwrap();
}

#[tokio::test]
async fn every_file_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    live(home).await;
    let all = below(home);
    let names: Vec<String> =
        all.iter().map(|path| path.strip_prefix(home).unwrap().display().to_string()).collect();
    for expected in [
        "auth/secrets.json",
        "auth/needs-auth.json",
        "cache/catalogue/srv.catalogue",
        "tools.json",
        "approvals.json",
        "mcp.json",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} is not in {names:?}");
    }
    assert!(names.iter().any(|name| name.starts_with("spill/deep/")), "{names:?}");
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
async fn a_planted_link_is_replaced_or_refused_and_never_followed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir_all(home.join("cache/catalogue")).unwrap();
    fs::create_dir_all(home.join("auth")).unwrap();
    let victim = folder.path().join("victim");
    let text = r#"{"mine":1}"#;
    let planted = ["auth/secrets.json", "auth/needs-auth.json", "cache/catalogue/srv.catalogue"];
    for name in planted {
        symlink(&victim, home.join(name)).unwrap();
    }
    fs::write(&victim, text).unwrap();
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).unwrap();
    live(&home).await;
    assert_eq!(fs::read_to_string(&victim).unwrap(), text);
    assert_eq!(mode(&victim), 0o644);
    for name in ["auth/secrets.json", "auth/needs-auth.json", "cache/catalogue/srv.catalogue"] {
        let path = home.join(name);
        assert!(!path.is_symlink() && mode(&path) == 0o600, "{name}");
    }
}

#[tokio::test]
async fn secrets_that_others_could_read_are_closed_to_them() {
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
async fn a_file_of_the_user_keeps_the_mode_that_the_user_gave_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    fs::write(&path, r#"{"mcpServers":{}}"#).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let transport = Transport::Http(Remote::new("https://a.test/mcp"));
    let config = ServerConfig::new("srv".parse().unwrap(), transport);
    ConfigFile::new(&path).add(&config).unwrap();
    assert_eq!(mode(&path), 0o640);
}
