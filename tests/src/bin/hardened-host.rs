//! A host that hardens itself as the `mcp` command does, and starts one server.
//!
//! Argument: a script for the server, which runs in `/bin/sh -c` and sends one notification. Prints whether the host
//! has a terminal and whether it is dumpable, then the message.

use std::{future::poll_fn, io::Write as _};

use mcp_transport::{Connect as _, Stdio, StdioOptions, process::harden_host};

fn main() {
    harden_host().expect("a hardened host");
    let script = std::env::args().nth(1).expect("a script");
    let mut options = StdioOptions::new("/bin/sh");
    options.args = vec!["-c".into(), script.into()];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let said = runtime.expect("a runtime").block_on(async {
        let mut link = Stdio::new(options).connect().await.expect("a server");
        let mut batch = Vec::new();
        poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.expect("a message");
        format!("{:?}", batch[0])
    });
    let has_terminal = std::fs::File::open("/dev/tty").is_ok();
    let line = format!("terminal {has_terminal}, dumpable {}: {said}\n", is_dumpable());
    std::io::stdout().write_all(line.as_bytes()).expect("stdout is open");
}

#[cfg(target_os = "linux")]
fn is_dumpable() -> bool {
    nix::sys::prctl::get_dumpable().expect("a flag")
}

#[cfg(not(target_os = "linux"))]
fn is_dumpable() -> bool {
    false
}
