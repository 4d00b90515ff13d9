//! A watchdog that outlives the host, for the one case in which nothing of ours runs any more.
//!
//! When the host is killed with SIGKILL no destructor runs. Servers that end when their standard
//! input does go away by themselves, stubborn ones would stay. One `sh` per host reads from a pipe
//! which groups there are; the pipe's end, which the kernel brings about however the host dies,
//! makes it end them. `PR_SET_PDEATHSIG` is no alternative: it needs `unsafe`, follows the thread
//! that forked, and does not reach grandchildren.

use std::{
    io::Write as _,
    process::{ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// `add` and `del` keep a list in `$groups`; at end of file whatever is left is ended, politely
/// first. `kill -s X -- -N` is the spelling that dash understands too.
const SCRIPT: &str = r#"
groups=" "
while read -r verb group; do
  case "$verb" in
    add) groups="$groups$group " ;;
    del) case "$groups" in
      *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac ;;
  esac
done
[ "$groups" = " " ] && exit 0
for group in $groups; do kill -s TERM -- "-$group" 2>/dev/null; done
sleep 1
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
"#;

/// The pipe to the watchdog.
#[derive(Debug)]
pub(super) struct Lifeline {
    pipe: Mutex<ChildStdin>,
    broken: AtomicBool,
}

static SHARED: Mutex<Option<Arc<Lifeline>>> = Mutex::new(None);

/// The host's one watchdog, started when the first server needs it. It ends with the host.
///
/// `None` where there is no `sh`: then servers are on their honour, which is told once.
pub(super) fn shared() -> Option<Arc<Lifeline>> {
    if !cfg!(unix) {
        return None;
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lifeline) = shared.as_ref().filter(|known| !known.broken.load(Ordering::Relaxed)) {
        return Some(lifeline.clone());
    }
    match start() {
        Ok(lifeline) => {
            let lifeline = Arc::new(lifeline);
            *shared = Some(lifeline.clone());
            Some(lifeline)
        }
        Err(error) => {
            tracing::warn!(%error, "no watchdog: servers may outlive a host that is killed");
            None
        }
    }
}

fn start() -> std::io::Result<Lifeline> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "mcp-lifeline"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // Whatever ends the host's group must not end its watchdog too.
        command.process_group(0);
    }
    let mut child = command.spawn()?;
    let pipe = child.stdin.take().ok_or_else(|| std::io::Error::other("no pipe"))?;
    // Ended by the pipe, and reaped here: a thread that sleeps is all it takes.
    std::thread::Builder::new()
        .name("mcp-lifeline".into())
        .stack_size(64 << 10)
        .spawn(move || drop(child.wait()))?;
    Ok(Lifeline { pipe: Mutex::new(pipe), broken: AtomicBool::new(false) })
}

impl Lifeline {
    pub(super) fn add(&self, group: u32) {
        self.tell(format_args!("add {group}\n"));
    }

    pub(super) fn remove(&self, group: u32) {
        self.tell(format_args!("del {group}\n"));
    }

    /// A few bytes into an empty pipe: this does not block. If somebody killed the watchdog, the
    /// next server gets a new one.
    fn tell(&self, line: std::fmt::Arguments<'_>) {
        let line = line.to_string();
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        if pipe.write_all(line.as_bytes()).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}
