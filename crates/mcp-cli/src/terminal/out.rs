//! Writes results to stdout and remarks to stderr. All text is sanitized here.

use std::{
    env,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
};

use clap::ArgMatches;
use mcp_safe::text;
use serde_json::{Value, json};

use crate::{
    exit::{Exit, Problem},
    terminal::paint::{Line, Paint},
};

/// The output of a command.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Out {
    /// Print results as JSON.
    pub(crate) json: bool,
    /// Print no remarks.
    quiet: bool,
    colour: bool,
    colour_errors: bool,
}

impl Out {
    pub(crate) fn new(matches: &ArgMatches) -> Self {
        Self::with(matches.get_flag("json"), matches.get_flag("quiet"))
    }

    /// Settings for a command line that could not be parsed.
    pub(crate) fn unparsed() -> Self {
        Self::with(wants_json(), false)
    }

    fn with(json: bool, quiet: bool) -> Self {
        let allowed = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            json,
            quiet,
            colour: allowed && io::stdout().is_terminal(),
            colour_errors: allowed && io::stderr().is_terminal(),
        }
    }

    /// Prints one line of a result.
    pub(crate) fn line(self, line: impl Into<Line>) -> io::Result<()> {
        write_line(&mut io::stdout().lock(), &line.into().render(self.colour))
    }

    /// Writes raw bytes of a result.
    #[expect(clippy::unused_self, reason = "only the owner of an `Out` writes to stdout")]
    pub(crate) fn bytes(self, bytes: &[u8]) -> io::Result<()> {
        io::stdout().lock().write_all(bytes)
    }

    /// Prints a result as JSON, pretty-printed on a terminal.
    pub(crate) fn value(self, value: &Value) -> io::Result<()> {
        self.write_json(value, io::stdout().is_terminal())
    }

    /// Prints one of several results as JSON, on one line.
    pub(crate) fn value_line(self, value: &Value) -> io::Result<()> {
        self.write_json(value, false)
    }

    #[expect(clippy::unused_self, reason = "only the owner of an `Out` writes to stdout")]
    fn write_json(self, value: &Value, is_pretty: bool) -> io::Result<()> {
        let text = if is_pretty {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        let mut text = text.map_err(io::Error::other)?;
        if io::stdout().is_terminal() {
            text = escape_json(&text);
        }
        write_line(&mut io::stdout().lock(), &text)
    }

    /// Flushes stdout.
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn flush(self) -> io::Result<()> {
        io::stdout().flush()
    }

    /// Prints a remark on stderr. A failure to write it is ignored.
    pub(crate) fn remark(self, line: impl Into<Line>) {
        if !self.quiet {
            self.instruct(line);
        }
    }

    /// Prints a message that the user must see on stderr, also with `--quiet`.
    pub(crate) fn instruct(self, line: impl Into<Line>) {
        let _ = write_line(&mut io::stderr().lock(), &line.into().render(self.colour_errors));
    }

    /// Prints an error and returns its exit code.
    pub(crate) fn problem(self, problem: &Problem) -> Exit {
        if problem.is_silent {
            return problem.exit;
        }
        if self.json {
            let mut error = json!({"code": problem.exit.name(), "message": problem.message});
            if let Some(hint) = &problem.hint {
                error["hint"] = json!(hint);
            }
            let _ = self.value(&json!({ "error": error }));
            let _ = self.flush();
            return problem.exit;
        }
        self.instruct(Paint::Bad.of("error:").then(format!(" {}", problem.message)));
        if let Some(hint) = &problem.hint {
            self.instruct(Paint::Bold.of("hint:").then(format!(" {hint}")));
        }
        problem.exit
    }
}

fn write_line(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.write_all(b"\n")
}

/// Escapes hidden characters in JSON text as `\u`, which does not change its value.
fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Unescaped line feeds occur only between tokens.
        if c == '\n' || !text::is_hidden(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Whether the command line contains `--json`, even if it cannot be parsed.
fn wants_json() -> bool {
    env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

/// Returns the part of a clap message before the usage.
pub(crate) fn first_paragraph(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ")
}

/// Shortens foreign text to one line of at most `most` characters.
pub(crate) fn brief(text: &str, most: usize) -> String {
    text::one_line(text, most).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_reduced_to_one_line() {
        assert_eq!(brief("one\n two\u{7}  three", 9), "one two…");
        assert_eq!(brief("a\u{2028}b\u{ad}c \u{61c} d", 9), "a bc d");
    }

    #[test]
    fn json_on_a_terminal_escapes_hidden_characters_and_keeps_its_value() {
        let value =
            json!({"a\u{9b}2J": "x\u{202e}\u{2028}\u{ad}\u{e0041}\u{1b}\r\n", "b": [1, "é"]});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = escape_json(&text);
        assert!(!text::is_visible(&text) && text::is_visible(&shown), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
