//! The supervisor of a server's process: drains its standard error, reports its exit, ends it.
//!
//! The steps of a shutdown: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown>

use std::{
    future::Future,
    pin::{Pin, pin},
    process::ExitStatus,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    process::{Child, ChildStderr},
    sync::oneshot,
    task::spawn_blocking,
    time::{sleep, timeout},
};

use super::{
    options::ShutdownTimes, process_group::ProcessGroup, signal::Signal, stderr::StderrTail,
};
use crate::{
    diagnostics::Exit,
    io::race::{First, race},
};

/// How long to wait for the rest of standard error after the process has exited: a descendant may still hold the
/// pipe.
const STDERR_GRACE: Duration = Duration::from_millis(100);
/// How often to check whether the rest of a group has exited, which the system does not report.
const GROUP_POLL: Duration = Duration::from_millis(10);
/// How long to wait for a group to end after SIGKILL. Zombies that are not reaped never leave it.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// The handle to the task that supervises the process. Dropping it kills the whole group.
#[derive(Debug)]
pub(super) struct ChildHandle {
    group: Option<Arc<ProcessGroup>>,
    end: Option<oneshot::Sender<()>>,
    exit: oneshot::Receiver<Exit>,
}

impl ChildHandle {
    pub(super) fn start(
        child: Child,
        group: Arc<ProcessGroup>,
        stderr: ChildStderr,
        tail: Arc<StderrTail>,
        times: ShutdownTimes,
    ) -> Self {
        let (end, ordered) = oneshot::channel();
        let (report, exit) = oneshot::channel();
        let ours = group.clone();
        // The task ends soon after the process, which `ChildHandle` and `ProcessGroup` ensure.
        tokio::spawn(async move {
            let mut life = pin!(supervise_child(child, &ours, ordered, times));
            let mut drain = pin!(tail.drain(stderr));
            let exit = match race(life.as_mut(), drain.as_mut()).await {
                First::Left(exit) => {
                    let _ = timeout(STDERR_GRACE, drain).await;
                    exit
                }
                First::Right(()) => life.await,
            };
            if let Some(exit) = exit {
                let _ = report.send(exit);
            }
            kill_stragglers(&ours, times).await;
            kill_strays(&ours, times).await;
        });
        Self { group: Some(group), end: Some(end), exit }
    }

    /// Starts the orderly shutdown. The server's standard input must be closed by now.
    pub(super) fn end(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
    }

    /// Lets the orderly shutdown continue in the background: dropping this no longer kills the group.
    pub(super) fn detach(mut self) {
        self.end();
        self.group = None;
    }

    /// Ready once the process has exited, with its status if it is known.
    pub(super) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Option<Exit>> {
        Pin::new(&mut self.exit).poll(cx).map(Result::ok)
    }
}

impl Drop for ChildHandle {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            group.signal(Signal::Kill);
        }
    }
}

/// Waits for the process to exit, or shuts it down when ordered to.
async fn supervise_child(
    mut child: Child,
    group: &ProcessGroup,
    ordered: oneshot::Receiver<()>,
    times: ShutdownTimes,
) -> Option<Exit> {
    let ordered = match race(pin!(child.wait()), pin!(ordered)).await {
        First::Left(status) => {
            // The process is reaped, so its id may be reused, unless other members hold the group.
            group.has_members();
            return status.ok().map(exit);
        }
        First::Right(ordered) => ordered,
    };
    if ordered.is_ok() {
        if let Ok(status) = timeout(times.after_eof, gone(&mut child, group)).await {
            return status;
        }
        group.signal(Signal::Terminate);
        if let Ok(status) = timeout(times.after_term, gone(&mut child, group)).await {
            return status;
        }
    }
    group.signal(Signal::Kill);
    // On Windows the process tree may be unreachable, but the leader never is.
    let _ = child.start_kill();
    child.wait().await.ok().map(exit)
}

/// Waits until the leader has exited and its group is empty.
async fn gone(child: &mut Child, group: &ProcessGroup) -> Option<Exit> {
    let status = child.wait().await.ok();
    while group.has_members() {
        sleep(GROUP_POLL).await;
    }
    status.map(exit)
}

/// Ends the processes that a leader left behind, with SIGTERM first.
async fn kill_stragglers(group: &ProcessGroup, times: ShutdownTimes) {
    for (signal, patience) in [(Signal::Terminate, times.after_term), (Signal::Kill, KILL_GRACE)] {
        if !group.has_members() {
            return;
        }
        group.signal(signal);
        let empty = async {
            while group.has_members() {
                sleep(GROUP_POLL).await;
            }
        };
        let _ = timeout(patience, empty).await;
    }
}

/// Ends descendants that have left the group, with SIGTERM first.
async fn kill_strays(group: &Arc<ProcessGroup>, times: ShutdownTimes) {
    for (signal, patience) in
        [(Signal::Terminate, times.after_term), (Signal::Kill, Duration::ZERO)]
    {
        let group = group.clone();
        // It reads `/proc`, which has an entry for every process of the system.
        let found = spawn_blocking(move || group.signal_strays(signal)).await;
        if !found.unwrap_or(false) {
            return;
        }
        sleep(patience).await;
    }
}

pub(super) fn exit(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return Exit::Signal(signal);
        }
    }
    Exit::Code(status.code().unwrap_or(-1))
}
