//! The command line of a worker.

use std::path::PathBuf;

/// Which protocol a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// The default of the library.
    Default,
    /// `initialize`, 2025-11-25.
    Legacy,
    /// `server/discover`, 2026-07-28.
    Modern,
}

/// The transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Stdio,
    /// HTTP with JSON responses.
    Json,
    /// HTTP with responses in event streams.
    Sse,
    Ws,
}

/// One workload and its size.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) workload: String,
    /// Measured repetitions, without the warm-up.
    pub(crate) iterations: usize,
    /// Calls in flight.
    pub(crate) depth: usize,
    /// `small`, `large`, `plain`, `structured` or `list`, for workloads that support several.
    pub(crate) what: String,
    /// Connections to hold.
    pub(crate) servers: usize,
    pub(crate) tools: usize,
    pub(crate) tool_bytes: usize,
    pub(crate) era: Era,
    pub(crate) over: Over,
    /// Tune the library for speed.
    pub(crate) tuned: bool,
    /// One thread instead of tokio's default, so that callgrind's counts do not depend on work stealing.
    pub(crate) current_thread: bool,
    /// Await in `async fn main`, as examples do, instead of in a spawned task.
    pub(crate) from_main: bool,
    pub(crate) server: PathBuf,
}

impl Options {
    pub(crate) fn from_args(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let beside_us = std::env::current_exe()
            .map_err(|error| error.to_string())?
            .with_file_name("bench-server");
        let mut options = Self {
            workload: args.next().ok_or("usage: <workload> [--iterations N] ...")?,
            iterations: 1,
            depth: 1,
            what: "small".into(),
            servers: 1,
            tools: 20,
            tool_bytes: 1024,
            era: Era::Legacy,
            over: Over::Stdio,
            tuned: false,
            current_thread: false,
            from_main: false,
            server: beside_us,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--current-thread" => options.current_thread = true,
                // On one thread, wake-ups need no system calls.
                "--tuned" => (options.tuned, options.current_thread) = (true, true),
                "--from-main" => options.from_main = true,
                _ => {
                    options.set(&arg, args.next().ok_or_else(|| format!("{arg} needs a value"))?)?
                }
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        let number = || value.parse::<usize>().map_err(|_| format!("{name} needs a number"));
        match name {
            "--iterations" => self.iterations = number()?.max(1),
            "--depth" => self.depth = number()?.max(1),
            "--servers" => self.servers = number()?.max(1),
            "--tools" => self.tools = number()?,
            "--tool-bytes" => self.tool_bytes = number()?,
            "--what" => self.what = value,
            "--server" => self.server = value.into(),
            "--era" => {
                self.era = match value.as_str() {
                    "default" => Era::Default,
                    "legacy" => Era::Legacy,
                    "modern" => Era::Modern,
                    _ => return Err(format!("no era {value}")),
                }
            }
            "--over" => {
                self.over = match value.as_str() {
                    "stdio" => Over::Stdio,
                    "json" => Over::Json,
                    "sse" => Over::Sse,
                    "ws" => Over::Ws,
                    _ => return Err(format!("nothing goes over {value}")),
                }
            }
            _ => return Err(format!("unknown argument {name}")),
        }
        Ok(())
    }

    /// The tool to call.
    pub(crate) fn tool(&self) -> &'static str {
        if self.what == "large" { "large" } else { "small" }
    }
}
