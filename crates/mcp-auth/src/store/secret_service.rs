//! A credential store of `keyring-core` in the Secret Service of the desktop: GNOME Keyring, `KWallet`, `KeePassXC`.
//!
//! The store of the `keyring` crate uses a second async runtime and its threads. This one runs the same client,
//! `secret-service`, on tokio. Items have the attributes, label and content type of the `keyring` crate, so each finds the
//! items of the other. See <https://specifications.freedesktop.org/secret-service-spec/latest/>.

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use keyring_core::{
    Credential, Entry, Error,
    api::{CredentialApi, CredentialStoreApi},
};
use secret_service::{EncryptionType, Item, SecretService};
use tokio::runtime::{Builder, Runtime};

type Result<T> = std::result::Result<T, Error>;

/// The Secret Service on the session bus. Its methods block: call them outside of a runtime.
pub(super) struct SecretServiceStore(Arc<Mutex<Connected>>);

impl SecretServiceStore {
    /// Connects to the session bus, and agrees on a key for the secrets that cross it.
    pub(super) fn connect() -> Result<Self> {
        let failed = |error| Error::PlatformFailure(Box::new(error));
        // Without worker threads: the connection makes progress only during a call, and needs to only then.
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let service = runtime.block_on(SecretService::connect(EncryptionType::Dh));
        let service = service.map_err(|error| Error::PlatformFailure(Box::new(error)))?;
        Ok(Self(Arc::new(Mutex::new(Connected { runtime, service }))))
    }

    fn entry(&self, name: Name) -> Entry {
        Entry::new_with_credential(Arc::new(NamedItem { connected: self.0.clone(), name }))
    }
}

struct Connected {
    runtime: Runtime,
    service: SecretService<'static>,
}

impl Connected {
    /// Runs `work` with the service.
    ///
    /// Drop all items and collections inside `work`: outside of the runtime, zbus panics when it removes their signal
    /// subscriptions.
    fn run<T>(
        connected: &Mutex<Self>,
        work: impl AsyncFnOnce(&SecretService<'static>) -> std::result::Result<T, Failed>,
    ) -> Result<T> {
        // A panic in another call leaves the connection usable: it has no state between calls.
        let connected = connected.lock().unwrap_or_else(PoisonError::into_inner);
        connected.runtime.block_on(work(&connected.service)).map_err(|Failed(error)| error)
    }
}

/// An error of either crate.
struct Failed(Error);

impl From<secret_service::Error> for Failed {
    fn from(error: secret_service::Error) -> Self {
        use secret_service::Error as Cause;
        Self(match error {
            // `NoResult`: there is no default collection, which the user would have to create.
            Cause::Locked | Cause::NoResult | Cause::Prompt => {
                Error::NoStorageAccess(Box::new(error))
            }
            other => Error::PlatformFailure(Box::new(other)),
        })
    }
}

/// Finds the items with these attributes, and unlocks them. The desktop may prompt the user for that.
async fn search<'a>(
    service: &'a SecretService<'static>,
    attributes: HashMap<&str, &str>,
) -> std::result::Result<Vec<Item<'a>>, Failed> {
    let found = service.search_items(attributes).await?;
    if !found.locked.is_empty() {
        service.unlock_all(&found.locked.iter().collect::<Vec<_>>()).await?;
    }
    Ok(found.unlocked.into_iter().chain(found.locked).collect())
}

impl CredentialStoreApi for SecretServiceStore {
    fn vendor(&self) -> String {
        "mcp-auth over the Secret Service".to_owned()
    }

    fn id(&self) -> String {
        "secret-service".to_owned()
    }

    fn build(
        &self,
        service: &str,
        user: &str,
        modifiers: Option<&HashMap<&str, &str>>,
    ) -> Result<Entry> {
        if modifiers.is_some_and(|modifiers| !modifiers.is_empty()) {
            return Err(Error::NotSupportedByStore("modifiers".to_owned()));
        }
        Ok(self.entry(Name { service: service.to_owned(), user: user.to_owned() }))
    }

    fn search(&self, wanted: &HashMap<&str, &str>) -> Result<Vec<Entry>> {
        let names = Connected::run(&self.0, async |service| {
            let mut names = Vec::new();
            for item in search(service, wanted.clone()).await? {
                names.extend(Name::of(item.get_attributes().await?));
            }
            Ok(names)
        })?;
        Ok(names.into_iter().map(|name| self.entry(name)).collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn debug_fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretServiceStore")
    }
}

/// The attributes by which an item is found.
#[derive(Clone)]
struct Name {
    service: String,
    user: String,
}

impl Name {
    /// Reads the attributes of an item. Returns `None` for an item without these attributes.
    fn of(mut attributes: HashMap<String, String>) -> Option<Self> {
        Some(Self { service: attributes.remove("service")?, user: attributes.remove("username")? })
    }

    fn attributes(&self) -> HashMap<&str, &str> {
        HashMap::from([("service", self.service.as_str()), ("username", self.user.as_str())])
    }
}

/// The item with a name, which may not exist yet.
struct NamedItem {
    connected: Arc<Mutex<Connected>>,
    name: Name,
}

/// What applications write for secrets of unknown format.
const CONTENT_TYPE: &str = "application/octet-stream";

impl NamedItem {
    /// Runs `work` with the item.
    fn with_item<T>(
        &self,
        work: impl AsyncFnOnce(&Item<'_>) -> std::result::Result<T, secret_service::Error>,
    ) -> Result<T> {
        Connected::run(&self.connected, async |service| match self.find(service).await? {
            Some(item) => Ok(work(&item).await?),
            None => Err(Failed(Error::NoEntry)),
        })
    }

    async fn find<'a>(
        &self,
        service: &'a SecretService<'static>,
    ) -> std::result::Result<Option<Item<'a>>, Failed> {
        let mut items = search(service, self.name.attributes()).await?;
        match items.len() {
            0 | 1 => Ok(items.pop()),
            _ => Err(Failed(Error::Ambiguous(Vec::new()))),
        }
    }

    async fn create(
        &self,
        service: &SecretService<'static>,
        secret: &[u8],
    ) -> std::result::Result<(), Failed> {
        let collection = service.get_default_collection().await?;
        if collection.is_locked().await? {
            collection.unlock().await?;
        }
        let Name { service, user } = &self.name;
        let label = format!("keyring:{user}@{service}");
        // `true`: replaces an item that another process has created since our search.
        let attributes = self.name.attributes();
        collection.create_item(&label, attributes, secret, true, CONTENT_TYPE).await?;
        Ok(())
    }
}

impl CredentialApi for NamedItem {
    fn set_secret(&self, secret: &[u8]) -> Result<()> {
        Connected::run(&self.connected, async |service| match self.find(service).await? {
            Some(item) => Ok(item.set_secret(secret, CONTENT_TYPE).await?),
            None => self.create(service, secret).await,
        })
    }

    fn get_secret(&self) -> Result<Vec<u8>> {
        self.with_item(async |item| item.get_secret().await)
    }

    fn get_attributes(&self) -> Result<HashMap<String, String>> {
        self.with_item(async |item| item.get_attributes().await)
    }

    fn delete_credential(&self) -> Result<()> {
        self.with_item(async |item| item.delete().await)
    }

    fn get_credential(&self) -> Result<Option<Arc<Credential>>> {
        self.with_item(async |_| Ok(None))
    }

    fn get_specifiers(&self) -> Option<(String, String)> {
        Some((self.name.service.clone(), self.name.user.clone()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn debug_fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedItem").field("user", &self.name.user).finish_non_exhaustive()
    }
}
