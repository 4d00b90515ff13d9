//! Targets for the fuzzer: the head of a `SKILL.md`.
#![expect(clippy::missing_panics_doc, reason = "panicking is what they are for")]

use mcp_jsonrpc::RawJson;

use super::{front_matter::check, yaml};
use crate::types::SkillFrontmatter;

/// Any front matter: what is read, written as JSON, is read as the same; and a file agrees with a
/// list that says what it says, and with no other.
pub fn front_matter(data: &[u8]) {
    let Ok(head) = std::str::from_utf8(data) else { return };
    // The line of dashes stands on its own, so what is before it ends a line: YAML tells the difference.
    let head = format!("{head}\n");
    let Ok(found) = yaml::parse(&head) else { return };
    let json = RawJson::encode(&found).expect("what was read is JSON");
    let Ok(listed) = json.decode::<SkillFrontmatter>() else { return };
    let file = format!("---\n{head}---\nbody");
    match check(&listed, &file) {
        Ok(body) => assert!(file[body..].ends_with("body")),
        // Dashes in a line of their own end the front matter before its end.
        Err(error) => assert!(head.contains("---") || file.len() > 64 << 10, "{error:?}"),
    }
    let mut other = listed;
    other.description.push('x');
    assert!(check(&other, &file).is_err());
}
