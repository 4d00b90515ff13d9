//! Detects leaked tasks, file descriptors, processes and secrets.

use std::{
    fmt::{self, Write as _},
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::rig::Rig;

/// Time limit for tasks and processes to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Pause between two counts.
const PAUSE: Duration = Duration::from_millis(20);
/// Number of equal counts in a row after which the process counts as settled.
const ENOUGH: usize = 15;

/// The open file descriptors before a cell. There are no tasks or processes then.
pub(crate) struct Baseline {
    files: Vec<String>,
}

impl Baseline {
    /// Waits until earlier work has ended: a baseline that is too high hides a leak.
    pub(crate) async fn settled() -> Self {
        let until = Instant::now() + PATIENCE;
        let (mut files, mut same) = (open_files(), 0);
        while same < ENOUGH && Instant::now() < until {
            tokio::time::sleep(PAUSE).await;
            let now = open_files();
            same = if tasks() == 0 && now == files { same + 1 } else { 0 };
            files = now;
        }
        Self { files }
    }

    /// The resources beyond the baseline, once everything has had time to end. The rig keeps `kept` servers running.
    pub(crate) async fn leaks(&self, rig: &Rig, kept: usize) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let leaks = self.beyond(rig, kept);
            if leaks.is_empty() || Instant::now() > until {
                return leaks;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn beyond(&self, rig: &Rig, kept: usize) -> Vec<String> {
        let mut leaks = Vec::new();
        let files = open_files();
        if files.len() > self.files.len() {
            leaks.push(format!("files: {:?} became {files:?}", self.files));
        }
        if tasks() > 0 {
            leaks.push(format!("tasks: {} are left", tasks()));
        }
        let servers = rig.servers().len();
        if servers > kept {
            leaks.push(format!("processes: {servers} where {kept} should be"));
        }
        leaks
    }
}

/// The target of every open file descriptor, without inode numbers.
fn open_files() -> Vec<String> {
    let entries = fs::read_dir("/proc/self/fd").expect("this is Linux").flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let mut all: Vec<String> =
        links.map(|link| link.display().to_string()).filter(|link| !link.contains("/fd")).collect();
    all.sort();
    all
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// All output of this process: log lines and values shown to a host.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<Mutex<String>>);

impl Output {
    /// Captures all log lines of this process from now on.
    pub(crate) fn listen() -> Self {
        let words = Self::default();
        tracing::subscriber::set_global_default(words.clone()).expect("it is the first");
        words
    }

    pub(crate) fn add(&self, words: impl fmt::Debug) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(all, "{words:?}");
    }

    /// The lines that contain `secret`.
    pub(crate) fn holding(&self, secret: &str) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.lines().filter(|line| line.contains(secret)).map(str::to_owned).collect()
    }

    /// The number of captured lines.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lines().count()
    }
}

impl Subscriber for Output {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        let mut line = Line::default();
        span.record(&mut line);
        self.add(line.0);
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        let mut line = Line::default();
        values.record(&mut line);
        self.add(line.0);
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.add(line.0);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}
