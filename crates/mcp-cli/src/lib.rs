//! The `mcp` command: every MCP server you have, in a terminal or behind one gateway.
//!
//! ```text
//!  a terminal · scripts · agents
//!     │
//!  mcp-cli   arguments, output, questions, signals, the background host
//!     │
//!  mcp-gateway · mcp-server · mcp-bridge · mcp-client · mcp-config · mcp-auth · mcp-search
//! ```
//!
//! ```console
//! $ mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
//! $ mcp search read a file
//! $ mcp call files read_file --path README.md
//! $ mcp serve
//! ```
//!
//! Commands parse their arguments, call the libraries of this workspace, and print the result. Start with `commands`,
//! which has one file per command. This library exists so that two binaries can share it; it is not meant for other
//! crates.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod command_line;
mod commands;
mod demo;
mod exit;
mod host;
mod terminal;

use std::process::ExitCode;

use crate::{
    exit::{Exit, Problem},
    host::app::App,
    terminal::{
        interrupt::Interrupt,
        out::{self, Out},
    },
};

/// Runs the command with the arguments of this process. Both binaries, `mcp` and `mcph`, call it.
pub fn main() -> ExitCode {
    // Before everything else: this process may be the launcher of a sandbox, and must have one thread then.
    if let Some(code) = mcp_sandbox::launcher::run() {
        return code;
    }
    // Do this first, while only inherited files are open. If the system refuses, servers have the same access to this
    // process as any other program of the user.
    let _ = mcp_transport::process::harden_host();
    let root = commands::root();
    let words = command_line::rewrite(&root, std::env::args_os().collect());
    let matches = match root.try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => {
            return not_parsed(&error).into();
        }
    };
    let out = Out::new(&matches);
    let exit = match runtime() {
        Ok(runtime) => {
            let exit = runtime.block_on(run(&matches, out));
            // Do not wait for a thread that is blocked on terminal input.
            runtime.shutdown_background();
            exit
        }
        Err(problem) => out.problem(&problem),
    };
    exit.into()
}

/// Handles the result of clap that is not a command to run: help, version or an error.
fn not_parsed(error: &clap::Error) -> Exit {
    // Help and the version go to stdout and are not failures.
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done;
    }
    let out = Out::unparsed();
    if out.json {
        return out.problem(&Problem::usage(out::first_paragraph(&error.to_string())));
    }
    out.instruct(error.to_string().trim_end());
    Exit::Usage
}

fn runtime() -> Result<tokio::runtime::Runtime, Problem> {
    // Commands mostly wait, and starting more threads would take longer than most of them run.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // Check timers after every 4 tasks instead of 61: a server that floods us keeps its task busy for tens of
    // milliseconds at a time, and a timeout would fire seconds late.
    let runtime = builder.enable_all().event_interval(4).build();
    runtime.map_err(|error| Problem::not_started(&error))
}

async fn run(matches: &clap::ArgMatches, out: Out) -> Exit {
    let interrupt = match Interrupt::listen(out, commands::grace(matches)) {
        Ok(interrupt) => interrupt,
        Err(error) => return out.problem(&Problem::not_started(&error)),
    };
    let app = match App::new(matches, out, interrupt.clone()) {
        Ok(app) => app,
        Err(problem) => return out.problem(&problem),
    };
    let work = async {
        let done = async {
            app.load_secrets().await?;
            commands::run(&app, matches).await
        };
        let exit = done.await.unwrap_or_else(|problem| out.problem(&problem));
        // After the output, because a server may take seconds to stop.
        app.close(exit).await;
        exit
    };
    tokio::select! {
        exit = work => exit,
        // Dropping the work kills its processes.
        () = interrupt.left() => Exit::Interrupted,
    }
}
