//! A server is not longer than with rmcp's macros.

use std::{fs, path::Path};

/// Lines of code: not blank, not a comment. Both files are formatted by the same rustfmt.
fn lines(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    for part in ["divide", "add_note", "count_notes", "memo://notes", "review", "Must not be zero"]
    {
        assert!(text.contains(part), "{} has no {part}", path.display());
    }
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    text.lines().map(str::trim).filter(is_code).count()
}

#[test]
fn server_with_tools_a_resource_and_a_prompt_is_at_most_as_long_as_with_rmcp() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ours = lines(&root.join("crates/mcp-server/examples/typed.rs"));
    let rmcp = lines(&root.join("bench/typed-rmcp/src/main.rs"));
    assert!(ours <= rmcp, "{ours} lines, and {rmcp} with rmcp");
    let guide = fs::read_to_string(root.join("docs/host-author.md")).unwrap();
    let figures =
        format!("{ours} lines of code; the same server with rmcp 3.8 and its macros has {rmcp}");
    assert!(
        guide.replace('\n', " ").contains(&figures),
        "docs/host-author.md should say: {figures}"
    );
}
