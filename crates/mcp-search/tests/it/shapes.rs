//! The serialized formats, which are part of the API.

use mcp_search::{
    Card, SearchOptions,
    cost::{Estimate, SessionCost, Statistics, ToolText},
    validate::{Rules, Validator},
};
use serde_json::json;

#[test]
fn statistics_keep_their_shape() {
    let read = ToolText::new("files", "read", "Reads", "{\"name\":\"read\"}").with_loaded(true);
    let mut statistics = Statistics::of([read], &Estimate);
    statistics.set_instructions("files", "Be kind.", &Estimate);
    let written = serde_json::to_value(&statistics).unwrap();
    let cost = statistics.total();
    assert_eq!(
        written,
        json!({"servers": {"files": {"read": {"tools": 1, "loaded": 1, "summaries": cost.summaries,
            "definitions": cost.definitions, "now": cost.now}}},
            "instructions": {"files": statistics.instructions().next().unwrap().1}})
    );
    assert_eq!(serde_json::from_value::<Statistics>(written).unwrap(), statistics);
    let session = serde_json::to_value(SessionCost::new(7)).unwrap();
    assert_eq!(session, json!({"tokens": 7, "turns": 50}));
}

#[test]
fn rules_and_options_are_read_with_defaults() {
    let rules: Rules = serde_json::from_value(json!({"pass": 60, "leastWords": 3})).unwrap();
    assert_eq!((rules.pass, rules.least_words), (60, 3));
    assert_eq!(rules.most_chars, Rules::default().most_chars);
    assert!(serde_json::from_value::<Rules>(json!({"pas": 60})).is_err());
    let options: SearchOptions = serde_json::from_value(json!({"limit": 3})).unwrap();
    assert_eq!(options, SearchOptions::default().with_limit(3));
}

#[test]
fn report_keeps_its_shape() {
    let report = Validator::default().check(&Card::new("id", "files", "readFile"));
    let written = serde_json::to_value(&report).unwrap();
    assert_eq!(
        written["problems"],
        json!([{"problem": "missing-description"}, {"problem": "naming"}, {"problem": "no-example"}])
    );
    assert_eq!((&written["score"], &written["passed"]), (&json!(report.score), &json!(true)));
}
