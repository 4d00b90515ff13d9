//! Fuzz targets for the front matter of a `SKILL.md`.
#![expect(clippy::missing_panics_doc, reason = "fuzz targets panic on a violation")]

use mcp_jsonrpc::RawJson;

use super::{front_matter::check, yaml};
use mcp_types::skills::SkillFrontmatter;

/// Any front matter that parses survives a round trip through JSON, and a file matches an entry
/// with the same fields and no other.
pub fn front_matter(data: &[u8]) {
    let Ok(head) = std::str::from_utf8(data) else { return };
    // The closing `---` must be on a separate line, and YAML distinguishes whether the text before
    // it ends a line.
    let head = format!("{head}\n");
    let Ok(found) = yaml::parse(&head) else { return };
    let json = RawJson::encode(&found).expect("a parsed value is JSON");
    let Ok(listed) = json.decode::<SkillFrontmatter>() else { return };
    let file = format!("---\n{head}---\nbody");
    match check(&listed, &file) {
        Ok(body) => assert!(file[body..].ends_with("body")),
        // A `---` line inside the data ends the front matter early.
        Err(error) => assert!(head.contains("---") || file.len() > 64 << 10, "{error:?}"),
    }
    let mut other = listed;
    other.description.push('x');
    assert!(check(&other, &file).is_err());
}
