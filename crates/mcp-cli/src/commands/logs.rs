//! `mcp logs`: what a server writes to stderr, and what goes over the wire.

use clap::{ArgMatches, Command};
use mcp_client::{Client, ClientOptions, HandshakeError};
use mcp_transport::Diagnostics;
use serde_json::json;

use super::{server_arg, text};
use crate::{
    app::App,
    connect,
    exit::{Done, Exit, chain},
    out::{Paint, brief},
};

pub(super) fn command() -> Command {
    Command::new("logs")
        .about("Start a server, list its tools, and show its stderr and the messages")
        .after_help("Examples:\n  mcp logs github")
        .arg(server_arg().required(true))
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let config = &app.config.server(name)?.entry.config;
    let opened = connect::connector(app).open(config);
    let way = opened.map_err(|error| crate::exit::Problem::chain(Exit::Config, &error))?;
    let mut options = ClientOptions::default();
    options.handler = app.terminal.handler();
    options.handshake_timeout = app.timeout.unwrap_or(options.handshake_timeout);
    let begun = tokio::time::Instant::now();
    let connected = app.interrupt.or(Client::connect(&*way.connect, options)).await?;
    let (diagnostics, failure) = match connected {
        Ok(client) => {
            let listed = app.interrupt.or(client.list_tools()).await?;
            // Some of what it writes comes after its answer: the end shows everything.
            let frames = client.diagnostics().frames;
            let mut diagnostics = client.close().await.diagnostics.clone();
            diagnostics.frames = frames;
            (Some(diagnostics), listed.err().map(|error| chain(&error)))
        }
        Err(error) => {
            let diagnostics = match &error {
                HandshakeError::Closed { report, .. } => Some(report.diagnostics.clone()),
                HandshakeError::TimedOut { diagnostics, .. } => Some((**diagnostics).clone()),
                _ => None,
            };
            (diagnostics, Some(chain(&error)))
        }
    };
    let took = begun.elapsed().as_millis();
    let diagnostics = diagnostics.unwrap_or_default();
    if app.out.json {
        app.out.value(&json!({
            "server": name,
            "failure": failure,
            "tookMs": u64::try_from(took).unwrap_or(u64::MAX),
            "exit": diagnostics.exit.map(|exit| exit.to_string()),
            "stderr": diagnostics.stderr,
            "skippedLines": diagnostics.skipped_lines,
            "firstSkipped": diagnostics.first_skipped,
            "httpStatuses": diagnostics.statuses,
            "frames": diagnostics.frames.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))?;
    } else {
        print(app, &diagnostics)?;
        if let Some(failure) = &failure {
            let word = app.out.paint(Paint::Bad, "failed:");
            app.out.line(format!("{word} {}", brief(failure, 1_000)))?;
        }
    }
    Ok(if failure.is_none() { Exit::Done } else { Exit::Unavailable })
}

fn print(app: &App, diagnostics: &Diagnostics) -> std::io::Result<()> {
    let title = |text: &str| app.out.paint(Paint::Bold, text);
    app.out.line(title("stderr"))?;
    for line in &diagnostics.stderr {
        app.out.line(format!("  {}", brief(line, 400)))?;
    }
    if diagnostics.skipped_lines > 0 {
        let first = diagnostics.first_skipped.as_deref().unwrap_or_default();
        let count = diagnostics.skipped_lines;
        app.out.line(format!("{count} lines on stdout are no messages: {}", brief(first, 200)))?;
    }
    app.out.line(title("messages"))?;
    for frame in &diagnostics.frames {
        app.out.line(format!("  {}", brief(&frame.to_string(), 200)))?;
    }
    if let Some(exit) = diagnostics.exit {
        app.out.line(format!("{} {exit}", title("end")))?;
    }
    Ok(())
}
