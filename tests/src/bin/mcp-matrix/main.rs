//! Our client with real servers: published ones, and scripts on the official SDKs.
//!
//! `cargo xtask conformance` installs them and passes their folders. Arguments are parts of names that select rows.
//! Prints the reasons of failures, a table, and `N passed, M failed` as its last line.

#![expect(clippy::print_stdout, reason = "the table is the product")]

mod play;
mod rows;
mod scenarios;
mod server;

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    process::ExitCode,
    time::{Duration, Instant},
};

use futures::{FutureExt as _, StreamExt as _, stream};

use self::{
    rows::Row,
    scenarios::{SCENARIOS, Scenario, Stage},
    server::Kits,
};

/// Time limit of a scenario. The slowest include the start of a server on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Rows that run at once: most of the time is the start of a server.
const AT_ONCE: usize = 2;

/// The result of a scenario with a server.
enum Cell {
    Passed,
    /// With the reason.
    Failed(String),
    /// The server does not support it.
    Absent,
}

fn main() -> ExitCode {
    // A scenario fails by panicking, and its message is in the table.
    std::panic::set_hook(Box::new(|_| {}));
    let names: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (runtime, kits) = match (runtime, Kits::from_environment()) {
        (Ok(runtime), Ok(kits)) => (runtime, kits),
        (_, Err(missing)) => {
            eprintln!("{missing}");
            return ExitCode::FAILURE;
        }
        (Err(error), _) => {
            eprintln!("no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let is_wanted =
        |row: &Row| names.is_empty() || names.iter().any(|name| row.name.contains(name.as_str()));
    let rows = stream::iter(rows::all().into_iter().filter(is_wanted)).map(async |row| {
        let cells = play_all(&row, &kits).await;
        (row, cells)
    });
    let table: Vec<_> = runtime.block_on(rows.buffered(AT_ONCE).collect());
    if print(&table) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn play_all(row: &Row, kits: &Kits) -> Vec<Cell> {
    let began = Instant::now();
    let mut stage = Stage::new(row, kits);
    let mut cells = Vec::new();
    for scenario in SCENARIOS {
        cells.push(if scenario.fits(row) {
            match attempt(scenario, &mut stage).await {
                Ok(()) => Cell::Passed,
                Err(reason) => Cell::Failed(reason),
            }
        } else {
            Cell::Absent
        });
    }
    eprintln!("{}: {:.1} s", row.name, began.elapsed().as_secs_f64());
    cells
}

async fn attempt(scenario: &Scenario, stage: &mut Stage<'_>) -> Result<(), String> {
    let run = AssertUnwindSafe((scenario.run)(stage)).catch_unwind();
    match tokio::time::timeout(LIMIT, run).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(panic)) => Err(words(panic.as_ref())),
        Err(_) => Err(format!("took longer than {LIMIT:?}")),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("panicked").to_owned()
}

/// Prints the table. Returns whether nothing failed.
fn print(table: &[(Row, Vec<Cell>)]) -> bool {
    for (row, cells) in table {
        for (scenario, cell) in SCENARIOS.iter().zip(cells) {
            if let Cell::Failed(reason) = cell {
                println!("FAIL {}, {}: {reason}", row.name, scenario.name);
            }
        }
    }
    let width = table.iter().map(|(row, _)| row.name.len()).max().unwrap_or_default();
    let column = |scenario: &Scenario| scenario.name.len().max("FAIL".len());
    let names: Vec<String> =
        SCENARIOS.iter().map(|s| format!("{:width$}", s.name, width = column(s))).collect();
    println!("{:width$}  {}", "", names.join("  ").trim_end());
    for (row, cells) in table {
        let words = SCENARIOS.iter().zip(cells).map(|(scenario, cell)| {
            let word = match cell {
                Cell::Passed => "ok",
                Cell::Failed(_) => "FAIL",
                Cell::Absent => "-",
            };
            format!("{word:column$}", column = column(scenario))
        });
        let line = format!("{:width$}  {}", row.name, words.collect::<Vec<_>>().join("  "));
        println!("{}", line.trim_end());
    }
    let count = |which: fn(&Cell) -> bool| {
        table.iter().flat_map(|(_, cells)| cells).filter(|cell| which(cell)).count()
    };
    let failed = count(|cell| matches!(cell, Cell::Failed(_)));
    println!("{} passed, {failed} failed", count(|cell| matches!(cell, Cell::Passed)));
    failed == 0
}
