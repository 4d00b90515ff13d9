//! The audit log of gateways, and its key in the secret store.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mcp_audit::{AuditKey, AuditLog, Auditor, Checkpoint, LogOptions, Record};
use mcp_auth::{
    Secret,
    store::{Key, SecretStore, StoreError},
};
use mcp_safe::fs::{Lock, private_folder};

use crate::{
    exit::{Exit, Problem},
    host::{app::App, places::Places},
    terminal::out::Out,
};

/// How long a gateway waits for another one that creates the key.
const PATIENCE: Duration = Duration::from_secs(5);

/// The folder of the log. `None` without a folder for state.
pub(crate) fn folder(places: &Places) -> Option<PathBuf> {
    Some(places.state.as_ref()?.join("audit"))
}

/// What the secret store has: the key, and the last line at the start or end of a gateway. It has no name, so that no
/// entry can refer to it as `${secret:NAME}`.
fn place() -> Key {
    Key::new("mcp-audit", "", "log")
}

/// The key and the checkpoint.
pub(crate) struct Sealing {
    pub(crate) key: AuditKey,
    pub(crate) checkpoint: Option<Checkpoint>,
}

impl Sealing {
    fn from_secret(secret: &Secret) -> Option<Self> {
        let (key, checkpoint) = secret.expose().split_once(' ').unwrap_or((secret.expose(), ""));
        Some(Self { key: AuditKey::from_text(key)?, checkpoint: Checkpoint::from_text(checkpoint) })
    }

    fn to_secret(&self) -> Secret {
        let checkpoint = self.checkpoint.map(|at| at.to_text()).unwrap_or_default();
        Secret::new(format!("{} {checkpoint}", *self.key.to_text()).trim_end().to_owned())
    }

    /// Reads the key; `None` if no log was ever begun.
    pub(crate) async fn load(store: &dyn SecretStore) -> Result<Option<Self>, StoreError> {
        Ok(store.get(&place()).await?.as_ref().and_then(Self::from_secret))
    }

    async fn store(&self, store: &dyn SecretStore) -> Result<(), StoreError> {
        store.set(&place(), self.to_secret()).await
    }
}

/// The open log of a gateway.
pub(crate) struct Audit {
    log: AuditLog,
    key: AuditKey,
    store: Arc<dyn SecretStore>,
    out: Out,
    /// Whether the user was told that the log cannot be written.
    has_complained: AtomicBool,
}

impl Audit {
    /// Opens the log, and creates its key at the first time.
    ///
    /// # Errors
    /// When there is no place for it, or the secret store or the files cannot be used.
    pub(crate) async fn open(app: &App, contents: bool) -> Result<Arc<Self>, Problem> {
        let folder = folder(&app.config.places)
            .ok_or_else(|| Problem::new(Exit::Failed, "there is no folder for state"))?;
        let store = app.logins.vault().store().clone();
        let failed = |error: io::Error| {
            let hint = "`mcp serve --no-audit` runs without the log";
            Problem::chain(Exit::Failed, &error).hint(hint)
        };
        private_folder(&folder).map_err(failed)?;
        // Two gateways that start at once must not create two keys.
        let place = folder.join(".key.lock");
        let lock = tokio::task::spawn_blocking(move || Lock::acquire(&place, PATIENCE))
            .await
            .map_err(io::Error::other)
            .and_then(|lock| lock)
            .map_err(failed)?;
        let known = Sealing::load(&*store).await.map_err(|error| sealed(&error))?;
        let sealing = if let Some(known) = known {
            known
        } else {
            let new = Sealing { key: AuditKey::generate().map_err(failed)?, checkpoint: None };
            new.store(&*store).await.map_err(|error| sealed(&error))?;
            new
        };
        drop(lock);
        let options = LogOptions::default().with_contents(contents);
        let log = AuditLog::open(&folder, sealing.key.clone(), options).map_err(failed)?;
        let has_complained = AtomicBool::new(false);
        let audit = Self { log, key: sealing.key, store, out: app.out, has_complained };
        Ok(Arc::new(audit))
    }

    /// Stores the number and seal of the last line beside the key, so that an older copy of the log is detected.
    pub(crate) async fn checkpoint(&self) {
        let Ok(checkpoint) = self.log.checkpoint() else { return };
        let sealing = Sealing { key: self.key.clone(), checkpoint: Some(checkpoint) };
        // The next start or end of a gateway stores it again.
        let _ = sealing.store(&*self.store).await;
    }
}

impl Auditor for Audit {
    fn record(&self, record: &Record<'_>) {
        if let Err(error) = self.log.append(record)
            && !self.has_complained.swap(true, Ordering::Relaxed)
        {
            self.out.instruct(format!("the audit log cannot be written: {error}"));
        }
    }
}

/// The secret store refused the key.
pub(crate) fn sealed(error: &StoreError) -> Problem {
    Problem::chain(Exit::Failed, error)
        .hint("unlock the secret store, or set MCP_SECRET_STORE=file; `mcp doctor` checks it")
}
