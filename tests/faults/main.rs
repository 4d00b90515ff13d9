//! The fault matrix: every fault over every transport, with real processes, sockets and certificates.
//!
//! `cargo xtask faults` runs it. Each cell is a separate process, so that its leaks can be counted. Remote
//! servers are further processes: this program with `--serve`.

#![expect(clippy::print_stdout, reason = "stdout is for the user and not a transport")]

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
    matrix::{Fault, Transport},
};

/// Number of cells that run at once: mostly they wait for a limit. Cells with unexpected results run again with
/// fewer others beside them.
const AT_ONCE: [usize; 3] = [16, 4, 1];

type Cell = (Fault, Transport);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let transport = |name: &str| Transport::named(name).expect("a transport");
    let fault = |name: &str| Fault::named(name).expect("a fault");
    match &words[..] {
        ["--serve", over, what, folder, port] => {
            serve::run(
                transport(over),
                fault(what),
                folder.as_ref(),
                port.parse().expect("a port"),
            );
            ExitCode::SUCCESS
        }
        ["--cell", over, what] => {
            println!("{}", cell::play(transport(over), fault(what)).to_json());
            ExitCode::SUCCESS
        }
        // Runs the named cells or all of them. The page goes to stdout, problems to stderr.
        wanted => report(wanted),
    }
}

fn report(wanted: &[&str]) -> ExitCode {
    let cells: Vec<Cell> = Fault::all()
        .into_iter()
        .flat_map(|fault| Transport::ALL.map(|transport| (fault, transport)))
        .filter(|(fault, transport)| fault.impossible(*transport).is_none())
        .filter(|(fault, transport)| {
            let names = [fault.to_string(), transport.name().to_owned()];
            wanted.iter().all(|wanted| names.iter().any(|name| name == wanted))
        })
        .collect();
    let findings = play_all(&cells);
    let mut is_well = true;
    for ((fault, transport), finding) in cells.iter().zip(&findings) {
        let problem = match finding {
            Ok(finding) => finding.problem(),
            Err(problem) => Some(problem.clone()),
        };
        if let Some(problem) = problem {
            is_well = false;
            eprintln!("{fault} over {}: {problem}", transport.title());
        }
    }
    let found =
        cells.into_iter().zip(findings).filter_map(|(cell, finding)| Some((cell, finding.ok()?)));
    print!("{}", page::page(&found.collect::<Vec<_>>()));
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs all cells, then repeats those that a busy machine may have disturbed, fewer at a time.
fn play_all(cells: &[Cell]) -> Vec<Result<Finding, String>> {
    let mut findings: Vec<_> = cells.iter().map(|_| Err("it was not played".to_owned())).collect();
    let mut left: Vec<usize> = (0..cells.len()).collect();
    // Slowest cells first.
    let takes_long = |at: usize| cells[at].0.takes_long(cells[at].1);
    left.sort_by_key(|at| !takes_long(*at));
    for at_once in AT_ONCE {
        for (at, finding) in side_by_side(cells, &left, at_once) {
            findings[at] = finding;
        }
        left.retain(|at| match &findings[*at] {
            Ok(finding) => finding.problem().is_some() || finding.is_slow() != takes_long(*at),
            Err(_) => true,
        });
    }
    findings
}

/// Runs some of the cells, each in a separate process.
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
                    done.lock().expect("the lock is not poisoned").push((*at, finding));
                }
            });
        }
    });
    done.into_inner().expect("the lock is not poisoned")
}

fn play_once((fault, transport): Cell) -> Result<Finding, String> {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--cell", transport.name(), &fault.to_string()]).stdin(Stdio::null());
    // Printing a backtrace for a planned panic takes seconds.
    command.env("RUST_BACKTRACE", "0");
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let finding = serde_json::from_str(&said).ok().and_then(|json| Finding::from_json(&json));
    let complaint = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    finding.filter(|_| output.status.success()).ok_or_else(complaint)
}
