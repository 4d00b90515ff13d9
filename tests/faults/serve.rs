//! Runs the servers of the matrix, in separate processes or in this one.

mod http;
pub(crate) mod in_process;
mod stdio;
mod tls;
mod ws;

use std::{path::Path, process, time::Duration};

use nix::{
    sys::signal::{Signal, kill, raise},
    unistd::Pid,
};

pub(crate) use self::tls::certificates;
use crate::{
    matrix::{Fault, Transport},
    script::Script,
};

/// Pause between two bytes of a dripping answer.
const BETWEEN_BYTES: Duration = Duration::from_millis(2);

/// Serves until this process is killed. Remote servers print their port first.
pub(crate) fn run(transport: Transport, fault: Fault, folder: &Path, port: u16) {
    let script = Script::new(transport, fault, folder.to_owned());
    script.sign();
    if transport == Transport::Stdio {
        return stdio::serve(&script);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let tls = (fault == Fault::Tls).then(|| tls::Doors::read(folder));
        match transport {
            Transport::Ws => ws::serve(script, port, tls).await,
            _ => http::serve(script, port, tls).await,
        }
    });
}

/// Kills this process without flushing, as the out-of-memory killer does.
fn die() -> ! {
    let _ = kill(Pid::this(), Signal::SIGKILL);
    process::abort()
}

/// Stops this process until it is continued or killed.
fn freeze() {
    let _ = raise(Signal::SIGSTOP);
}

/// Prints the port for the rig.
#[expect(clippy::print_stdout, reason = "the rig reads it")]
fn announce(port: u16) {
    println!("{port}");
}
