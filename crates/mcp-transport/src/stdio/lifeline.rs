//! A watchdog that outlives the host, for the one case in which nothing of ours runs any more.
//!
//! When the host is killed with SIGKILL no destructor runs. Servers that end when their standard
//! input does go away by themselves, stubborn ones would stay. One `sh` per host reads from a pipe
//! which groups there are; the pipe's end, which the kernel brings about however the host dies,
//! makes it end them. `PR_SET_PDEATHSIG` is no alternative: it needs `unsafe`, follows the thread
//! that forked, and does not reach grandchildren.

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, Write as _},
    process::{ChildStdin, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
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

/// The host's way to its one watchdog.
#[derive(Debug)]
pub(super) struct Lifeline(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Every group there is, for a new watchdog should somebody kill the one we have.
    groups: BTreeSet<u32>,
    pipe: Option<ChildStdin>,
}

static SHARED: Lifeline = Lifeline(Mutex::new(State { groups: BTreeSet::new(), pipe: None }));

/// The host's one watchdog, started when the first server needs it. It ends with the host.
///
/// `None` where there is no `sh`: then servers are on their honour, which is told.
pub(super) fn shared() -> Option<&'static Lifeline> {
    if !cfg!(unix) {
        return None;
    }
    match SHARED.lock().ensure() {
        Ok(()) => Some(&SHARED),
        Err(error) => {
            tracing::warn!(%error, "no watchdog: servers may outlive a host that is killed");
            None
        }
    }
}

impl Lifeline {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, group: u32) {
        let mut state = self.lock();
        state.groups.insert(group);
        state.tell(format_args!("add {group}\n"));
    }

    pub(super) fn remove(&self, group: u32) {
        let mut state = self.lock();
        state.groups.remove(&group);
        state.tell(format_args!("del {group}\n"));
    }
}

impl State {
    /// Starts a watchdog unless there is one, and tells it what there is to watch.
    fn ensure(&mut self) -> io::Result<()> {
        // A blank line means nothing to a watchdog, and shows whether one is there to read it.
        self.tell(format_args!("\n"));
        if self.pipe.is_some() {
            return Ok(());
        }
        self.pipe = Some(start()?);
        for group in self.groups.clone() {
            self.tell(format_args!("add {group}\n"));
        }
        Ok(())
    }

    /// A few bytes into an empty pipe: this does not block.
    fn tell(&mut self, line: fmt::Arguments<'_>) {
        let line = line.to_string();
        if self.pipe.as_mut().is_some_and(|pipe| pipe.write_all(line.as_bytes()).is_err()) {
            self.pipe = None;
        }
    }
}

fn start() -> io::Result<ChildStdin> {
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
    let pipe = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    // Ended by the pipe, and reaped here: a thread that sleeps is all it takes.
    std::thread::Builder::new()
        .name("mcp-lifeline".into())
        .stack_size(64 << 10)
        .spawn(move || drop(child.wait()))?;
    Ok(pipe)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    /// Runs the script on these lines, and returns the groups it would end, each asked twice.
    fn ended(lines: &str) -> Vec<String> {
        // Functions come before programs, so nothing is killed and nobody waits.
        let script = format!("kill() {{ echo \"$*\"; }}\nsleep() {{ :; }}\n{SCRIPT}");
        let mut shell = Command::new("/bin/sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = shell.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_left_is_asked_and_then_ended() {
        assert_eq!(
            ended("add 10\nadd 11\n\nadd 12\ndel 11\n"),
            ["-s TERM -- -10", "-s TERM -- -12", "-s KILL -- -10", "-s KILL -- -12"]
        );
    }

    #[test]
    fn nothing_left_is_nothing_done() {
        assert_eq!(ended(""), [""; 0]);
        assert_eq!(ended("add 7\ndel 7\ndel 7\n"), [""; 0]);
    }

    #[test]
    fn numbers_that_contain_each_other_are_told_apart() {
        assert_eq!(ended("add 1\nadd 11\nadd 111\ndel 11\ndel 1111\n").len(), 4);
    }

    #[test]
    fn many_servers_come_and_go() {
        let adds = (2..2000).map(|group| format!("add {group}\n"));
        let dels = (2..2000).filter(|n| n % 100 != 0).map(|n| format!("del {n}\n"));
        let lines: Vec<String> = adds.chain(dels).collect();
        assert_eq!(ended(&lines.concat()).len(), 2 * 19);
    }

    #[test]
    fn garbage_on_the_line_harms_nobody() {
        assert_eq!(ended("add\nnonsense 5\ndel\n*\nadd 9\n"), ["-s TERM -- -9", "-s KILL -- -9"]);
    }
}
