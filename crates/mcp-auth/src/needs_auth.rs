//! Which servers are known to want a login, so that nobody asks them again for a while.

use std::{
    collections::BTreeMap,
    fs, io,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value};

use crate::{
    lock::FileLock,
    store::file::{private_folder, replace},
};

/// How long an answer counts.
const LIFE: Duration = Duration::from_secs(15 * 60);

const NAME: &str = "needs-auth.json";
const LARGEST: u64 = 1 << 20;
const MOST_SERVERS: usize = 4096;
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Remembers for 15 minutes, across processes, that a server answered "login needed". A login forgets it
/// at once.
///
/// It is a cache: what cannot be read is empty, and what cannot be written is lost.
#[derive(Clone, Debug)]
pub struct NeedsAuth {
    inner: Arc<Place>,
}

#[derive(Debug)]
enum Place {
    File(PathBuf),
    Memory(Mutex<Times>),
}

/// Signatures of servers, and when they said so, in seconds.
type Times = BTreeMap<String, u64>;

impl NeedsAuth {
    /// Kept in `folder`, or in this process only.
    pub fn new(folder: Option<&Path>) -> Self {
        let place = match folder {
            Some(folder) => Place::File(folder.join(NAME)),
            None => Place::Memory(Mutex::default()),
        };
        Self { inner: Arc::new(place) }
    }

    /// Whether this server, given by its [`signature`](crate::signature), wanted a login lately.
    pub async fn is_marked(&self, server: &str) -> bool {
        let times = self.read().await;
        times.get(server).is_some_and(|at| counts(*at, now()))
    }

    /// The same for whoever cannot wait: reads one small file, takes no lock.
    pub fn is_marked_blocking(&self, server: &str) -> bool {
        self.inner.read().get(server).is_some_and(|at| counts(*at, now()))
    }

    /// It wants a login.
    pub async fn mark(&self, server: &str) {
        let server = server.to_owned();
        self.change(move |times| {
            times.insert(server, now());
        })
        .await;
    }

    /// Somebody logged in: ask it again.
    pub async fn clear(&self, server: &str) {
        // Most servers are not marked, and then no lock is needed.
        if !self.read().await.contains_key(server) {
            return;
        }
        let server = server.to_owned();
        self.change(move |times| {
            times.remove(&server);
        })
        .await;
    }

    async fn read(&self) -> Times {
        let inner = self.inner.clone();
        tokio::task::spawn_blocking(move || inner.read()).await.unwrap_or_default()
    }

    async fn change(&self, change: impl FnOnce(&mut Times) + Send + 'static) {
        let inner = self.inner.clone();
        let work = move || match &*inner {
            Place::Memory(times) => {
                change(&mut times.lock().unwrap_or_else(PoisonError::into_inner));
                Ok(())
            }
            Place::File(path) => change_file(path, change),
        };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(work).await {
            tracing::debug!(%error, "the list of servers that want a login was not written");
        }
    }
}

impl Place {
    fn read(&self) -> Times {
        match self {
            Place::File(path) => load(path),
            Place::Memory(times) => times.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

fn change_file(path: &Path, change: impl FnOnce(&mut Times)) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let lock = FileLock::acquire_blocking(&path.with_extension("lock"), LOCK_LIMIT)?;
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
    replace(path, |file| file.write_all(Value::Object(document).to_string().as_bytes()))
}

fn load(path: &Path) -> Times {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    let Ok(Value::Object(document)) = read.and_then(|_| Ok(serde_json::from_slice(&bytes)?)) else {
        return Times::new();
    };
    document.into_iter().filter_map(|(server, at)| Some((server, at.as_u64()?))).collect()
}

/// A time in the future comes from a clock that was set back: it would count for ever.
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
    async fn a_mark_is_seen_by_others_and_cleared_by_a_login() {
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
    async fn without_a_folder_it_is_in_memory() {
        let marks = NeedsAuth::new(None);
        marks.mark("a").await;
        assert!(marks.is_marked("a").await);
        marks.clear("a").await;
        assert!(!marks.is_marked("a").await);
    }

    #[test]
    fn a_mark_counts_for_a_quarter_of_an_hour() {
        assert!(counts(1000, 1000) && counts(1000, 1000 + 899));
        assert!(!counts(1000, 1000 + 900) && !counts(1001, 1000));
    }

    #[tokio::test]
    async fn a_damaged_list_is_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), "{\"a\":").unwrap();
        let marks = NeedsAuth::new(Some(folder.path()));
        assert!(!marks.is_marked("a").await);
        marks.mark("a").await;
        assert!(marks.is_marked("a").await);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn marks_made_at_once_are_all_kept() {
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
