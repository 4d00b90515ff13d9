//! The `mcp` command: every MCP server you have, in a terminal or behind one gateway.
//!
//! Nothing of substance happens here: commands read their arguments, call the libraries of this workspace,
//! and say what came of it. Start with [`commands`], one file for each.

mod app;
mod args;
mod commands;
mod config;
mod connect;
mod demo;
mod exit;
mod form;
mod interrupt;
mod login;
mod out;
mod places;
mod progress;
mod redact;
mod state;
mod table;
mod terminal;
mod tools;

use std::process::ExitCode;

use crate::{
    app::App,
    exit::{Exit, Problem},
    interrupt::Interrupt,
    out::Out,
};

fn main() -> ExitCode {
    let matches = match commands::root().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and the version go to stdout and are no failure.
            if error.use_stderr() && out::wants_json() {
                let problem = Problem::new(Exit::Usage, out::first_paragraph(&error.to_string()));
                return Out::json().problem(&problem).into();
            }
            let code = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            let _ = error.print();
            return code.into();
        }
    };
    let out = Out::new(&matches);
    let exit = match runtime() {
        Ok(runtime) => {
            let exit = runtime.block_on(run(&matches, out));
            // A thread may be waiting for the user to type: it must not keep us.
            runtime.shutdown_background();
            exit
        }
        Err(problem) => out.problem(&problem),
    };
    exit.into()
}

fn runtime() -> Result<tokio::runtime::Runtime, Problem> {
    // One thread: what a command does is waiting, and starting more takes longer than most of it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Problem::new(Exit::Failed, format!("could not start: {error}")))
}

async fn run(matches: &clap::ArgMatches, out: Out) -> Exit {
    let interrupt = Interrupt::listen(out);
    let app = match App::new(matches, out, interrupt.clone()) {
        Ok(app) => app,
        Err(problem) => return out.problem(&problem),
    };
    let work = async {
        let exit =
            commands::run(&app, matches).await.unwrap_or_else(|problem| out.problem(&problem));
        // After everything is said: a server may take its time to end.
        app.close().await;
        exit
    };
    tokio::select! {
        exit = work => exit,
        // Whatever still runs is dropped, and its processes with it.
        () = interrupt.left() => Exit::Interrupted,
    }
}
