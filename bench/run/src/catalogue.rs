//! The workloads and their targets: a factor to rmcp or to the floor, in the same run.

mod remote;
mod stdio;

use crate::worker::{BRIDGE, Contender, FLOOR, OURS, RMCP, SERDE_JSON, TUNED};

/// The contenders over a pipe, where rmcp cannot be tuned.
const OVER_STDIO: &[Contender] = &[FLOOR, OURS, RMCP];
/// The contenders of the decoding workloads.
const DECODERS: &[Contender] = &[FLOOR, OURS, RMCP, SERDE_JSON];
/// The contenders of workloads in which a bridge takes part.
const WITH_BRIDGE: &[Contender] = &[FLOOR, OURS, RMCP, BRIDGE];
const OVER_HTTP: &[Contender] = &[FLOOR, OURS, RMCP, TUNED];
/// rmcp has no WebSocket.
const OVER_WS: &[Contender] = &[FLOOR, OURS];

/// One workload of the workers.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) args: &'static [&'static str],
    pub(crate) iterations: usize,
    /// Iterations with `--quick`.
    pub(crate) quick: usize,
    /// Client and server share one CPU. Where only one of them has work at a time, two CPUs
    /// would measure how fast an idle CPU wakes up.
    pub(crate) pinned: bool,
    pub(crate) contenders: &'static [Contender],
    pub(crate) figures: &'static [Figure],
    /// The two run lengths whose difference `counts` uses. `None` for workloads without counts.
    pub(crate) counts: Option<(usize, usize)>,
}

/// One figure of a workload, a row of the table.
pub(crate) struct Figure {
    /// Its name in the output of a worker.
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    pub(crate) better: Better,
    pub(crate) targets: &'static [Target],
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// At least so many times better than rmcp.
    Times(f64),
    /// At least so many times better than rmcp tuned.
    TimesTuned(f64),
    /// At most so many times worse than the floor.
    OfFloor(f64),
}

const fn figure(
    key: &'static str,
    label: &'static str,
    better: Better,
    targets: &'static [Target],
) -> Figure {
    Figure { key, label, better, targets }
}

const CPU: Figure = figure("cpu_us", "CPU us", Better::Lower, &[]);

/// The workloads whose name contains `only`.
pub(crate) fn chosen(only: Option<&str>) -> Result<Vec<&'static Workload>, String> {
    let text = only.unwrap_or_default();
    let chosen: Vec<_> = all().filter(|workload| workload.name.contains(text)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = all().map(|workload| workload.name).collect();
        return Err(format!("no workload is called like {text}; there are: {}", names.join("; ")));
    }
    Ok(chosen)
}

/// The workload of exactly this name.
pub(crate) fn named(name: &str) -> Result<&'static Workload, String> {
    all().find(|workload| workload.name == name).ok_or_else(|| format!("no workload is {name}"))
}

fn all() -> impl Iterator<Item = &'static Workload> {
    [stdio::WORKLOADS, remote::WORKLOADS].into_iter().flatten()
}
