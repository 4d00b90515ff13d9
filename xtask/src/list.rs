//! Parses hand-written lists: one entry per line, without empty lines and those that begin with `#`.

use std::fs;

/// Reads the entries of the file at `path` with `entry`. An error names the file.
pub(crate) fn load<T>(
    path: &str,
    entry: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    parse(&text, entry).map_err(|error| format!("{path}: {error}"))
}

/// Reads the entries of a text.
pub(crate) fn parse<T>(
    text: &str,
    entry: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().map(str::trim).filter(is_entry).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_skipped_and_an_invalid_entry_is_an_error() {
        let number = |line: &str| line.parse::<u8>().map_err(|error| format!("`{line}`: {error}"));
        assert_eq!(parse("# why\n\n 1 \n2\n", number), Ok(vec![1, 2]));
        assert!(parse("1\ntwo\n", number).unwrap_err().starts_with("`two`: "));
    }
}
