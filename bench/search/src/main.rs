//! `search-bench speed DIR` measures time, `tokens DIR` the error of the token estimate, and
//! `rank bm25|tantivy` lets the evaluation of mcp-search measure the others.

use std::{path::Path, process::ExitCode};

use search_bench::{baseline, speed, tokens};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["speed", dir] => speed::run(Path::new(dir)),
        ["tokens", dir] => tokens::run(Path::new(dir)),
        ["rank", system, ..] => baseline::run(system, &args[2..]),
        _ => Err("usage: search-bench speed DIR | tokens DIR | rank bm25|tantivy …".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("search-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
