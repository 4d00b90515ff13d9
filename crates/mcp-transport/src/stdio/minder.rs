//! Looks after a server's process: drains its standard error, notices its end, brings it about.

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
    time::{sleep, timeout},
};

use super::{
    ShutdownTimes,
    group::{Ask, Group},
    stderr::StderrTail,
};
use crate::{
    diagnostics::Exit,
    race::{First, race},
};

/// How long to wait for the rest of standard error once the process is gone: something it
/// started may still hold the pipe.
const STDERR_GRACE: Duration = Duration::from_millis(100);
/// How often to look whether the rest of a group is gone. There is no event for that.
const GROUP_POLL: Duration = Duration::from_millis(10);
/// How long to wait for a group to vanish after SIGKILL. Zombies that nobody reaps never do.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// The handle to the task that looks after the process. Dropping it kills the whole group.
#[derive(Debug)]
pub(super) struct Minder {
    group: Option<Arc<Group>>,
    end: Option<oneshot::Sender<()>>,
    exit: oneshot::Receiver<Exit>,
}

impl Minder {
    pub(super) fn start(
        child: Child,
        group: Arc<Group>,
        stderr: ChildStderr,
        tail: Arc<StderrTail>,
        times: ShutdownTimes,
    ) -> Self {
        let (end, ordered) = oneshot::channel();
        let (report, exit) = oneshot::channel();
        let ours = group.clone();
        // Ends by itself soon after the process does, which `Minder` and `Group` see to.
        tokio::spawn(async move {
            let mut life = pin!(mind(child, &ours, ordered, times));
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
            sweep(&ours, times).await;
        });
        Self { group: Some(group), end: Some(end), exit }
    }

    /// Starts the orderly end. The server's standard input must be closed by now.
    pub(super) fn end(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
    }

    /// Lets the orderly end go on by itself: dropping this no longer kills.
    pub(super) fn detach(mut self) {
        self.end();
        self.group = None;
    }

    /// Ready once the process is gone, with its status where it is known.
    pub(super) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Option<Exit>> {
        Pin::new(&mut self.exit).poll(cx).map(Result::ok)
    }
}

impl Drop for Minder {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            group.ask(Ask::Kill);
        }
    }
}

/// Waits for the process to end, or ends it in good order when told to.
async fn mind(
    mut child: Child,
    group: &Group,
    ordered: oneshot::Receiver<()>,
    times: ShutdownTimes,
) -> Option<Exit> {
    let ordered = match race(pin!(child.wait()), pin!(ordered)).await {
        First::Left(status) => {
            // Now that it is reaped its number may be given away, unless others hold the group.
            group.has_members();
            return status.ok().map(exit);
        }
        First::Right(ordered) => ordered,
    };
    if ordered.is_ok() {
        if let Ok(status) = timeout(times.after_eof, gone(&mut child, group)).await {
            return status;
        }
        group.ask(Ask::Terminate);
        if let Ok(status) = timeout(times.after_term, gone(&mut child, group)).await {
            return status;
        }
    }
    group.ask(Ask::Kill);
    // On Windows the tree may be unreachable; the leader itself never is.
    let _ = child.start_kill();
    child.wait().await.ok().map(exit)
}

/// Waits until the leader has ended and nobody else is left in its group.
async fn gone(child: &mut Child, group: &Group) -> Option<Exit> {
    let status = child.wait().await.ok();
    while group.has_members() {
        sleep(GROUP_POLL).await;
    }
    status.map(exit)
}

/// Ends what a leader left behind, politely first.
async fn sweep(group: &Group, times: ShutdownTimes) {
    for (ask, patience) in [(Ask::Terminate, times.after_term), (Ask::Kill, KILL_GRACE)] {
        if !group.has_members() {
            return;
        }
        group.ask(ask);
        let empty = async {
            while group.has_members() {
                sleep(GROUP_POLL).await;
            }
        };
        let _ = timeout(patience, empty).await;
    }
}

fn exit(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return Exit::Signal(signal);
        }
    }
    Exit::Code(status.code().unwrap_or(-1))
}
