//! Secret stores, the locks around them, and the list of servers known to require a login.

mod chain;
mod error;
mod file;
mod interface;
mod key;
#[cfg(any(feature = "keyring", feature = "keyutils"))]
mod keyring;
mod memory;
mod needs_auth;
#[cfg(feature = "keyring")]
mod platform;
#[cfg(all(
    feature = "keyring",
    unix,
    not(any(target_os = "macos", target_os = "ios", target_os = "android"))
))]
mod secret_service;
mod vault;

pub(crate) use self::key::fingerprint;
#[cfg(any(feature = "keyring", feature = "keyutils"))]
pub use self::keyring::KeyringStore;
#[cfg(feature = "oauth")]
pub(crate) use self::vault::VaultLock;
pub use self::{
    chain::ChainStore,
    error::StoreError,
    file::FileStore,
    interface::{SecretStore, StoreMode},
    key::{Key, signature},
    memory::MemoryStore,
    needs_auth::NeedsAuth,
    vault::Vault,
};
