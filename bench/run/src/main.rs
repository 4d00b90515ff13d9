//! Runs the workers and prints medians, ratios to rmcp, and whether the targets are met.
//!
//! ```text
//! bench-run [speed] [--quick] [--only TEXT] [--rounds N] [--json FILE]
//! bench-run counts [--only TEXT]           instructions and allocations per operation, by valgrind
//! bench-run counts --check | --write       compares the key paths with counts.txt, or writes it
//! bench-run size                           crates, bytes and build time of a minimal client
//! ```

mod baseline;
mod catalogue;
mod counts;
mod size;
mod speed;
mod table;
mod worker;

use std::{path::PathBuf, process::ExitCode};

use crate::{
    catalogue::Workload,
    worker::{CONTENDERS, Contender},
};

const USAGE: &str = "\
usage: bench-run [speed | counts | size | all] [options]
  speed          time, CPU and memory, interleaved (the default)
  counts         instructions and allocations per operation, by valgrind
  size           crates, stripped size and clean build time of a minimal client
  all            the three of them
options:
  --quick        fewer and shorter rounds: half a minute instead of three
  --callgrind    the same as `counts`
  --only TEXT    only workloads whose name contains TEXT
  --who LIST     only these contenders, with commas between
  --check        `counts` of a dozen key paths, compared with counts.txt
  --write        the same, written to counts.txt
  --rounds N     this many rounds
  --json FILE    also write the medians of `speed` there";

/// The options of the command line.
#[derive(Default)]
struct Options {
    quick: bool,
    only: Option<String>,
    /// Only these contenders run.
    who: Option<Vec<Contender>>,
    baseline: Option<baseline::Mode>,
    rounds: Option<usize>,
    json: Option<PathBuf>,
}

impl Options {
    fn takes_part(&self, contender: Contender) -> bool {
        self.who.as_ref().is_none_or(|who| who.contains(&contender))
    }

    /// The contenders of any workload.
    fn contenders(&self) -> Vec<Contender> {
        (0..CONTENDERS.len()).filter(|&contender| self.takes_part(contender)).collect()
    }

    /// The contenders of this workload.
    fn contenders_of(&self, workload: &Workload) -> Vec<Contender> {
        let all = workload.contenders.iter().copied();
        all.filter(|&contender| self.takes_part(contender)).collect()
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut options = Options::default();
    let mut modes = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
        match arg.as_str() {
            "--quick" => options.quick = true,
            "--callgrind" => modes.push("counts"),
            "--only" => options.only = Some(value()?),
            "--who" => options.who = Some(contenders_named(&value()?)?),
            "--check" => options.baseline = Some(baseline::Mode::Check),
            "--write" => options.baseline = Some(baseline::Mode::Write),
            "--rounds" => options.rounds = Some(value()?.parse().map_err(|_| USAGE)?),
            "--json" => options.json = Some(value()?.into()),
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            "speed" => modes.push("speed"),
            "counts" => modes.push("counts"),
            "size" => modes.push("size"),
            "all" => modes.extend(["speed", "counts", "size"]),
            _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
        }
    }
    if let Some(mode) = options.baseline {
        return match &modes[..] {
            ["counts"] => baseline::run(mode),
            _ => Err(format!("--check and --write go with `counts`\n{USAGE}")),
        };
    }
    if modes.is_empty() {
        modes.push("speed");
    }
    for mode in modes {
        match mode {
            "speed" => speed::run(&options)?,
            "counts" => counts::run(&options)?,
            _ => size::run()?,
        }
    }
    Ok(())
}

fn contenders_named(list: &str) -> Result<Vec<Contender>, String> {
    let place = |name: &str| CONTENDERS.iter().position(|known| *known == name);
    list.split(',')
        .map(|name| place(name).ok_or_else(|| format!("there is no contender {name}")))
        .collect()
}
