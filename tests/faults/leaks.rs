//! What is left behind: tasks, file descriptors, processes, and words that nobody should have said.

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

/// How long whatever is ending may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks at what is ending.
const PAUSE: Duration = Duration::from_millis(20);
/// What has not changed for so many looks has ended.
const ENOUGH: usize = 15;

/// The descriptors there were before. Tasks and processes there were none.
pub(crate) struct Baseline {
    files: Vec<String>,
}

impl Baseline {
    /// Waits until what came before has ended: a baseline that is too high hides a leak.
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

    /// What there is beyond that, once everything has had time to end. Servers are the rig's, which
    /// keeps `kept` of them.
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

/// What every descriptor of this process stands for, without the numbers of inodes.
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

/// Everything that is said in this process: log lines, and what a host is shown.
#[derive(Clone, Default)]
pub(crate) struct Words(Arc<Mutex<String>>);

impl Words {
    /// Hears all log lines of this process from now on.
    pub(crate) fn listen() -> Self {
        let words = Self::default();
        tracing::subscriber::set_global_default(words.clone()).expect("it is the first");
        words
    }

    pub(crate) fn add(&self, words: impl fmt::Debug) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(all, "{words:?}");
    }

    /// The lines that hold this.
    pub(crate) fn holding(&self, secret: &str) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.lines().filter(|line| line.contains(secret)).map(str::to_owned).collect()
    }

    /// How many lines there are.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lines().count()
    }
}

impl Subscriber for Words {
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
