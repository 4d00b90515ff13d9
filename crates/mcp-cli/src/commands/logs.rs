//! `mcp logs`: shows a server's stderr and its protocol messages.

use std::sync::Arc;

use clap::{ArgMatches, Command};
use mcp_client::{Client, ClientOptions, HandshakeError};
use mcp_transport::{diagnostics::Diagnostics, record::Recorder};
use serde_json::{Value, json};

use super::{flag, server_arg, text};
use crate::{
    exit::{Done, Exit, Problem, chain},
    host::{app::App, redact},
    terminal::{out::brief, paint::Paint},
};

pub(super) fn command() -> Command {
    Command::new("logs")
        .about("Show a server's stderr and its protocol messages")
        .long_about(
            "Show a server's stderr and its protocol messages.\n\n\
             For a server of the background host or of a running gateway, this is the output so far. Otherwise the server is \
             started and its tools are listed.",
        )
        .after_help("Examples:\n  mcp logs github\n  mcp logs github --payload")
        .arg(server_arg().required(true))
        .arg(flag("payload", "Show complete messages, with secrets redacted"))
}

/// Fetches the logs of a server from the background host, or else from a gateway.
#[cfg(unix)]
async fn kept(app: &App, name: &str) -> Option<Value> {
    use crate::host::background::{gateways, wire};
    let place = app.host_place().ok()?;
    let request = json!({"logs": name});
    if let Ok(logs) = wire::ask(&place.socket(), &request).await
        && logs.is_object()
    {
        return Some(logs);
    }
    let state = app.config.places.state.as_ref()?;
    gateways::logs(state, place.key(), name).await
}

#[cfg(not(unix))]
async fn kept(_: &App, _: &str) -> Option<Value> {
    None
}

/// Prints logs of the background host or of a gateway.
fn print_kept(app: &App, logs: &Value, with_payload: bool) -> Done {
    if app.out.json {
        app.out.value(logs)?;
        return Ok(Exit::Done);
    }
    let texts = |key: &str| -> Vec<String> {
        let all = logs[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        all.map(str::to_owned).collect()
    };
    let mut diagnostics = Diagnostics::default();
    diagnostics.stderr = texts("stderr");
    diagnostics.skipped_lines = logs["skippedLines"].as_u64().unwrap_or_default();
    diagnostics.first_skipped = logs["firstSkipped"].as_str().map(str::to_owned);
    let pid = logs["gateway"].as_u64();
    if let (Some(pid), true) = (pid, with_payload) {
        app.out.remark(format!(
            "the gateway with pid {pid} keeps no payloads: `mcp serve --share` keeps the last ones"
        ));
    }
    let messages: Vec<String> = if with_payload && pid.is_none() {
        let all = logs["messages"].as_array().into_iter().flatten();
        all.map(|one| {
            let arrow = if one["sent"] == true { "→" } else { "←" };
            let at = clock(one["at"].as_u64().unwrap_or_default());
            format!("{at} {arrow} {}", one["text"].as_str().unwrap_or_default())
        })
        .collect()
    } else {
        texts("frames")
    };
    print(app, &diagnostics, &messages)?;
    if let Some(exit) = logs["exit"].as_str() {
        app.out.line(Paint::Bold.of("end").then(format!(" {exit}")))?;
    }
    Ok(Exit::Done)
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let with_payload = matches.get_flag("payload");
    let candidate = app.config.server(name)?;
    let config = &candidate.entry.config;
    if let Some(logs) = kept(app, name).await {
        return print_kept(app, &logs, with_payload);
    }
    let opened = app.direct_connector().open(config);
    let way = opened.map_err(|error| Problem::chain(Exit::Config, &error))?;
    let recorder = Arc::new(Recorder::new(way.connect.clone()));
    let mut options = ClientOptions::default();
    options.handler = app.terminal.direct_handler(candidate.is_trusted());
    options.handshake_timeout = app.timeout.unwrap_or(options.handshake_timeout);
    let begun = tokio::time::Instant::now();
    let connect = Box::pin(Client::connect(&*recorder, options));
    let connected = app.wait(connect).await?;
    let (diagnostics, failure) = match connected {
        Ok(client) => {
            let listed = app.wait(client.list_tools()).await?;
            // A server may still write to stderr after its last response: close it first to collect everything.
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
    let messages = with_payload.then(|| payload(app, config, &recorder)).transpose()?;
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
            "messages": messages,
        }))?;
    } else {
        let frames = || diagnostics.frames.iter().map(ToString::to_string).collect();
        print(app, &diagnostics, &messages.unwrap_or_else(frames))?;
        if let Some(exit) = diagnostics.exit {
            app.out.line(Paint::Bold.of("end").then(format!(" {exit}")))?;
        }
        if let Some(failure) = &failure {
            let failure = format!(" {}", brief(failure, 1_000));
            app.out.line(Paint::Bad.of("failed:").then(failure))?;
        }
    }
    Ok(if failure.is_none() { Exit::Done } else { Exit::Unavailable })
}

/// Returns the complete messages, with secrets redacted.
fn payload(
    app: &App,
    config: &mcp_config::ServerConfig,
    recorder: &Recorder,
) -> Result<Vec<String>, Problem> {
    let text = recorder.cassette().to_string();
    let cassette = redact::recording(&app.config, &app.secrets, config, &text)?;
    Ok(cassette.lines().map(str::to_owned).collect())
}

fn print(app: &App, diagnostics: &Diagnostics, messages: &[String]) -> std::io::Result<()> {
    let title = |text: &str| Paint::Bold.of(text);
    app.out.line(title("stderr"))?;
    for line in &diagnostics.stderr {
        // Keep the indentation: tracebacks point at columns.
        app.out.line(format!("  {}", line.chars().take(400).collect::<String>().trim_end()))?;
    }
    if diagnostics.skipped_lines > 0 {
        let first = diagnostics.first_skipped.as_deref().unwrap_or_default();
        let count = diagnostics.skipped_lines;
        app.out.line(format!("{count} lines on stdout are not messages: {}", brief(first, 200)))?;
    }
    app.out.line(title("messages"))?;
    for message in messages {
        app.out.line(format!("  {}", brief(message, 4_200)))?;
    }
    Ok(())
}

/// Formats a timestamp in milliseconds as a time of day, in UTC.
pub(super) fn clock(millis: u64) -> String {
    let seconds = millis / 1_000 % 86_400;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{:03}", seconds % 60, millis % 1_000)
}
