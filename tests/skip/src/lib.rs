//! Records skipped tests, so that `cargo xtask test` can list them.
//!
//! The test harness knows passed, failed and ignored tests, but not a test that finds out at run time that a program
//! is missing. Such a test calls [`skip`] and returns. The harness counts it as passed; the summary of
//! `cargo xtask test` counts it as skipped, and fails when `CI=true`.

use std::{
    env,
    ffi::OsString,
    fs::OpenOptions,
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
};

/// Names the file to which skips are appended. `cargo xtask test` sets it.
pub const VARIABLE: &str = "MCP_SKIPS";

/// Records that the current test, or a part of it, does not run.
///
/// `reason` names the missing program, `remedy` how to get it: a package to install or a command to run. A process that
/// was not started by `cargo xtask test` only prints them.
///
/// # Panics
///
/// If the record cannot be written: a lost skip would count as a pass.
pub fn skip(reason: &str, remedy: &str) {
    eprintln!("skipped: {reason}; {remedy}");
    if let Some(file) = env::var_os(VARIABLE) {
        let current = thread::current();
        let test = current.name().unwrap_or("unnamed test");
        append(Path::new(&file), test, reason, remedy)
            .unwrap_or_else(|error| panic!("cannot record a skipped test: {error}"));
    }
}

/// The folder of programs that `variable` names, as set by `cargo xtask test`. Records a skip and returns `None` where
/// it is not set.
pub fn kit(variable: &str) -> Option<PathBuf> {
    found(variable, env::var_os(variable))
}

fn found(variable: &str, value: Option<OsString>) -> Option<PathBuf> {
    if value.is_none() {
        skip(&format!("{variable} is not set"), remedy(variable));
    }
    value.map(PathBuf::from)
}

fn remedy(variable: &str) -> &'static str {
    if variable.starts_with("MCP_PY") {
        "install `python3` and `python3-venv`, and run `cargo xtask test`"
    } else {
        "install `nodejs` and `npm`, and run `cargo xtask test`"
    }
}

/// One line per skip: test, reason and remedy, separated by tabs. A single write, because test binaries and threads
/// append to the same file.
fn append(file: &Path, test: &str, reason: &str, remedy: &str) -> io::Result<()> {
    let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    let line = format!("{}\t{}\t{}\n", plain(test), plain(reason), plain(remedy));
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_skip_is_one_line_of_three_fields() {
        let file = env::temp_dir().join(format!("mcp-skip-{}.tsv", std::process::id()));
        append(&file, "a::b", "no\tbrowser\nhere", "install `chromium`").unwrap();
        append(&file, "c", "no bus", "install `dbus-daemon`").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(
            text,
            "a::b\tno browser here\tinstall `chromium`\nc\tno bus\tinstall `dbus-daemon`\n"
        );
    }

    #[test]
    fn a_kit_that_is_there_is_returned() {
        assert_eq!(found("MCP_X", Some("/kit".into())), Some(PathBuf::from("/kit")));
        assert!(remedy("MCP_PYREF").starts_with("install `python3`"));
        assert!(remedy("MCP_OIDC").starts_with("install `nodejs`"));
    }
}
