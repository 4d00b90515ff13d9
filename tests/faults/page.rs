//! Renders `docs/reliability.md` from the findings.

use std::fmt::Write as _;

use crate::{
    finding::{Finding, Seen},
    matrix::{Fault, Transport},
    rig::{CALL_LIMIT, LIMIT, MAX_MESSAGE},
};

type Found = [((Fault, Transport), Finding)];

/// The text before and after the findings.
const OPENING: &str = include_str!("opening.md");
const CLOSING: &str = include_str!("closing.md");

pub(crate) fn page(found: &Found) -> String {
    let limits = OPENING
        .replace("{call}", &format!("{CALL_LIMIT:?}"))
        .replace("{limit}", &format!("{LIMIT:?}"))
        .replace("{size}", &(MAX_MESSAGE >> 10).to_string())
        .replace("{cells}", &found.len().to_string());
    let mut page = format!("{limits}\n{}\n## Cell by cell\n", summary_table(found));
    for fault in Fault::all() {
        let _ = write!(page, "\n### {fault}\n\n{}\n{}", fault.description(), section(fault, found));
    }
    format!("{page}\n{CLOSING}")
}

/// One row per fault, one column per transport.
fn summary_table(found: &Found) -> String {
    let titles = Transport::ALL.map(Transport::title).join(" | ");
    let mut table = format!("| fault | {titles} |\n|---|{}\n", "---|".repeat(Transport::ALL.len()));
    for fault in Fault::all() {
        let cells = Transport::ALL.map(|transport| match finding(found, fault, transport) {
            Some(finding) => brief(finding),
            None => "–".to_owned(),
        });
        let _ = writeln!(table, "| {fault} | {} |", cells.join(" | "));
    }
    table
}

fn finding(found: &Found, fault: Fault, transport: Transport) -> Option<&Finding> {
    found.iter().find(|(cell, _)| *cell == (fault, transport)).map(|(_, finding)| finding)
}

fn brief(finding: &Finding) -> String {
    let Finding { client, recovered, .. } = finding;
    if client.what == "answered" {
        return "answered".into();
    }
    let words = [&client.class, &client.delivery, &client.pace.to_string(), recovered];
    words.into_iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(" · ")
}

/// Transports with equal findings share a row.
fn section(fault: Fault, found: &Found) -> String {
    let mut rows: Vec<(Vec<&str>, String)> = Vec::new();
    let mut absent: Vec<(Vec<&str>, &str)> = Vec::new();
    for transport in Transport::ALL {
        if let Some(why) = fault.impossible(transport) {
            push(&mut absent, transport.title(), why);
        } else if let Some(finding) = finding(found, fault, transport) {
            push(&mut rows, transport.title(), row(finding));
        }
    }
    let mut section = String::from(
        "\n| over | `mcp-client` | class | delivery | took | `mcp-bridge` | took | then |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (transports, row) in rows {
        let _ = writeln!(section, "| {} | {row} |", transports.join(", "));
    }
    for (transports, why) in absent {
        let _ = writeln!(section, "\n– over {}: {why}.", transports.join(", "));
    }
    if let Some(note) = fault.note() {
        let _ = writeln!(section, "\n{note}");
    }
    section
}

fn push<'a, T: PartialEq>(rows: &mut Vec<(Vec<&'a str>, T)>, transport: &'a str, row: T) {
    match rows.iter_mut().find(|(_, known)| *known == row) {
        Some((transports, _)) => transports.push(transport),
        None => rows.push((vec![transport], row)),
    }
}

fn row(finding: &Finding) -> String {
    let Finding { client, bridge, recovered, .. } = finding;
    let class = dash(&client.class);
    let delivery = dash(&client.delivery);
    [
        &said(client),
        class,
        delivery,
        &client.pace.to_string(),
        &said(bridge),
        &bridge.pace.to_string(),
        recovered,
    ]
    .join(" | ")
}

fn dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

/// The kind of result and its message.
fn said(seen: &Seen) -> String {
    let sentence = seen.sentence.replace('|', "\\|");
    match (seen.what.as_str(), sentence.as_str()) {
        (what, "") => what.to_owned(),
        ("", sentence) => sentence.to_owned(),
        (what, sentence) => format!("**{what}**: {sentence}"),
    }
}
