//! What stands before the suite: a server of ours, running.

use std::{
    fmt, fs,
    io::{BufRead as _, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::json;

const SERVER: &str = "mcp-conformance-server";
/// For both: none of ours serves extensions.
const NOT_APPLICABLE: &str = "tests/conformance/server-not-applicable.txt";
/// What does not pass through a gateway.
const NOT_THROUGH_A_GATEWAY: &str = "tests/conformance/gateway-not-applicable.txt";

/// One of our servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// `ToolServer` itself, over HTTP.
    Server,
    /// `mcp serve --http`, with the same server behind it over a pipe.
    Gateway,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:7}", self.name())
    }
}

impl Subject {
    /// Those that were named; all of them if none was.
    pub(super) fn chosen(names: &[String]) -> Result<Vec<Self>, String> {
        let all = [Subject::Server, Subject::Gateway];
        if names.is_empty() {
            return Ok(all.to_vec());
        }
        let one = |name: &String| {
            let found = all.into_iter().find(|subject| subject.name() == name);
            found.ok_or_else(|| format!("there is no `{name}`, only `server` and `gateway`"))
        };
        names.iter().map(one).collect()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::Server => "server",
            Subject::Gateway => "gateway",
        }
    }

    /// The files that say what it need not pass.
    pub(super) fn left_out(self) -> &'static [&'static str] {
        match self {
            Subject::Server => &[NOT_APPLICABLE],
            Subject::Gateway => &[NOT_APPLICABLE, NOT_THROUGH_A_GATEWAY],
        }
    }

    /// Starts it from what was built in `target`. What it writes stays in `folder`.
    pub(super) fn start(self, target: &Path, folder: &Path) -> Result<Running, String> {
        let programs = target.join("debug");
        let server = programs.join(SERVER);
        match self {
            Subject::Server => {
                let mut command = Command::new(server);
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                let mut running = Running::spawn(&mut command)?;
                let output = running.child.stdout.take().ok_or("the server has no output")?;
                running.read_url(output, "")
            }
            Subject::Gateway => {
                let home = folder.join("home");
                let config = home.join("servers.json");
                let servers = json!({"mcpServers": {
                    "everything": {"command": server, "args": ["--stdio"], "trust": true}}});
                fs::create_dir_all(&home)
                    .and_then(|()| fs::write(&config, servers.to_string()))
                    .map_err(|error| format!("no place for the gateway's files: {error}"))?;
                let mut command = Command::new(programs.join("mcp"));
                command.args(["serve", "--http", "127.0.0.1:0", "--trust-host"]);
                command.args(["--names", "own", "--mode", "all", "--config"]).arg(&config);
                command.current_dir(&home).env("HOME", &home).env("MCP_SECRET_STORE", "file");
                for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
                    command.env_remove(name);
                }
                command.stdin(Stdio::null()).stderr(Stdio::piped());
                let mut running = Running::spawn(&mut command)?;
                let output = running.child.stderr.take().ok_or("the gateway has no output")?;
                running.read_url(output, "serving at ")
            }
        }
    }
}

/// A server of ours until it is dropped.
pub(super) struct Running {
    child: Child,
    pub(super) url: String,
}

impl Running {
    fn spawn(command: &mut Command) -> Result<Self, String> {
        let child =
            command.spawn().map_err(|error| format!("the server does not start: {error}"))?;
        Ok(Self { child, url: String::new() })
    }

    /// Waits for the line that says where it is, and reads on, lest the server wait for us.
    fn read_url(mut self, output: impl Read + Send + 'static, start: &str) -> Result<Self, String> {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let url = lines.find_map(|line| {
            line.strip_prefix(start).filter(|url| url.starts_with("http://")).map(str::to_owned)
        });
        self.url = url.ok_or("the server does not say where it is")?;
        thread::spawn(move || lines.for_each(drop));
        Ok(self)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It may have ended by itself. What is behind a gateway ends with its pipe.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_chosen_unless_some_are_named() {
        let chosen = |names: &[&str]| {
            Subject::chosen(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&[]), Ok(vec![Subject::Server, Subject::Gateway]));
        assert_eq!(chosen(&["gateway"]), Ok(vec![Subject::Gateway]));
        assert!(chosen(&["client"]).is_err());
    }
}
