//! Watches configuration files and resolves them again when one changes.

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

use crate::resolve::{Diff, Layers, Resolution, resolve};

/// Waits until changes have settled, because an editor writes, renames and touches in quick succession.
///
/// Plain state: the time is an argument.
#[derive(Clone, Debug)]
struct Debounce {
    quiet: Duration,
    longest: Duration,
    /// The times of the first and the last change.
    changes: Option<(Instant, Instant)>,
}

impl Debounce {
    /// Settles after `quiet` without a change, but at the latest after ten times that.
    fn new(quiet: Duration) -> Self {
        Self { quiet, longest: quiet * 10, changes: None }
    }

    /// Records a change.
    fn changed(&mut self, now: Instant) {
        self.changes.get_or_insert((now, now)).1 = now;
    }

    /// When changes will have settled; `None` if there are none.
    fn deadline(&self) -> Option<Instant> {
        let (first, last) = self.changes?;
        Some((last + self.quiet).min(first + self.longest))
    }

    /// Whether changes have settled by `now`; if so, resets.
    fn settled(&mut self, now: Instant) -> bool {
        let settled = self.deadline().is_some_and(|deadline| now >= deadline);
        if settled {
            self.changes = None;
        }
        settled
    }
}

/// The result of a change on disk.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Update {
    /// The new resolution.
    pub resolution: Resolution,
    /// The servers that were added, removed or changed.
    pub diff: Diff,
}

/// Why watching could not start.
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

/// Watches files from a background thread until dropped.
///
/// Watches folders rather than files, because editors and this crate replace files instead of writing to
/// them, and because a file may not exist yet.
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
    /// Watches `files`. After changes have settled for `quiet`, calls `load` for the current layers. If the
    /// resolution differs in anything (such as a server that needs approval, or a new diagnostic), calls
    /// `update` with it. The diff is empty if no active server changed.
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
            // An error may have hidden an event, so reload.
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
        // Load after the watch has started, so that no change is missed.
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

/// Whether the system watches paths. Other systems watch the folder's inode.
const WATCHES_PATHS: bool = cfg!(target_os = "macos");

/// How often to check again for folders that appear or vanish while the watch is set up.
const MAX_ROUNDS: usize = 8;

/// The watched folders.
struct Folders {
    system: Box<dyn notify::Watcher + Send>,
    files: Vec<PathBuf>,
    watched: BTreeSet<PathBuf>,
}

impl Folders {
    /// Watches the nearest existing folder of each file.
    fn follow(&mut self) -> notify::Result<()> {
        if !WATCHES_PATHS {
            // A folder that was removed and created again is a different folder, even with the same inode
            // number. Only a new watch is certain to be on the current one.
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
            // Changes before the watch began were not reported, so check once more.
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
                // A deleted folder is not watched any more, so ignore the error.
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
            // Before loading, so that later changes are reported or loaded.
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

/// The path of a file and, if it is a symlink, the path of its target.
fn spellings(file: &Path) -> Vec<PathBuf> {
    let mut paths = vec![file.to_owned()];
    paths.extend(file.canonicalize().ok().filter(|real| real != file));
    paths
}

/// Whether an event at `path` may concern one of `files`: the file itself, or a parent folder that was just
/// created.
fn concerns(files: &[PathBuf], path: &Path) -> bool {
    files
        .iter()
        .any(|file| file == path || file.starts_with(path) || file.file_name() == path.file_name())
}

/// The nearest existing folder of `file`.
fn nearest_folder(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_settle_after_quiet_period_or_ten_times_it() {
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
