//! A watchdog process that ends the servers if the host is killed.
//!
//! When the host is killed with SIGKILL, no destructor runs. Most servers exit at the end of their standard input,
//! but some would stay. One `sh` per host reads the process groups from a pipe and ends them when the pipe is closed,
//! which the kernel does however the host dies. `PR_SET_PDEATHSIG` is not an alternative: it needs `unsafe`, follows
//! the thread that forked, and does not reach grandchildren.

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, Write as _},
    process::{ChildStdin, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// `add` and `del` maintain a list in `$groups`; at end of file, the groups in the list are ended, with SIGTERM
/// first. dash requires the form `kill -s X -- -N`.
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

/// The host's handle to its watchdog.
#[derive(Debug)]
pub(super) struct Lifeline(Mutex<State>);

#[derive(Debug)]
struct State {
    /// All current groups, for a new watchdog in case the current one is killed.
    groups: BTreeSet<u32>,
    pipe: Option<ChildStdin>,
}

static SHARED: Lifeline = Lifeline(Mutex::new(State { groups: BTreeSet::new(), pipe: None }));

/// Returns the host's watchdog, which is started for the first server and ends with the host.
///
/// `None` on systems other than Unix, and with a logged warning if `sh` cannot be started. Then servers may outlive a
/// killed host.
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
    /// Starts a watchdog unless one is running, and sends it the current groups.
    fn ensure(&mut self) -> io::Result<()> {
        // A watchdog ignores a blank line. Writing one shows whether a watchdog is running.
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

    /// Does not block: a few bytes to an empty pipe.
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
        // A signal to the host's group must not end the watchdog too.
        command.process_group(0);
    }
    let mut child = command.spawn()?;
    let pipe = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    // It ends with the pipe. A sleeping thread reaps it.
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

    /// Runs the script on these lines, and returns the groups it would end, each listed twice.
    fn ended(lines: &str) -> Vec<String> {
        // Shell functions take precedence over programs, so this does not kill or sleep.
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
    fn remaining_processes_get_sigterm_then_sigkill() {
        assert_eq!(
            ended("add 10\nadd 11\n\nadd 12\ndel 11\n"),
            ["-s TERM -- -10", "-s TERM -- -12", "-s KILL -- -10", "-s KILL -- -12"]
        );
    }

    #[test]
    fn finished_groups_are_not_signalled() {
        assert_eq!(ended(""), [""; 0]);
        assert_eq!(ended("add 7\ndel 7\ndel 7\n"), [""; 0]);
    }

    #[test]
    fn process_ids_with_a_common_prefix_are_distinguished() {
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
    fn garbage_lines_are_skipped() {
        assert_eq!(ended("add\nnonsense 5\ndel\n*\nadd 9\n"), ["-s TERM -- -9", "-s KILL -- -9"]);
    }
}
