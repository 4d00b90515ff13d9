//! Runs the workers in turn and prints medians, ratios to rmcp, and whether the targets hold.
//!
//! ```text
//! bench-run [speed] [--quick] [--only TEXT] [--rounds N] [--json FILE]
//! bench-run --callgrind [--only TEXT]      instructions and allocations per operation
//! bench-run size                           crates, bytes and build time of a minimal client
//! ```

mod catalogue;
mod counts;
mod size;
mod speed;
mod table;
mod worker;

use std::{path::PathBuf, process::ExitCode};

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
  --rounds N     this many rounds
  --json FILE    also write the medians of `speed` there";

/// What the command line asked for.
#[derive(Default)]
struct Options {
    quick: bool,
    only: Option<String>,
    rounds: Option<usize>,
    json: Option<PathBuf>,
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
