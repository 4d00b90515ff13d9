//! Logins to remote servers and their storage.

mod ask;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use mcp_auth::{AuthEvent, OnEvent, store::StoreMode};
use mcp_bridge::{Logins, LoginsOptions};
use mcp_safe::fs::{create_folder, replace};

pub(crate) use self::ask::{browser, paste};
use crate::terminal::out::Out;

/// Stores logins in the keyring, or else in `folder`; without a folder, in memory. Commands that print headers run in
/// `project`.
pub(crate) fn logins(folder: Option<PathBuf>, project: &Path, out: Out) -> Logins {
    let mut options = LoginsOptions::default();
    options.folder = folder;
    options.project = Some(project.to_owned());
    // `auto`, `keyring`, `file` or `memory`.
    let store = std::env::var("MCP_SECRET_STORE").ok();
    options.store = store.and_then(|store| store.parse().ok()).unwrap_or(StoreMode::Auto);
    options.client_name = "mcp".into();
    options.hint = Arc::new(|server| format!("run `mcp login {server}`"));
    options.interact = Some(Arc::new(move |config| Arc::new(browser(config, out))));
    let reported = options.folder.as_ref().map(|folder| folder.join("keyring-told"));
    options.on_event = OnEvent::new(move |event| report(out, reported.as_deref(), event));
    Logins::new(options)
}

/// Reports events of the secret store to the user.
fn report(out: Out, reported: Option<&Path>, event: &AuthEvent) {
    match event {
        // Reported once per machine.
        AuthEvent::KeyringUnavailable { reason, .. } if !is_first(reported, reason) => {}
        AuthEvent::KeyringUnavailable { reason, file } => {
            out.remark(format!(
                "keyring unavailable ({reason}): logins are stored in {}",
                file.display()
            ));
        }
        AuthEvent::SecretsSetAside { kept } => {
            out.remark(format!(
                "the login file could not be read, and was moved to {}",
                kept.display()
            ));
        }
        AuthEvent::NotStored { reason, .. } => {
            out.remark(format!(
                "the login could not be stored, and ends with this command: {reason}"
            ));
        }
        _ => {}
    }
}

/// Whether this reason has not been reported before. Marks it as reported.
fn is_first(reported: Option<&Path>, reason: &str) -> bool {
    let Some(path) = reported else { return true };
    if std::fs::read_to_string(path).is_ok_and(|said| said == reason) {
        return false;
    }
    // If it cannot be written, the remark is repeated next time.
    let _ = path.parent().map(create_folder);
    let _ = replace(path, reason.as_bytes());
    true
}
