//! The workloads, written once: each contender says how to connect, list, call and decode, and
//! becomes a program that runs one workload in a process of its own and prints its figures.
//!
//! A process of its own, because peak memory and CPU time belong to processes, and because one
//! contender's heap must not be the next one's starting point.

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

/// Runs the workload named on the command line against `C` and prints the figures as one line of
/// JSON: the whole of a contender's `main`.
pub fn main<C: Contender>() -> ExitCode {
    let options = match Options::from_args(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    // Whatever hangs, the run ends. Never joined: the process leaves first.
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
