//! A new resolution, and what it changed, whenever a file does.

use std::{
    collections::BTreeSet,
    error::Error,
    fmt,
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use notify::RecursiveMode;

use crate::{
    diff::Diff,
    resolve::{Layers, Resolution, resolve},
};

/// Waits until changes have settled: an editor that saves writes, renames and touches at once.
///
/// Plain state: the time is an argument.
#[derive(Clone, Debug)]
struct Debounce {
    quiet: Duration,
    longest: Duration,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Debounce {
    /// Settled after `quiet` without a change, or after ten times that in any case.
    fn new(quiet: Duration) -> Self {
        Self { quiet, longest: quiet * 10, first: None, last: None }
    }

    /// A change happened.
    fn changed(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// When it will have settled; `None` if nothing has changed.
    fn deadline(&self) -> Option<Instant> {
        let (first, last) = (self.first?, self.last?);
        Some((last + self.quiet).min(first + self.longest))
    }

    /// Whether changes have settled by `now`; if so, starts over.
    fn settled(&mut self, now: Instant) -> bool {
        let settled = self.deadline().is_some_and(|deadline| now >= deadline);
        if settled {
            (self.first, self.last) = (None, None);
        }
        settled
    }
}

/// What a change on disk led to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Update {
    /// The answer as it is now.
    pub resolution: Resolution,
    /// Which servers came, went or changed.
    pub diff: Diff,
}

/// Why watching could not begin.
#[derive(Debug)]
pub struct WatchError(Box<dyn Error + Send + Sync>);

impl fmt::Display for WatchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("could not watch the configuration files")
    }
}

impl Error for WatchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// Watches files from a thread of its own until dropped.
///
/// Folders are watched rather than files, since editors and this crate replace a file instead of
/// writing into it, and since a file may not exist yet.
#[derive(Debug)]
pub struct Watcher {
    signals: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
}

enum Signal {
    Changed,
    Stop,
}

impl Watcher {
    /// Watches `files`. After each change that has settled for `quiet`, `load` is called for the
    /// layers as they are now; if the answer differs in anything (a server that waits for approval, a
    /// new diagnostic), `update` is called with it. Its diff is empty when no active server changed.
    pub fn new(
        files: &[PathBuf],
        quiet: Duration,
        load: impl Fn() -> Layers + Send + 'static,
        update: impl FnMut(Update) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let (signals, incoming) = mpsc::channel();
        let watched: Vec<PathBuf> = files.iter().flat_map(|file| spellings(file)).collect();
        let report = signals.clone();
        let names = watched.clone();
        let system = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // An error may have swallowed an event: look again rather than miss it.
            let concerns = event.map_or(true, |event| {
                !event.kind.is_access() && event.paths.iter().any(|path| concerns(&names, path))
            });
            if concerns {
                let _ = report.send(Signal::Changed);
            }
        })
        .map_err(|error| WatchError(error.into()))?;
        let mut folders =
            Folders { system: Box::new(system), files: watched, watched: BTreeSet::new() };
        folders.follow().map_err(|error| WatchError(error.into()))?;
        // After the watch began, so that no change falls between.
        let before = resolve(&load());
        let thread = thread::Builder::new().name("mcp-config watch".to_owned());
        let thread = thread.spawn(move || {
            run(&incoming, &mut folders, Debounce::new(quiet), before, load, update);
        });
        Ok(Self { signals, thread: Some(thread.map_err(|error| WatchError(error.into()))?) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.signals.send(Signal::Stop);
        if let Some(thread) =
            self.thread.take().filter(|thread| thread.thread().id() != thread::current().id())
        {
            let _ = thread.join();
        }
    }
}

/// Whether the system watches whatever stands at a path. Elsewhere it watches the folder itself.
const WATCHES_PATHS: bool = cfg!(target_os = "macos");

/// How often to look again for folders that come and go while the watch is being set up.
const MAX_ROUNDS: usize = 8;

/// The folders being watched.
struct Folders {
    system: Box<dyn notify::Watcher + Send>,
    files: Vec<PathBuf>,
    watched: BTreeSet<PathBuf>,
}

impl Folders {
    /// Watches the nearest folder of each file that exists by now.
    fn follow(&mut self) -> notify::Result<()> {
        if !WATCHES_PATHS {
            // A folder that was removed and made again is another folder, even under the same
            // number: only a new watch is sure to be on the one that is there now.
            self.forget(|_| true);
        }
        let mut outcome = Ok(());
        for _ in 0..MAX_ROUNDS {
            let now = self.nearest();
            self.forget(|folder| !now.contains(folder));
            outcome = now.difference(&self.watched.clone()).try_for_each(|folder| {
                self.system.watch(folder, RecursiveMode::NonRecursive)?;
                self.watched.insert(folder.clone());
                Ok(())
            });
            // What came or went before its watch began was not reported: look once more.
            if outcome.is_ok() && self.nearest() == self.watched {
                break;
            }
        }
        outcome
    }

    fn forget(&mut self, which: impl Fn(&PathBuf) -> bool) {
        let system = &mut self.system;
        self.watched.retain(|folder| {
            let forget = which(folder);
            if forget {
                // One that is gone is no longer watched anyway.
                let _ = system.unwatch(folder);
            }
            !forget
        });
    }

    fn nearest(&self) -> BTreeSet<PathBuf> {
        self.files.iter().filter_map(|file| nearest_folder(file)).map(Path::to_owned).collect()
    }
}

fn run(
    incoming: &Receiver<Signal>,
    folders: &mut Folders,
    mut debounce: Debounce,
    mut before: Resolution,
    load: impl Fn() -> Layers,
    mut update: impl FnMut(Update),
) {
    loop {
        let signal = match debounce.deadline() {
            Some(deadline) => {
                incoming.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            }
            None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match signal {
            Ok(Signal::Changed) => debounce.changed(Instant::now()),
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
        if debounce.settled(Instant::now()) {
            // Before loading: what appears from here on is seen by one or the other.
            let _ = folders.follow();
            let resolution = resolve(&load());
            if resolution != before {
                let diff = Diff::between(&before, &resolution);
                before = resolution.clone();
                update(Update { resolution, diff });
            }
        }
    }
}

/// A file by its own path and, when it is a link, by that of what it stands for.
fn spellings(file: &Path) -> Vec<PathBuf> {
    let mut paths = vec![file.to_owned()];
    paths.extend(file.canonicalize().ok().filter(|real| real != file));
    paths
}

/// Whether an event at `path` may be about one of `files`: the file itself, or a folder on the way
/// to it that has just come into being.
fn concerns(files: &[PathBuf], path: &Path) -> bool {
    files
        .iter()
        .any(|file| file == path || file.starts_with(path) || file.file_name() == path.file_name())
}

/// The nearest folder of `file` that exists.
fn nearest_folder(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_settle_after_a_pause_and_at_the_latest_after_ten() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut debounce = Debounce::new(Duration::from_millis(100));
        assert!(!debounce.settled(at(1000)));
        debounce.changed(at(0));
        debounce.changed(at(90));
        assert!(!debounce.settled(at(150)));
        assert!(debounce.settled(at(190)));
        assert_eq!(debounce.deadline(), None);
        for step in 0..40 {
            debounce.changed(at(1000 + step * 50));
        }
        assert!(debounce.settled(at(2000)));
    }
}
