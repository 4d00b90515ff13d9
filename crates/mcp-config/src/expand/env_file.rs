//! The file of variables that an entry names as `envFile`.

use std::{io, path::PathBuf};

use super::{ExpandCause, Expander, File};
use crate::model::{SecretMap, SecretText};

/// The file of an entry, as it was when the entry was expanded. Not printed: it may contain secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct EnvFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// In the order of the file; a later one replaces an earlier one of its name.
    variables: Vec<(String, String)>,
}

impl Expander<'_> {
    /// Reads the file at `path`, the expanded value of `envFile`.
    pub(crate) fn env_file(&self, path: &str) -> Result<EnvFile, ExpandCause> {
        let File { path: place, text } = self.file(path)?;
        let variables = parse(&text).map_err(|line| {
            let found = format!("line {line} is not of the form `NAME=value`");
            let error = io::Error::new(io::ErrorKind::InvalidData, found);
            ExpandCause::File(path.to_owned(), error)
        })?;
        Ok(EnvFile { path: place, text, variables })
    }
}

impl EnvFile {
    /// Adds the variables that `env` does not have: the entry takes precedence, as in VS Code.
    pub(crate) fn add_to(&self, env: &mut SecretMap) {
        let missing = self.variables.iter().filter(|(name, _)| !env.contains(name));
        let missing: Vec<(&str, SecretText)> =
            missing.map(|(name, value)| (name.as_str(), SecretText::literal(&**value))).collect();
        env.extend(missing);
    }
}

/// The variables of a file, or the number of the first line that cannot be read. A line is `NAME=value`, `#` begins a
/// comment, and `export` before a name is skipped. A value in quotation marks may have several lines; in double ones,
/// `\n`, `\r`, `\t`, `\"`, `\$` and `\\` are escapes. Variables in values are not replaced.
fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let number = text[..text.len() - rest.len()].matches('\n').count() + 1;
        let from_line = rest;
        let (line, after) = from_line.split_once('\n').unwrap_or((from_line, ""));
        rest = after;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let assignment = match line.strip_prefix("export") {
            Some(exported) if exported.starts_with(char::is_whitespace) => exported.trim_start(),
            _ => line,
        };
        let (name, value) = assignment.split_once('=').ok_or(number)?;
        let (name, value) = (name.trim_end(), value.trim_start());
        if !is_name(name) {
            return Err(number);
        }
        let value = match value.chars().next() {
            Some(mark @ ('"' | '\'')) => {
                // The value may end on a later line.
                let (_, from_value) = from_line.split_once(mark).ok_or(number)?;
                let (value, after) = quoted(from_value, mark).ok_or(number)?;
                let (tail, after) = after.split_once('\n').unwrap_or((after, ""));
                if !matches!(tail.trim_start().chars().next(), None | Some('#')) {
                    return Err(number);
                }
                rest = after;
                value
            }
            _ => plain(value).to_owned(),
        };
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// A value without quotation marks. Only a `#` after white space begins a comment: `#` is common in passwords.
fn plain(value: &str) -> &str {
    let mut before = None;
    for (at, c) in value.char_indices() {
        if c == '#' && before.is_none_or(char::is_whitespace) {
            return value[..at].trim_end();
        }
        before = Some(c);
    }
    value
}

/// The value up to the closing `mark`, and the text after it.
fn quoted(text: &str, mark: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == mark => return Some((value, &text[at + 1..])),
            '\\' if mark == '"' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                c @ ('"' | '\\' | '$') => value.push(c),
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_shells_and_editors_write_them() {
        for (text, value) in [
            ("A=1", "1"),
            ("  export A = 1 \r\n", "1"),
            ("A=", ""),
            ("A= # none", ""),
            ("A=#none", ""),
            ("A=a#b # c", "a#b"),
            ("A=a=b", "a=b"),
            ("A=\"a # b\" # c", "a # b"),
            ("A='a\\n\"b'", "a\\n\"b"),
            (r#"A="a\n\r\t\"\\\$\d""#, "a\n\r\t\"\\$\\d"),
            ("A=\"a\nb\"", "a\nb"),
            ("A='é\nb'#c\n\n", "é\nb"),
            ("A=${HOME}", "${HOME}"),
        ] {
            assert_eq!(parse(text), Ok(vec![("A".to_owned(), value.to_owned())]), "{text}");
        }
        let two = parse("# comment\n\nexported=1\nB.c-d=\"2\n3\"\nexport B=4").unwrap();
        let two: Vec<(&str, &str)> = two.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(two, [("exported", "1"), ("B.c-d", "2\n3"), ("B", "4")]);
    }

    #[test]
    fn first_line_that_is_not_an_assignment_is_named() {
        for (text, line) in [
            ("A", 1),
            ("A=1\nB", 2),
            ("A=\"1\n2\"\nB", 3),
            ("=1", 1),
            ("1A=1", 1),
            ("A B=1", 1),
            ("\nA=\"1\n", 2),
            ("A=\"\\", 1),
            ("A='1' 2", 1),
            ("export=", 0),
        ] {
            let expected = if line == 0 { Ok(1) } else { Err(line) };
            assert_eq!(parse(text).map(|all| all.len()), expected, "{text}");
        }
    }
}
