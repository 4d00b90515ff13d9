//! Load and soak tests: many servers, many calls, and injected failures.
//!
//! `mcp-load` starts its own servers (this program with other arguments) over stdio, HTTP, WebSocket and in process,
//! calls them through clients and through a bridge, checks every response, and measures memory, files and processes.
//! `cargo xtask load` builds and runs it.

#![expect(clippy::print_stdout, reason = "the table is the product")]

mod fleet;
mod gauge;
mod leaks;
mod load;
mod plan;
mod proof;
mod report;
mod serve;
mod soak;
mod socket;
mod tally;

use std::process::ExitCode;

use self::{
    plan::{Plan, USAGE},
    report::Report,
    serve::Net,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().unwrap_or_default();
    let ended = match words.as_slice() {
        ["serve-stdio", at] => serve::stdio(number(at)).map_err(|error| error.to_string()),
        ["serve-http", first, count] => {
            serve::net(Net::Http, number(first), number(count)).map_err(|error| error.to_string())
        }
        ["serve-ws", first, count] => {
            serve::net(Net::Ws, number(first), number(count)).map_err(|error| error.to_string())
        }
        ["--help" | "-h"] => {
            println!("mcp-load {USAGE}");
            Ok(())
        }
        _ => Plan::read(&arguments).and_then(|plan| run(&plan)),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn run(plan: &Plan) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let report: Report = runtime.block_on(async {
        let running = async {
            if plan.soak.is_some() { soak::run(plan).await } else { load::run(plan).await }
        };
        tokio::time::timeout(plan.limit, running)
            .await
            .unwrap_or_else(|_| Err(format!("not done within {:?}", plan.limit)))
    })?;
    println!("{report}");
    if let Some(path) = &plan.json {
        let text = format!("{:#}\n", report.json());
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if report.passed() { Ok(()) } else { Err("it did not pass".into()) }
}
