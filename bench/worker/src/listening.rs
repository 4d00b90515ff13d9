//! The server process for workloads over a socket.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

/// A running server. It ends when this value is dropped.
pub(crate) struct Listening {
    pub(crate) address: String,
    /// Closed to end the server.
    lifeline: Option<ChildStdin>,
    process: Child,
}

impl Listening {
    pub(crate) fn start(program: &Path, args: &[String]) -> Self {
        let mut process = Command::new(program)
            .args(args)
            .arg("--listen")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut address).expect("the server tells its address");
        address.truncate(address.trim_end().len());
        let lifeline = process.stdin.take();
        Self { address, lifeline, process }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.process.wait();
    }
}
