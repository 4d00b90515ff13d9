//! Lists that people keep in files: an entry a line, empty lines and those that begin with `#` left out.

use std::fs;

/// The entries of the file at `path`, each as `entry` reads it. An error names the file.
pub(crate) fn load<T>(
    path: &str,
    entry: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    parse(&text, entry).map_err(|error| format!("{path}: {error}"))
}

/// The same of a text.
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
    fn remarks_are_no_entries_and_a_bad_entry_spoils_the_list() {
        let number = |line: &str| line.parse::<u8>().map_err(|error| format!("`{line}`: {error}"));
        assert_eq!(parse("# why\n\n 1 \n2\n", number), Ok(vec![1, 2]));
        assert!(parse("1\ntwo\n", number).unwrap_err().starts_with("`two`: "));
    }
}
