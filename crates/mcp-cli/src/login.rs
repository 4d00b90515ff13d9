//! Who the user is to remote servers, and how they are reached for a login.

mod ask;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use mcp_auth::{AuthEvent, OnEvent, StoreMode};
use mcp_bridge::{Logins, LoginsOptions};

pub(crate) use self::ask::{browser, paste};
use crate::{
    out::Out,
    places::{make_private, write_private},
};

/// Logins kept in the keyring, or else in `folder`; without one, for as long as this runs.
pub(crate) fn logins(folder: Option<PathBuf>, out: Out) -> Logins {
    let mut options = LoginsOptions::default();
    options.folder = folder;
    // `auto`, `keyring`, `file` or `memory`.
    let store = std::env::var("MCP_SECRET_STORE").ok();
    options.store = store.and_then(|store| store.parse().ok()).unwrap_or(StoreMode::Auto);
    options.client_name = "mcp".into();
    options.hint = Arc::new(|server| format!("run `mcp login {server}`"));
    options.interact = Some(Arc::new(move |config| Arc::new(browser(config, out))));
    let told = options.folder.as_ref().map(|folder| folder.join("keyring-told"));
    options.on_event = OnEvent::new(move |event| tell(out, told.as_deref(), event));
    Logins::new(options)
}

/// What the user should know of their secrets.
fn tell(out: Out, told: Option<&Path>, event: &AuthEvent) {
    match event {
        // Once for this machine: a server without a keyring stays one.
        AuthEvent::KeyringUnavailable { reason, .. } if !is_first(told, reason) => {}
        AuthEvent::KeyringUnavailable { reason, file } => {
            out.remark(format!(
                "no keyring here ({reason}): logins are kept in {}",
                file.display()
            ));
        }
        AuthEvent::SecretsSetAside { kept } => {
            out.remark(format!(
                "the file of logins can't be read, and was set aside: {}",
                kept.display()
            ));
        }
        AuthEvent::NotStored { reason, .. } => {
            out.remark(format!(
                "the login could not be kept, and ends with this command: {reason}"
            ));
        }
        _ => {}
    }
}

/// Whether this has not been said before, and notes that it has.
fn is_first(told: Option<&Path>, reason: &str) -> bool {
    let Some(path) = told else { return true };
    if std::fs::read_to_string(path).is_ok_and(|said| said == reason) {
        return false;
    }
    // If it cannot be noted, it is said again.
    let _ = path.parent().map(make_private);
    let _ = write_private(path, reason);
    true
}
