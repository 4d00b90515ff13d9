//! Every change to a log is found.

use std::fs;

use mcp_audit::{Finding, LogOptions};
use proptest::{prelude::*, sample::Index};

use crate::{Fixture, call};

const LINES: usize = 6;

/// A log of which one file is rewritten.
fn tampered(change: impl FnOnce(&mut Vec<String>)) -> mcp_audit::Verification {
    let fixture = Fixture::new();
    fixture.write(LINES, LogOptions::default());
    assert!(fixture.verify().is_intact());
    let text = fs::read_to_string(fixture.current()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    lines.push(String::new());
    fs::write(fixture.current(), lines.join("\n")).unwrap();
    fixture.verify()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_byte_is_found(line in 0..LINES, at in any::<Index>(), to in 0x20_u8..0x7f) {
        let mut is_changed = false;
        let found = tampered(|lines| {
            let mut bytes = lines[line].clone().into_bytes();
            let at = at.index(bytes.len());
            is_changed = bytes[at] != to;
            bytes[at] = to;
            lines[line] = String::from_utf8(bytes).unwrap();
        });
        prop_assert_eq!(found.is_intact(), !is_changed, "{:?}", found);
    }

    #[test]
    fn removed_line_is_found(line in 0..LINES) {
        let found = tampered(|lines| { lines.remove(line); });
        prop_assert!(!found.is_intact());
    }

    #[test]
    fn swapped_lines_are_found(one in 0..LINES, other in 0..LINES) {
        let found = tampered(|lines| lines.swap(one, other));
        prop_assert_eq!(found.is_intact(), one == other);
    }

    #[test]
    fn repeated_line_is_found(line in 0..LINES, to in 0..=LINES) {
        let found = tampered(|lines| lines.insert(to, lines[line].clone()));
        prop_assert!(!found.is_intact());
    }
}

#[test]
fn finding_names_the_place() {
    let found = tampered(|lines| lines[2] = lines[2].replace("\"2\"", "\"9\""));
    assert_eq!(found.findings, [Finding::Changed { place: "audit.jsonl:3".into(), line: 3 }]);
    assert_eq!(found.findings[0].to_string(), "audit.jsonl:3: line 3 was changed");
    let found = tampered(|lines| {
        lines.drain(1..3);
    });
    let missing = Finding::Missing { place: "audit.jsonl:2".into(), from: 2, to: 3 };
    assert_eq!(found.findings, [missing]);
    let found = tampered(|lines| lines.truncate(4));
    assert_eq!(found.findings, [Finding::EndMissing { from: 5, to: 6 }]);
    let found = tampered(|lines| lines.push("text of others".into()));
    assert_eq!(found.findings, [Finding::Foreign { place: "audit.jsonl:7".into() }]);
}

#[test]
fn removed_end_stays_visible_after_further_lines() {
    let fixture = Fixture::new();
    fixture.write(LINES, LogOptions::default());
    let text = fs::read_to_string(fixture.current()).unwrap();
    let kept: String = text.split_inclusive('\n').take(3).collect();
    fs::write(fixture.current(), kept).unwrap();
    fixture.write(2, LogOptions::default());
    let found = fixture.verify();
    let missing = Finding::Missing { place: "audit.jsonl:4".into(), from: 4, to: 6 };
    assert_eq!(found.findings, [missing]);
}

#[test]
fn removed_head_is_on_record() {
    let fixture = Fixture::new();
    fixture.write(3, LogOptions::default());
    fs::remove_file(fixture.path().join("audit.head")).unwrap();
    assert_eq!(fixture.verify().findings, [Finding::Head("is missing")]);
    // Whoever removed the last lines as well finds the removal written down.
    fixture.write(1, LogOptions::default());
    assert!(fixture.lines().iter().any(|line| line.contains("audit.head is missing")));
}

#[test]
fn changed_head_is_found_and_on_record() {
    let fixture = Fixture::new();
    fixture.write(3, LogOptions::default());
    let head = fixture.path().join("audit.head");
    let text = fs::read_to_string(&head).unwrap().replacen("003", "002", 1);
    fs::write(&head, text).unwrap();
    assert_eq!(fixture.verify().findings, [Finding::Head("was changed")]);
    fixture.write(1, LogOptions::default());
    assert!(fixture.lines().iter().any(|line| line.contains("audit.head was changed")));
}

#[test]
fn incomplete_line_is_a_remark_and_the_chain_goes_on() {
    let fixture = Fixture::new();
    fixture.write(3, LogOptions::default());
    let text = fs::read_to_string(fixture.current()).unwrap();
    fs::write(fixture.current(), format!("{text}{{\"seq\":4,\"time\":\"19")).unwrap();
    let found = fixture.verify();
    assert!(found.is_intact() && found.incomplete == ["audit.jsonl:4"], "{found:?}");
    fixture.open(LogOptions::default()).append(&call("next")).unwrap();
    let found = fixture.verify();
    assert!(found.is_intact() && found.incomplete == ["audit.jsonl:4"], "{found:?}");
    assert_eq!(found.last, 5);
    // Other text of the same length is not explained by the remark about it.
    let text = fs::read_to_string(fixture.current()).unwrap();
    fs::write(fixture.current(), text.replace("{\"seq\":4,\"time\":\"19\n", "forged\n")).unwrap();
    assert_eq!(fixture.verify().findings, [Finding::Foreign { place: "audit.jsonl:4".into() }]);
}
