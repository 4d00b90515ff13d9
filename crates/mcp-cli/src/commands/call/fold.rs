//! Folds the middle of long results on a terminal, and stores the full text in a file.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use mcp_safe::fs::{private_folder, replace};

use crate::host::app::App;

/// A text with at most this many lines and characters is shown in full.
const MOST_LINES: usize = 400;
const MOST_CHARS: usize = 40_000;
/// Lines and characters shown of the beginning and of the end.
const HEAD: (usize, usize) = (120, 16_000);
const TAIL: (usize, usize) = (40, 4_000);
/// Number of files kept.
const KEPT: usize = 20;

/// Returns `text`, or its two ends and the path of the file with the full text. If that file cannot be written, the
/// text is not folded.
pub(super) fn fold(app: &App, tool: &str, text: &str) -> String {
    if text.lines().count() <= MOST_LINES && text.chars().count() <= MOST_CHARS {
        return text.to_owned();
    }
    let folder = app.config.places.cache.as_ref().map(|cache| cache.join("results"));
    match folder.and_then(|folder| keep(&folder, tool, text)) {
        Some(path) => folded(text, &path.display().to_string()),
        None => text.to_owned(),
    }
}

fn keep(folder: &Path, tool: &str, text: &str) -> Option<PathBuf> {
    private_folder(folder).ok()?;
    let tool: String =
        tool.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    let path = folder.join(format!("{PREFIX}{at}-{tool}.txt"));
    replace(&path, text.as_bytes()).ok()?;
    let mut old: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|e| e.path()).collect();
    old.retain(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    });
    old.sort();
    for path in old.iter().take(old.len().saturating_sub(KEPT)) {
        let _ = fs::remove_file(path);
    }
    Some(path)
}

/// File name prefix, followed by a timestamp so that names sort by age.
const PREFIX: &str = "call-";

fn folded(text: &str, place: &str) -> String {
    let head = text.split_inclusive('\n').take(HEAD.0).map(str::len).sum::<usize>();
    let head = boundary(text, head.min(HEAD.1));
    let rest = &text[head..];
    let tail = rest.split_inclusive('\n').rev().take(TAIL.0).map(str::len).sum::<usize>();
    let tail = boundary(rest, rest.len() - tail.min(TAIL.1));
    let lines = rest[..tail].lines().count();
    let end = if text[..head].ends_with('\n') { "" } else { "\n" };
    format!(
        "{}{end}… {lines} lines, {} characters folded; full text in {place}\n{}",
        &text[..head],
        rest[..tail].chars().count(),
        &rest[tail..]
    )
}

/// Returns the last character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_text_are_shown() {
        let lines: Vec<String> = (0..1_000).map(|n| format!("line {n}\n")).collect();
        let text = lines.concat();
        let shown = folded(&text, "FILE");
        assert!(shown.starts_with("line 0\n") && shown.ends_with("line 999\n"));
        assert!(
            shown.contains("… 840 lines, 7560 characters folded; full text in FILE\n"),
            "{shown}"
        );
    }

    #[test]
    fn one_long_line_is_folded_between_characters() {
        let text = "é".repeat(50_000);
        let shown = folded(&text, "FILE");
        assert!(shown.contains("folded; full text in FILE"), "{}", &shown[..80]);
        assert!(shown.chars().count() < 20_000);
    }
}
