//! Runs other programs. An error names the command line.

use std::{
    env,
    ffi::OsStr,
    io::{self, BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
};

/// Number of output lines shown for a failed program.
const TAIL: usize = 40;

/// The cargo that runs xtask, so that a toolchain override applies to inner runs too.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Prints the command line, then runs it with our stdout and stderr.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = command_line(command);
    eprintln!("$ {line}");
    let status = command.status().map_err(|error| not_started(&line, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` ended with {status}")) }
}

/// Like [`run`], and passes each printed line of stdout to `read`.
pub(crate) fn run_through(command: &mut Command, mut read: impl FnMut(&str)) -> Result<(), String> {
    let line = command_line(command);
    eprintln!("$ {line}");
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| not_started(&line, &error))?;
    let lost = |error: io::Error| format!("lost the output of `{line}`: {error}");
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = BufReader::new(stdout);
        let mut bytes = Vec::new();
        while stdout.read_until(b'\n', &mut bytes).map_err(lost)? > 0 {
            io::stdout().write_all(&bytes).map_err(lost)?;
            read(String::from_utf8_lossy(&bytes).trim_end());
            bytes.clear();
        }
    }
    let status = child.wait().map_err(lost)?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` ended with {status}")) }
}

/// Runs silently and returns stdout. If the program fails, the end of its output is printed.
pub(crate) fn capture(command: &mut Command) -> Result<String, String> {
    let line = command_line(command);
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| not_started(&line, &error))?;
    if !output.status.success() {
        eprintln!("{}", tail(&output));
        return Err(format!("`{line}` ended with {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{line}` printed something not UTF-8"))
}

/// Whether `program` can be started.
pub(crate) fn exists(program: impl AsRef<OsStr>) -> bool {
    let mut probe = Command::new(program);
    probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

fn not_started(line: &str, error: &io::Error) -> String {
    format!("could not start `{line}`: {error}")
}

/// The command line as a user would type it: the program without its folder, then its arguments.
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

fn tail(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_its_end() {
        let error = capture(&mut cargo(["--no-such-flag"])).unwrap_err();
        assert!(error.starts_with("`cargo --no-such-flag` ended with exit"), "{error}");
    }

    #[test]
    fn lines_are_handed_on_as_they_are_printed() {
        let mut lines = Vec::new();
        run_through(&mut cargo(["--version"]), |line| lines.push(line.to_owned())).unwrap();
        assert!(lines.len() == 1 && lines[0].starts_with("cargo "), "{lines:?}");
    }

    #[test]
    fn missing_program_differs_from_a_failing_one() {
        let error = capture(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(error.starts_with("could not start `no-such-program-anywhere`"), "{error}");
        assert!(!exists("no-such-program-anywhere"));
    }
}
