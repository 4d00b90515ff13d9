//! Opens the keyring of the operating system.

use std::sync::Arc;

use keyring_core::{CredentialStore, Error};

/// Opens the keyring of the desktop on the first call. Its result applies for the life of the process.
#[cfg(all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android"))))]
pub(super) fn open() -> Result<Arc<CredentialStore>, &'static Error> {
    use std::sync::LazyLock;

    use super::secret_service::SecretServiceStore;

    type Opened = Result<Arc<CredentialStore>, Error>;

    static STORE: LazyLock<Opened> = LazyLock::new(|| Ok(Arc::new(SecretServiceStore::connect()?)));
    STORE.as_ref().map(Arc::clone)
}

/// Opens Keychain or Credential Manager on the first call. Its result applies for the life of the process.
#[cfg(any(target_os = "macos", target_os = "windows"))]
pub(super) fn open() -> Result<Arc<CredentialStore>, &'static Error> {
    keyring::Entry::store_status().as_ref()?;
    keyring_core::get_default_store().ok_or(&Error::NoDefaultStore)
}

/// Fails: this platform has no keyring that we support.
#[cfg(not(any(
    all(unix, not(any(target_os = "ios", target_os = "android"))),
    target_os = "windows"
)))]
pub(super) fn open() -> Result<Arc<CredentialStore>, &'static Error> {
    Err(&Error::NoDefaultStore)
}
