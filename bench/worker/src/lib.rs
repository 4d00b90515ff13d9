//! The workloads, shared by all contenders: each contender implements connect, list, call and decode, and is a
//! program that runs one workload and prints its figures.
//!
//! Each run is a separate process, because peak memory and CPU time are counted per process, and because the heap
//! of one contender must not affect the next.

mod contender;
mod listening;
mod options;
mod usage;
mod workload;

use std::{process::ExitCode, thread, time::Duration};

pub use crate::{
    contender::{Contender, Reach, Server, call_many},
    options::Era,
};
use crate::{options::Options, workload::Figures};

/// The `main` of a contender: runs the workload of the command line with `C` and prints the figures as one line
/// of JSON.
pub fn main<C: Contender>() -> ExitCode {
    let options = match Options::from_args(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    // Ends a run that hangs. Not joined, because the process exits first.
    thread::spawn(|| {
        thread::sleep(Duration::from_secs(180));
        eprintln!("workload did not end within three minutes");
        std::process::exit(3);
    });
    let figures = workload::run::<C>(&options);
    println!("{}", render(&figures));
    ExitCode::SUCCESS
}

fn render(figures: &Figures) -> String {
    let members: Vec<_> =
        figures.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}
