//! What is measured, and what is expected of it. The targets are those of the project's plan:
//! times better than rmcp with its defaults, in the same run.

use Better::{Higher, Lower};
use Target::{OfFloor, Times};

/// One workload of the workers.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) args: &'static [&'static str],
    pub(crate) iterations: usize,
    /// Iterations with `--quick`.
    pub(crate) quick: usize,
    /// Client and server share one CPU. Where only one of them has work at a time, two CPUs
    /// would measure how fast an idle one wakes up, which is no client's doing.
    pub(crate) pinned: bool,
    pub(crate) figures: &'static [Figure],
    /// The two run lengths whose difference `counts` takes; none where counting makes no sense.
    pub(crate) counts: Option<(usize, usize)>,
}

/// One figure of a workload that makes a row of the table.
pub(crate) struct Figure {
    /// The worker's name for it.
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    pub(crate) better: Better,
    pub(crate) target: Option<Target>,
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
    /// At most so many times what the floor takes.
    OfFloor(f64),
}

const fn figure(
    key: &'static str,
    label: &'static str,
    better: Better,
    target: Option<Target>,
) -> Figure {
    Figure { key, label, better, target }
}

const CPU: Figure = figure("cpu_us", "CPU us", Lower, None);

pub(crate) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "sequential, 128 B",
        args: &["calls"],
        iterations: 12_000,
        quick: 5_000,
        pinned: true,
        figures: &[
            figure("p50_us", "p50 us", Lower, Some(Times(2.8))),
            figure("per_s", "calls/s", Higher, None),
            CPU,
        ],
        counts: Some((200, 1200)),
    },
    Workload {
        name: "sequential from async main",
        args: &["calls", "--from-main"],
        iterations: 12_000,
        quick: 5_000,
        pinned: true,
        figures: &[figure("p50_us", "p50 us", Lower, Some(Times(2.8))), CPU],
        counts: None,
    },
    Workload {
        name: "sequential, 2026-07-28",
        args: &["calls", "--era", "modern"],
        iterations: 12_000,
        quick: 5_000,
        pinned: true,
        figures: &[figure("p50_us", "p50 us", Lower, Some(Times(2.8))), CPU],
        counts: Some((200, 1200)),
    },
    Workload {
        name: "64 in flight",
        args: &["calls", "--depth", "64"],
        iterations: 30_000,
        quick: 15_000,
        pinned: false,
        figures: &[figure("per_s", "calls/s", Higher, Some(Times(5.0))), CPU],
        counts: Some((640, 6400)),
    },
    Workload {
        name: "256 in flight",
        args: &["calls", "--depth", "256"],
        iterations: 30_000,
        quick: 15_000,
        pinned: false,
        figures: &[figure("per_s", "calls/s", Higher, Some(Times(5.0))), CPU],
        counts: None,
    },
    Workload {
        name: "1 MiB result",
        args: &["calls", "--what", "large"],
        iterations: 60,
        quick: 30,
        pinned: true,
        figures: &[figure("p50_us", "p50 us", Lower, Some(Times(3.0))), CPU],
        counts: Some((8, 32)),
    },
    Workload {
        name: "list 1000 x 4 KiB",
        args: &["list", "--tools", "1000", "--tool-bytes", "4096"],
        iterations: 10,
        quick: 5,
        pinned: true,
        figures: &[figure("p50_us", "p50 us", Lower, Some(Times(4.0))), CPU],
        counts: Some((2, 7)),
    },
    Workload {
        name: "list 100 x 60 KiB",
        args: &["list", "--tools", "100", "--tool-bytes", "61440"],
        iterations: 10,
        quick: 5,
        pinned: true,
        figures: &[figure("p50_us", "p50 us", Lower, Some(Times(3.0))), CPU],
        counts: Some((2, 7)),
    },
    Workload {
        name: "cold connect, 1 server",
        args: &["connect", "--era", "default"],
        iterations: 40,
        quick: 10,
        pinned: false,
        figures: &[figure("p50_us", "p50 us", Lower, Some(OfFloor(1.15))), CPU],
        counts: None,
    },
    Workload {
        name: "cold connect, 30 servers",
        args: &["connect", "--era", "default", "--servers", "30"],
        iterations: 8,
        quick: 3,
        pinned: false,
        figures: &[figure("p50_us", "p50 us", Lower, Some(OfFloor(1.15))), CPU],
        counts: None,
    },
    Workload {
        name: "peak of list 1000 x 4 KiB",
        args: &["peak", "--what", "list", "--tools", "1000", "--tool-bytes", "4096"],
        iterations: 3,
        quick: 3,
        pinned: false,
        figures: &[figure("growth_kib", "KiB", Lower, Some(Times(3.0)))],
        counts: None,
    },
    Workload {
        name: "peak of list 100 x 60 KiB",
        args: &["peak", "--what", "list", "--tools", "100", "--tool-bytes", "61440"],
        iterations: 3,
        quick: 3,
        pinned: false,
        figures: &[figure("growth_kib", "KiB", Lower, Some(Times(3.0)))],
        counts: None,
    },
    Workload {
        name: "peak of 1 MiB results",
        args: &["peak", "--what", "large"],
        iterations: 10,
        quick: 10,
        pinned: false,
        figures: &[figure("growth_kib", "KiB", Lower, None)],
        counts: None,
    },
    Workload {
        name: "idle connection",
        args: &["idle", "--servers", "40"],
        iterations: 1,
        quick: 1,
        pinned: false,
        figures: &[
            figure("each_kib", "KiB each", Lower, None),
            figure("process_kib", "KiB process", Lower, None),
            figure("cpu_us", "CPU us/s", Lower, None),
        ],
        counts: None,
    },
    Workload {
        name: "decode 128 B",
        args: &["decode"],
        iterations: 200,
        quick: 100,
        pinned: false,
        figures: &[figure("p50_us", "us", Lower, Some(Times(8.0)))],
        counts: Some((2, 6)),
    },
    Workload {
        name: "decode 1 MiB",
        args: &["decode", "--what", "large"],
        iterations: 40,
        quick: 20,
        pinned: false,
        figures: &[figure("p50_us", "us", Lower, Some(Times(6.0)))],
        counts: Some((2, 6)),
    },
    Workload {
        name: "decode 1000 tools",
        args: &["decode", "--what", "list", "--tools", "1000", "--tool-bytes", "4096"],
        iterations: 10,
        quick: 6,
        pinned: false,
        figures: &[figure("p50_us", "us", Lower, None)],
        counts: Some((1, 3)),
    },
];

/// The workloads whose name contains `only`.
pub(crate) fn chosen(only: Option<&str>) -> Result<Vec<&'static Workload>, String> {
    let text = only.unwrap_or_default();
    let chosen: Vec<_> = WORKLOADS.iter().filter(|workload| workload.name.contains(text)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
        return Err(format!("no workload is called like {text}; there are: {}", names.join("; ")));
    }
    Ok(chosen)
}
