//! Signals to processes and process groups.

/// The signals that end a process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    Terminate,
    Kill,
}

#[cfg(unix)]
mod system {
    use nix::{
        sys::signal::{Signal as Number, kill, killpg},
        unistd::Pid,
    };

    use super::Signal;

    impl From<Signal> for Number {
        fn from(signal: Signal) -> Self {
            match signal {
                Signal::Terminate => Number::SIGTERM,
                Signal::Kill => Number::SIGKILL,
            }
        }
    }

    /// Signals every member of a group. Returns whether there was one.
    pub(in super::super) fn signal_group(leader: u32, signal: Signal) -> bool {
        pid(leader).is_some_and(|group| killpg(group, Number::from(signal)).is_ok())
    }

    /// Whether a group has members.
    pub(in super::super) fn group_exists(leader: u32) -> bool {
        pid(leader).is_some_and(|group| killpg(group, None).is_ok())
    }

    /// Signals one process. Returns whether it exists.
    #[cfg(target_os = "linux")]
    pub(in super::super) fn signal_process(process: u32, signal: Signal) -> bool {
        pid(process).is_some_and(|process| kill(process, Number::from(signal)).is_ok())
    }

    /// Id 0 would signal our group, and id 1 every process.
    fn pid(number: u32) -> Option<Pid> {
        i32::try_from(number).ok().filter(|&number| number > 1).map(Pid::from_raw)
    }
}

/// Uses `taskkill` to end a process and its descendants, since job objects need `unsafe`. It cannot end console
/// programs gracefully, so only the end of standard input requests an orderly exit.
#[cfg(not(unix))]
mod system {
    use std::process::{Command, Stdio};

    use super::Signal;

    pub(in super::super) fn signal_group(leader: u32, signal: Signal) -> bool {
        match signal {
            Signal::Terminate => true,
            Signal::Kill => Command::new("taskkill")
                .args(["/T", "/F", "/PID", &leader.to_string()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success()),
        }
    }

    /// `taskkill /T` walks the tree from its root, so the tree is unreachable once the root has exited.
    pub(in super::super) fn group_exists(_leader: u32) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
pub(super) use self::system::signal_process;
pub(super) use self::system::{group_exists, signal_group};
