//! The fault matrix: every fault over every carrier, with real processes, sockets and certificates.
//!
//! `cargo xtask faults` runs it. Each cell is a process of its own, so that what it leaves behind can be
//! counted; remote servers are processes again, this program with `--serve`.

#![expect(clippy::print_stdout, reason = "a program for people: its stdout is nobody's transport")]

mod cell;
mod finding;
mod leaks;
mod matrix;
mod page;
mod rig;
mod script;
mod serve;

use std::{
    env,
    process::{Command, ExitCode, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use self::{
    finding::Finding,
    matrix::{Carrier, Fault},
};

/// How many cells are played at once: most of the time they wait for a limit. Then those that came out
/// unlike what they are known for, with less and less beside them.
const AT_ONCE: [usize; 3] = [16, 4, 1];

type Cell = (Fault, Carrier);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let carrier = |name: &str| Carrier::named(name).expect("a carrier");
    let fault = |name: &str| Fault::named(name).expect("a fault");
    match &words[..] {
        ["--serve", over, what, folder, port] => {
            serve::run(carrier(over), fault(what), folder.as_ref(), port.parse().expect("a port"));
            ExitCode::SUCCESS
        }
        ["--cell", over, what] => {
            println!("{}", cell::play(carrier(over), fault(what)).to_json());
            ExitCode::SUCCESS
        }
        // What is asked for by name, or all: the page on stdout, what is wrong with it on stderr.
        wanted => report(wanted),
    }
}

fn report(wanted: &[&str]) -> ExitCode {
    let cells: Vec<Cell> = Fault::all()
        .into_iter()
        .flat_map(|fault| Carrier::ALL.map(|carrier| (fault, carrier)))
        .filter(|(fault, carrier)| fault.absurd(*carrier).is_none())
        .filter(|(fault, carrier)| {
            let names = [fault.to_string(), carrier.name().to_owned()];
            wanted.iter().all(|wanted| names.iter().any(|name| name == wanted))
        })
        .collect();
    let findings = play_all(&cells);
    let mut is_well = true;
    for ((fault, carrier), finding) in cells.iter().zip(&findings) {
        let shame = match finding {
            Ok(finding) => finding.shame(),
            Err(problem) => Some(problem.clone()),
        };
        if let Some(shame) = shame {
            is_well = false;
            eprintln!("{fault} over {}: {shame}", carrier.title());
        }
    }
    let found =
        cells.into_iter().zip(findings).filter_map(|(cell, finding)| Some((cell, finding.ok()?)));
    print!("{}", page::page(&found.collect::<Vec<_>>()));
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays all cells, and again, with fewer at a time, those that a busy machine may have spoilt.
fn play_all(cells: &[Cell]) -> Vec<Result<Finding, String>> {
    let mut findings: Vec<_> = cells.iter().map(|_| Err("it was not played".to_owned())).collect();
    let mut left: Vec<usize> = (0..cells.len()).collect();
    // Whoever waits longest begins.
    let takes_long = |at: usize| cells[at].0.takes_long(cells[at].1);
    left.sort_by_key(|at| !takes_long(*at));
    for at_once in AT_ONCE {
        for (at, finding) in side_by_side(cells, &left, at_once) {
            findings[at] = finding;
        }
        left.retain(|at| match &findings[*at] {
            Ok(finding) => finding.shame().is_some() || finding.is_slow() != takes_long(*at),
            Err(_) => true,
        });
    }
    findings
}

/// Plays some of the cells, each in a process of its own.
fn side_by_side(
    cells: &[Cell],
    some: &[usize],
    at_once: usize,
) -> Vec<(usize, Result<Finding, String>)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_once.min(some.len()) {
            scope.spawn(|| {
                while let Some(at) = some.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let finding = play_once(cells[*at]);
                    done.lock().expect("nobody panics").push((*at, finding));
                }
            });
        }
    });
    done.into_inner().expect("nobody panics")
}

fn play_once((fault, carrier): Cell) -> Result<Finding, String> {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--cell", carrier.name(), &fault.to_string()]).stdin(Stdio::null());
    // A planned panic is not worth the seconds that a trace takes.
    command.env("RUST_BACKTRACE", "0");
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let finding = serde_json::from_str(&said).ok().and_then(|json| Finding::from_json(&json));
    let complaint = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    finding.filter(|_| output.status.success()).ok_or_else(complaint)
}
