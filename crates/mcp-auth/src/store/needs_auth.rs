//! A cache of servers that require a login, so that they are not contacted again for a while.

use std::{
    collections::BTreeMap,
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mcp_safe::fs::{Lock, private_folder, replace};
use serde_json::{Map, Value};

/// How long a mark is valid.
const LIFE: Duration = Duration::from_secs(15 * 60);

const NAME: &str = "needs-auth.json";
const LARGEST: u64 = 1 << 20;
const MOST_SERVERS: usize = 4096;
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Remembers for 15 minutes, across processes, that a server required a login. A login clears the mark at once.
///
/// It is a cache: a list that cannot be read counts as empty, and a failed write is only logged.
#[derive(Clone, Debug)]
pub struct NeedsAuth {
    inner: Arc<Storage>,
}

#[derive(Debug)]
enum Storage {
    File(PathBuf),
    Memory(Mutex<Times>),
}

/// Server signatures, optionally with `#` and a fingerprint of credentials, and the Unix time of the mark.
type Times = BTreeMap<String, u64>;

impl NeedsAuth {
    /// Keeps the list in `folder`, or in this process only if there is no folder.
    pub fn new(folder: Option<&Path>) -> Self {
        let storage = match folder {
            Some(folder) => Storage::File(folder.join(NAME)),
            None => Storage::Memory(Mutex::default()),
        };
        Self { inner: Arc::new(storage) }
    }

    /// Whether this server, given by its [`signature`](super::signature), recently required a login.
    pub async fn is_marked(&self, server: &str) -> bool {
        let times = self.read().await;
        times.get(server).is_some_and(|at| counts(*at, now()))
    }

    /// The same for synchronous callers. Reads one small file without a lock.
    pub fn is_marked_blocking(&self, server: &str) -> bool {
        self.inner.read().get(server).is_some_and(|at| counts(*at, now()))
    }

    /// Records that the server requires a login.
    pub async fn mark(&self, server: &str) {
        let server = server.to_owned();
        self.change(move |times| {
            times.insert(server, now());
        })
        .await;
    }

    /// Clears the marks of a server after a login or a change of credentials.
    pub async fn clear(&self, server: &str) {
        let server = server.to_owned();
        let is_it = move |key: &str| {
            key.strip_prefix(&server).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
        };
        // Most servers are not marked, and then no lock is needed.
        if !self.read().await.keys().any(|key| is_it(key)) {
            return;
        }
        self.change(move |times| times.retain(|key, _| !is_it(key))).await;
    }

    async fn read(&self) -> Times {
        let inner = self.inner.clone();
        tokio::task::spawn_blocking(move || inner.read()).await.unwrap_or_default()
    }

    async fn change(&self, change: impl FnOnce(&mut Times) + Send + 'static) {
        let inner = self.inner.clone();
        let work = move || match &*inner {
            Storage::Memory(times) => {
                change(&mut times.lock().unwrap_or_else(PoisonError::into_inner));
                Ok(())
            }
            Storage::File(path) => change_file(path, change),
        };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(work).await {
            tracing::debug!(%error, "could not write the list of servers that require a login");
        }
    }
}

impl Storage {
    fn read(&self) -> Times {
        match self {
            Storage::File(path) => load(path),
            Storage::Memory(times) => times.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

fn change_file(path: &Path, change: impl FnOnce(&mut Times)) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let lock = Lock::acquire(&path.with_extension("lock"), LOCK_LIMIT)?;
    let _lock = lock.ok_or(io::ErrorKind::WouldBlock)?;
    let mut times = load(path);
    change(&mut times);
    let now = now();
    times.retain(|_, at| counts(*at, now));
    while times.len() > MOST_SERVERS {
        times.pop_first();
    }
    let document: Map<String, Value> =
        times.into_iter().map(|(server, at)| (server, Value::from(at))).collect();
    replace(path, Value::Object(document).to_string().as_bytes())
}

fn load(path: &Path) -> Times {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    let Ok(Value::Object(document)) = read.and_then(|_| Ok(serde_json::from_slice(&bytes)?)) else {
        return Times::new();
    };
    document.into_iter().filter_map(|(server, at)| Some((server, at.as_u64()?))).collect()
}

/// Whether a mark is still valid. A time in the future, after the clock was set back, is not: it would never expire.
fn counts(at: u64, now: u64) -> bool {
    now.checked_sub(at).is_some_and(|age| age < LIFE.as_secs())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn mark_is_shared_between_processes_and_cleared_by_a_login() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (NeedsAuth::new(Some(folder.path())), NeedsAuth::new(Some(folder.path())));
        assert!(!two.is_marked("a").await);
        one.mark("a").await;
        one.mark("b").await;
        assert!(two.is_marked("a").await && two.is_marked_blocking("a"));
        two.clear("a").await;
        assert!(!one.is_marked("a").await && !one.is_marked_blocking("a"));
        assert!(one.is_marked("b").await);
    }

    #[tokio::test]
    async fn marks_without_a_folder_are_kept_in_memory() {
        let marks = NeedsAuth::new(None);
        marks.mark("a").await;
        assert!(marks.is_marked("a").await);
        marks.clear("a").await;
        assert!(!marks.is_marked("a").await);
    }

    #[test]
    fn mark_is_valid_for_fifteen_minutes() {
        assert!(counts(1000, 1000) && counts(1000, 1000 + 899));
        assert!(!counts(1000, 1000 + 900) && !counts(1001, 1000));
    }

    #[tokio::test]
    async fn damaged_list_of_marks_counts_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), "{\"a\":").unwrap();
        let marks = NeedsAuth::new(Some(folder.path()));
        assert!(!marks.is_marked("a").await);
        marks.mark("a").await;
        assert!(marks.is_marked("a").await);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn concurrent_marks_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let tasks: Vec<_> = (0..20)
            .map(|index| {
                let marks = NeedsAuth::new(Some(folder.path()));
                tokio::spawn(async move { marks.mark(&index.to_string()).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(load(&folder.path().join(NAME)).len(), 20);
    }
}
