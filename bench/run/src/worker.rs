//! The worker programs, and how to run one.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};

/// An index into [`CONTENDERS`].
pub(crate) type Contender = usize;

/// The contenders in the order of the table's columns.
pub(crate) const CONTENDERS: [&str; 6] = ["floor", "ours", "rmcp", "tuned", "bridge", "serde-json"];

pub(crate) const FLOOR: Contender = 0;
pub(crate) const OURS: Contender = 1;
pub(crate) const RMCP: Contender = 2;
/// rmcp, tuned for speed.
pub(crate) const TUNED: Contender = 3;
/// Our bridge on top of our client.
pub(crate) const BRIDGE: Contender = 4;

/// Our types decoded by `serde_json`. Only decodes.
pub(crate) const SERDE_JSON: Contender = 5;

/// Named figures of one run.
pub(crate) type Figures = HashMap<String, f64>;

/// The worker programs beside our own.
pub(crate) struct Workers {
    programs: Vec<PathBuf>,
    /// The CPU for pinned workloads.
    cpu: String,
    /// Threads of a runtime on this machine, pinned or not.
    threads: String,
}

impl Workers {
    /// The programs of `contenders`, which must have been built. The others need not exist.
    pub(crate) fn find(contenders: &[Contender]) -> Result<Self, String> {
        let us = std::env::current_exe().map_err(|error| error.to_string())?;
        let programs: Vec<_> = CONTENDERS
            .iter()
            .enumerate()
            .map(|(contender, name)| if contender == TUNED { CONTENDERS[RMCP] } else { name })
            .map(|name| us.with_file_name(format!("bench-{name}")))
            .collect();
        let mut wanted = contenders.iter().map(|&contender| &programs[contender]);
        if let Some(missing) = wanted.find(|program| !program.exists()) {
            return Err(format!(
                "{} is missing; build the whole workspace: cargo build --release",
                missing.display()
            ));
        }
        let threads = thread::available_parallelism().map_or(2, usize::from).to_string();
        Ok(Self { programs, cpu: last_cpu()?, threads })
    }

    pub(crate) fn program(&self, contender: Contender) -> &Path {
        &self.programs[contender]
    }

    /// Further arguments of a contender's program.
    pub(crate) fn setup(contender: Contender) -> &'static [&'static str] {
        if contender == TUNED { &["--tuned"] } else { &[] }
    }

    /// Runs one worker to its end and returns its figures.
    pub(crate) fn run(
        &self,
        contender: Contender,
        args: &[&str],
        iterations: usize,
        pinned: bool,
    ) -> Result<Figures, String> {
        let program = self.program(contender);
        let mut command = if pinned {
            let mut command = Command::new("taskset");
            command.args(["-c", &self.cpu]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command
            .args(args)
            .args(Self::setup(contender))
            .args(["--iterations", &iterations.to_string()]);
        // Tokio would count the CPUs it may run on; a host's runtime has all of the machine's.
        command.env("TOKIO_WORKER_THREADS", &self.threads);
        figures(&output(&mut command)?)
    }
}

/// Runs `command` to its end. An error if it cannot start or fails.
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| {
        format!("could not start {}: {error}", command.get_program().to_string_lossy())
    })?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// The figures a worker printed.
pub(crate) fn figures(output: &Output) -> Result<Figures, String> {
    serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("a worker printed {:?}: {error}", String::from_utf8_lossy(&output.stdout))
    })
}

/// The last available CPU: kernel work tends to run on the first.
fn last_cpu() -> Result<String, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .and_then(|list| list.trim().rsplit([',', '-']).next())
        .map(str::to_owned)
        .ok_or_else(|| "the kernel does not say which CPUs we may use".into())
}
