//! The page that is made of the findings.

use std::fmt::Write as _;

use crate::{
    finding::{Finding, Seen},
    matrix::{Carrier, Fault},
    rig::{CALL_LIMIT, LIMIT, MAX_MESSAGE},
};

type Found = [((Fault, Carrier), Finding)];

/// What stands before the findings, and behind them.
const OPENING: &str = include_str!("opening.md");
const CLOSING: &str = include_str!("closing.md");

pub(crate) fn page(found: &Found) -> String {
    let limits = OPENING
        .replace("{call}", &format!("{CALL_LIMIT:?}"))
        .replace("{limit}", &format!("{LIMIT:?}"))
        .replace("{size}", &(MAX_MESSAGE >> 10).to_string())
        .replace("{cells}", &found.len().to_string());
    let mut page = format!("{limits}\n{}\n## Cell by cell\n", glance(found));
    for fault in Fault::all() {
        let _ = write!(page, "\n### {fault}\n\n{}\n{}", fault.story(), section(fault, found));
    }
    format!("{page}\n{CLOSING}")
}

/// One row a fault, one column a carrier.
fn glance(found: &Found) -> String {
    let titles = Carrier::ALL.map(Carrier::title).join(" | ");
    let mut table = format!("| fault | {titles} |\n|---|{}\n", "---|".repeat(Carrier::ALL.len()));
    for fault in Fault::all() {
        let cells = Carrier::ALL.map(|carrier| match finding(found, fault, carrier) {
            Some(finding) => brief(finding),
            None => "–".to_owned(),
        });
        let _ = writeln!(table, "| {fault} | {} |", cells.join(" | "));
    }
    table
}

fn finding(found: &Found, fault: Fault, carrier: Carrier) -> Option<&Finding> {
    found.iter().find(|(cell, _)| *cell == (fault, carrier)).map(|(_, finding)| finding)
}

fn brief(finding: &Finding) -> String {
    let Finding { client, recovered, .. } = finding;
    if client.what == "answered" {
        return "answered".into();
    }
    let words = [&client.class, &client.delivery, &client.pace.to_string(), recovered];
    words.into_iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(" · ")
}

/// Carriers that differ in nothing share a row.
fn section(fault: Fault, found: &Found) -> String {
    let mut rows: Vec<(Vec<&str>, String)> = Vec::new();
    let mut absent: Vec<(Vec<&str>, &str)> = Vec::new();
    for carrier in Carrier::ALL {
        if let Some(why) = fault.absurd(carrier) {
            push(&mut absent, carrier.title(), why);
        } else if let Some(finding) = finding(found, fault, carrier) {
            push(&mut rows, carrier.title(), row(finding));
        }
    }
    let mut section = String::from(
        "\n| over | `mcp-client` | class | delivery | took | `mcp-bridge` | took | then |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (carriers, row) in rows {
        let _ = writeln!(section, "| {} | {row} |", carriers.join(", "));
    }
    for (carriers, why) in absent {
        let _ = writeln!(section, "\n– over {}: {why}.", carriers.join(", "));
    }
    if let Some(note) = fault.note() {
        let _ = writeln!(section, "\n{note}");
    }
    section
}

fn push<'a, T: PartialEq>(rows: &mut Vec<(Vec<&'a str>, T)>, carrier: &'a str, row: T) {
    match rows.iter_mut().find(|(_, known)| *known == row) {
        Some((carriers, _)) => carriers.push(carrier),
        None => rows.push((vec![carrier], row)),
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

/// What a caller gets, and in which words.
fn said(seen: &Seen) -> String {
    let sentence = seen.sentence.replace('|', "\\|");
    match (seen.what.as_str(), sentence.as_str()) {
        (what, "") => what.to_owned(),
        ("", sentence) => sentence.to_owned(),
        (what, sentence) => format!("**{what}**: {sentence}"),
    }
}
