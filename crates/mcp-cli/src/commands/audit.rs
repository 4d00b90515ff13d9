//! `mcp audit`: shows and verifies the audit log of gateways.

use std::collections::VecDeque;

use clap::{Arg, ArgMatches, Command, value_parser};
use mcp_audit::{Line, Reader, verify};
use serde_json::{Value, json};

use super::text;
use crate::{
    exit::{Done, Exit, Problem},
    host::{
        app::App,
        audit::{Sealing, folder, sealed},
    },
    terminal::table::{Table, plain},
};

/// The members that `mcp audit show` filters by: the flag, its value, the member, and the help.
const FILTERS: [(&str, &str, &str, &str); 5] = [
    ("event", "EVENT", "event", "Only these events, such as call, approval or server.start"),
    ("of", "SERVER", "server", "Only this server"),
    ("tool", "NAME", "tool", "Only this tool"),
    ("client", "NAME", "client", "Only clients whose name begins like this"),
    ("decision", "WORD", "decision", "Only this decision, such as allow or deny"),
];

pub(super) fn command() -> Command {
    let filters = FILTERS
        .map(|(flag, value, _, help)| Arg::new(flag).long(flag).value_name(value).help(help));
    Command::new("audit")
        .about("Show or verify the audit log of gateways")
        .long_about(
            "Show or verify the audit log of gateways: one line for each call, resource, prompt, login, approval, \
             decision, and start or stop of a server. Lines are chained by hashes with a key from the secret store; \
             `verify` finds changed, removed and reordered lines. Arguments and results are recorded as hashes, \
             unless the gateway runs with `--audit-contents`.",
        )
        .subcommand_required(true)
        .after_help("Examples:\n  mcp audit verify\n  mcp audit show --of github --decision deny")
        .subcommand(
            Command::new("verify")
                .about("Check that no line was changed, removed or reordered")
                .after_help("Examples:\n  mcp audit verify --json"),
        )
        .subcommand(
            Command::new("show")
                .about("Print lines of the log, the newest last")
                .after_help("Examples:\n  mcp audit show --event call --last 20\n  mcp audit show --json")
                .args(filters)
                .arg(
                    Arg::new("since")
                        .long("since")
                        .value_name("TIME")
                        .help("Only lines from this time on, such as 2026-11-19 or 2026-11-19T08:00Z"),
                )
                .arg(
                    Arg::new("last")
                        .long("last")
                        .value_name("N")
                        .value_parser(value_parser!(usize))
                        .default_value("50")
                        .help("At most this many lines"),
                ),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    match matches.subcommand() {
        Some(("verify", _)) => check(app).await,
        Some(("show", matches)) => show(app, matches),
        _ => Ok(Exit::Usage),
    }
}

/// There is no log yet.
fn absent() -> Problem {
    Problem::new(Exit::NotFound, "there is no audit log").hint("`mcp serve` begins one")
}

async fn check(app: &App) -> Done {
    let folder = folder(&app.config.places).filter(|folder| folder.is_dir()).ok_or_else(absent)?;
    let sealing = app.wait(Sealing::load(&**app.logins.vault().store())).await?;
    let sealing = sealing.map_err(|error| sealed(&error))?.ok_or_else(|| {
        Problem::new(Exit::Failed, "the key of the audit log is not in the secret store")
            .hint("without it the log cannot be verified; `mcp audit show` still prints it")
    })?;
    let checking = tokio::task::spawn_blocking(move || {
        verify(&folder, &sealing.key, sealing.checkpoint.as_ref())
    });
    let found = app.wait(checking).await?.map_err(std::io::Error::other)??;
    if app.out.json {
        let findings: Vec<String> = found.findings.iter().map(ToString::to_string).collect();
        app.out.value(&json!({"intact": found.is_intact(), "lines": found.lines,
            "first": found.first, "last": found.last, "findings": findings,
            "count": found.count, "incomplete": found.incomplete}))?;
    } else {
        for finding in &found.findings {
            app.out.line(finding.to_string())?;
        }
        for place in &found.incomplete {
            app.out.remark(format!("{place}: incomplete, because its gateway was killed"));
        }
        let (lines, first, last) = (found.lines, found.first, found.last);
        match found.count {
            0 => app.out.line(format!("intact: {lines} lines, {first} to {last}"))?,
            1 => app.out.line(format!("1 finding in {lines} lines, {first} to {last}"))?,
            count => {
                app.out.line(format!("{count} findings in {lines} lines, {first} to {last}"))?;
            }
        }
    }
    Ok(if found.is_intact() { Exit::Done } else { Exit::Failed })
}

fn show(app: &App, matches: &ArgMatches) -> Done {
    let folder = folder(&app.config.places).filter(|folder| folder.is_dir()).ok_or_else(absent)?;
    let most = matches.get_one::<usize>("last").copied().unwrap_or(usize::MAX);
    let mut shown = VecDeque::new();
    for line in Reader::open(&folder)? {
        let Some(record) = selected(&line?, matches) else { continue };
        if shown.len() == most {
            shown.pop_front();
        }
        if most > 0 {
            shown.push_back(record);
        }
    }
    if app.out.json {
        for record in &shown {
            app.out.value_line(record)?;
        }
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["TIME", "EVENT", "CLIENT", "WHAT", "DECISION", "END", "MS"]);
    for record in &shown {
        let member = |name: &str| record[name].as_str().unwrap_or_default();
        let what = ["tool", "target", "server"].map(member);
        let what = what.iter().find(|text| !text.is_empty()).copied().unwrap_or_default();
        let took = record["ms"].as_u64().map(|ms| ms.to_string()).unwrap_or_default();
        let cells = [member("time"), member("event"), member("client"), what, member("decision")];
        let end = [member("outcome"), &took];
        table.row(cells.into_iter().chain(end).map(|cell| plain(cell.to_owned())));
    }
    table.print(app.out)?;
    Ok(Exit::Done)
}

/// The record of a line, if the filters select it.
fn selected(line: &Line, matches: &ArgMatches) -> Option<Value> {
    let record: Value = serde_json::from_str(&line.text).ok()?;
    let member = |name: &str| record[name].as_str().unwrap_or_default();
    let is_selected = FILTERS.iter().all(|(flag, _, name, _)| {
        let wanted = text(matches, flag);
        wanted.is_empty()
            || if *name == "client" {
                member(name).starts_with(wanted)
            } else {
                member(name) == wanted
            }
    });
    // Times are written in one format, so their texts are ordered like them.
    let is_recent = member("time") >= text(matches, "since").trim_end_matches('Z');
    (is_selected && is_recent).then_some(record)
}
