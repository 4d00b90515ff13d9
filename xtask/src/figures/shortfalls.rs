//! The reasons for missed targets, written by hand.

use crate::list;

/// The marks for a missed target in our tables.
const MARKS: &[&str] = &["MISS", "FAIL"];

/// The beginning of a row, and the reason.
pub(super) struct Shortfalls(Vec<(String, String)>);

impl Shortfalls {
    pub(super) fn load(path: &str) -> Result<Self, String> {
        list::load(path, entry).map(Self)
    }

    /// The reasons for the rows of `said` that miss a target, and the rows without a reason.
    pub(super) fn explain(&self, said: &str) -> (Vec<(&str, &str)>, Vec<String>) {
        let (mut explained, mut missing) = (Vec::new(), Vec::new());
        for line in said.lines().filter(|line| MARKS.iter().any(|mark| line.contains(mark))) {
            match self.0.iter().find(|(row, _)| line.trim_start().starts_with(row.as_str())) {
                Some((row, why)) => explained.push((row.as_str(), why.as_str())),
                None => missing.push(line.to_owned()),
            }
        }
        explained.dedup();
        (explained, missing)
    }
}

/// Parses `beginning | reason`.
fn entry(line: &str) -> Result<(String, String), String> {
    let (row, why) = line.split_once(" | ").ok_or_else(|| format!("`{line}` gives no reason"))?;
    Ok((row.trim().to_owned(), why.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_target_has_a_reason_or_is_named() {
        let list = Shortfalls(list::parse("# why\n\nhttp: SSE | two wake-ups\n", entry).unwrap());
        let said = "http: JSON   7x  ok\nhttp: SSE, p50  4x  MISS\nsize  1.8x  MISS";
        let (explained, missing) = list.explain(said);
        assert_eq!(explained, [("http: SSE", "two wake-ups")]);
        assert_eq!(missing, ["size  1.8x  MISS"]);
        assert!(entry("no reason at all").is_err());
    }
}
