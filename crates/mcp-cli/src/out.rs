//! What is shown, where, and whether in colour.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use clap::ArgMatches;
use serde_json::{Value, json};

use crate::exit::{Exit, Problem};

/// The way to the user's eyes, or to the next program.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Out {
    /// Results are JSON.
    pub(crate) json: bool,
    /// Remarks are left out.
    quiet: bool,
    colour: bool,
    colour_errors: bool,
}

/// How a word is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Warn,
}

impl Out {
    pub(crate) fn new(matches: &ArgMatches) -> Self {
        let allowed = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            json: matches.get_flag("json"),
            quiet: matches.get_flag("quiet"),
            colour: allowed && io::stdout().is_terminal(),
            colour_errors: allowed && io::stderr().is_terminal(),
        }
    }

    /// For whoever wants JSON and has not even got a command line.
    pub(crate) fn json() -> Self {
        Self { json: true, quiet: false, colour: false, colour_errors: false }
    }

    /// One line of a result.
    #[expect(clippy::unused_self, reason = "whoever has no `Out` must not write to stdout")]
    pub(crate) fn line(self, text: impl AsRef<str>) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_ref().as_bytes())?;
        stdout.write_all(b"\n")
    }

    /// A result for programs.
    pub(crate) fn value(self, value: &Value) -> io::Result<()> {
        let text = if io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.line(text.map_err(io::Error::other)?)
    }

    /// Everything said so far is on its way.
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn flush(self) -> io::Result<()> {
        io::stdout().flush()
    }

    /// Something worth knowing that is not the result. Nobody is to be stopped by it.
    pub(crate) fn remark(self, text: impl AsRef<str>) {
        if !self.quiet {
            let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
        }
    }

    /// Something the user has to do before anything goes on, so it is said to those who want quiet, too.
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn instruct(self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }

    /// Says what went wrong, and returns how to end.
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
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "{} {}", self.on_stderr(Paint::Bad, "error:"), problem.message);
        if let Some(hint) = &problem.hint {
            let _ = writeln!(stderr, "{} {hint}", self.on_stderr(Paint::Bold, "hint:"));
        }
        problem.exit
    }

    /// Words for stdout, painted if that is a terminal.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        painted(self.colour, paint, text)
    }

    /// Words for stderr.
    pub(crate) fn on_stderr(self, paint: Paint, text: &str) -> String {
        painted(self.colour_errors, paint, text)
    }
}

fn painted(colour: bool, paint: Paint, text: &str) -> String {
    let code = match paint {
        Paint::Bold => "1",
        Paint::Dim => "2",
        Paint::Good => "32",
        Paint::Bad => "31",
        Paint::Warn => "33",
        Paint::Plain => return text.to_owned(),
    };
    if colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.into() }
}

/// Whether the command line asks for JSON, whatever else is wrong with it.
pub(crate) fn wants_json() -> bool {
    env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

/// What clap says before it explains the usage.
pub(crate) fn first_paragraph(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ")
}

/// Foreign text for a terminal: nothing in it can move a cursor or hide.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|c| !is_unsafe(*c) || matches!(c, '\n' | '\t')).collect()
}

/// The same in one line of at most `most` characters.
pub(crate) fn brief(text: &str, most: usize) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let safe: String = one_line.chars().filter(|c| !is_unsafe(*c)).collect();
    if safe.chars().count() <= most {
        return safe;
    }
    let cut: String = safe.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_move_the_cursor_or_hide() {
        assert_eq!(shown("a\u{1b}[2Jb\nc\u{202e}"), "a[2Jb\nc");
        assert_eq!(brief("one\n two\u{7}  three", 9), "one two…");
        assert_eq!(brief("short", 9), "short");
    }

    #[test]
    fn nothing_is_painted_without_a_terminal() {
        assert_eq!(painted(false, Paint::Bad, "x"), "x");
        assert_eq!(painted(true, Paint::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(painted(true, Paint::Bad, ""), "");
    }
}
