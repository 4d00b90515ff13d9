//! Servers in processes of their own, and one in ours.

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
    matrix::{Carrier, Fault},
    script::Script,
};

/// Between two bytes of an answer that drips.
const BETWEEN_BYTES: Duration = Duration::from_millis(2);

/// Serves until somebody ends this process. Remote ones print their port first.
pub(crate) fn run(carrier: Carrier, fault: Fault, folder: &Path, port: u16) {
    let script = Script::new(carrier, fault, folder.to_owned());
    script.sign();
    if carrier == Carrier::Stdio {
        return stdio::serve(&script);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let tls = (fault == Fault::Tls).then(|| tls::Doors::read(folder));
        match carrier {
            Carrier::Ws => ws::serve(script, port, tls).await,
            _ => http::serve(script, port, tls).await,
        }
    });
}

/// Ends this process as the system does when it needs its memory: nothing is flushed or told.
fn die() -> ! {
    let _ = kill(Pid::this(), Signal::SIGKILL);
    process::abort()
}

/// Stops this process until it is told to go on, or killed.
fn freeze() {
    let _ = raise(Signal::SIGSTOP);
}

/// Tells the rig where to find us.
#[expect(clippy::print_stdout, reason = "the rig reads it")]
fn announce(port: u16) {
    println!("{port}");
}
