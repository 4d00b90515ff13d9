//! An isolated machine for each test: a home directory, a project, and the command.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// The command under test.
pub(crate) const MCP: &str = env!("CARGO_BIN_EXE_mcp");

/// A home directory with an empty project.
pub(crate) struct Machine {
    folder: TempDir,
}

/// A gateway that listens until it is dropped.
pub(crate) struct Listening {
    child: Child,
    pub(crate) url: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Its servers end with their pipes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a command.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder }
    }

    /// Returns a machine with the demo server as a separate program.
    pub(crate) fn with_demo() -> Self {
        let machine = Self::new();
        let added = machine.run(["add", "-s", "user", "demo", "--", MCP, "demo", "--stdio"]);
        assert_eq!(added.code, 0, "{}", added.stderr);
        machine
    }

    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.home().join(path)).unwrap()
    }

    /// Returns the command, with only `PATH` inherited from the environment.
    pub(crate) fn command<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(MCP);
        self.set_up(&mut command);
        command.args(args).stdin(Stdio::null());
        command
    }

    pub(crate) fn set_up(&self, command: &mut Command) {
        command.env_clear().current_dir(self.project());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("MCP_SECRET_STORE", "file");
    }

    pub(crate) fn run<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Ran {
        self.finish(self.command(args), "")
    }

    pub(crate) fn finish(&self, mut command: Command, input: &str) -> Ran {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| self.filtered(&String::from_utf8(bytes).unwrap());
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Returns the names of all commands, as the program lists them.
    pub(crate) fn commands(&self) -> Vec<String> {
        let help = self.run(["--help"]).stdout;
        let (_, list) = help.split_once("Commands:\n").unwrap();
        let lines = list.lines().take_while(|line| !line.is_empty());
        let names: Vec<String> = lines
            .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
            .map(|line| line.split_whitespace().next().unwrap().to_owned())
            .filter(|name| name != "help")
            .collect();
        assert!(names.len() > 30, "{names:?}");
        names
    }

    /// Starts a gateway at a free port, with additional arguments.
    pub(crate) fn listen(&self, args: &[&str]) -> Listening {
        let mut command = self.command(["serve", "--http", "127.0.0.1:0", "--no-token"]);
        let mut child = command.args(args).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.strip_prefix("serving at ").map(str::to_owned));
        // Drain its stderr, so that it does not block.
        std::thread::spawn(move || lines.for_each(drop));
        Listening { child, url: url.unwrap() }
    }

    /// Removes differences between machines and runs.
    pub(crate) fn filtered(&self, text: &str) -> String {
        let real = fs::canonicalize(MCP).unwrap();
        let text = text.replace(MCP, "[mcp]").replace(&*real.to_string_lossy(), "[mcp]");
        let text = text.replace(&*self.home().to_string_lossy(), "[home]");
        without_times(&text)
    }
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("not JSON: {}", self.stdout))
    }
}

/// Whether there is a Python interpreter for a test's own server. Records a skip if there is none.
pub(crate) fn has_python() -> bool {
    let is_there =
        Command::new("python3").arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !is_there {
        mcp_skip::skip("python3 is not installed", "install `python3`");
    }
    is_there
}

/// Replaces `12 ms` and its padding with `N ms`.
fn without_times(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(number)
                if word.starts_with("ms")
                    && !number.is_empty()
                    && number.bytes().all(|b| b.is_ascii_digit()) =>
            {
                "N".clone_into(number);
            }
            _ => {}
        }
        words.push(word.to_owned());
    }
    words.join(" ")
}
