//! What a sandbox adds to a start: `cargo run --release -p mcp-sandbox --example cost`.
//!
//! Starts `/bin/true` in turns without and with each profile, and prints the medians. The current folder is the project.

#![expect(clippy::print_stdout, reason = "stdout is the report")]

use std::{
    env,
    error::Error,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use mcp_sandbox::{Entry, Launch, Level, Profile, launcher};

const STARTS: usize = 100;
const PROGRAM: &str = "/bin/true";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = launcher::run() {
        return Ok(code);
    }
    let levels = [Level::Off, Level::Standard, Level::Strict];
    let mut times = levels.map(|_| Vec::with_capacity(STARTS));
    for _ in 0..STARTS {
        for (level, times) in levels.iter().zip(&mut times) {
            times.push(start(*level)?);
        }
    }
    let medians = times.map(|mut times| {
        times.sort();
        times[STARTS / 2].as_secs_f64() * 1e3
    });
    println!("{PROGRAM}, median of {STARTS} starts:");
    for (level, median) in levels.iter().zip(medians) {
        println!("{:<9} {median:6.2} ms, {:+6.2} ms", level.name(), median - medians[0]);
    }
    Ok(ExitCode::SUCCESS)
}

/// From the profile to the end of the program.
fn start(level: Level) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let (program, args) = if level == Level::Off {
        (PROGRAM.into(), Vec::new())
    } else {
        let home = env::home_dir().ok_or("the home folder is unknown")?;
        let mut entry = Entry::new(PROGRAM, &home, home.join(".local/state/mcp-sandbox-example"));
        entry.project = Some(env::current_dir()?);
        Launch::prepare(Profile::new(level).resolve(&entry)?.rules)?.command(PROGRAM, [])
    };
    let status = Command::new(program).args(args).status()?;
    if status.success() { Ok(began.elapsed()) } else { Err(format!("{level:?}: {status}").into()) }
}
