//! The servers under test.

use std::{
    fmt, fs,
    io::{BufRead as _, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::json;

const SERVER: &str = "mcp-conformance-server";
/// Exemptions for both subjects: neither serves extensions.
const NOT_APPLICABLE: &str = "tests/conformance/server-not-applicable.txt";
/// Exemptions for the gateway, for features that it does not forward.
const NOT_THROUGH_A_GATEWAY: &str = "tests/conformance/gateway-not-applicable.txt";

/// One of our servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// `ToolServer` itself, over HTTP.
    Server,
    /// `mcp serve --http`, with the same server behind it over stdio.
    Gateway,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:7}", self.name())
    }
}

impl Subject {
    /// The named subjects, or all of them.
    pub(super) fn chosen(names: &[String]) -> Result<Vec<Self>, String> {
        let all = [Subject::Server, Subject::Gateway];
        if names.is_empty() {
            return Ok(all.to_vec());
        }
        let one = |name: &String| {
            let found = all.into_iter().find(|subject| subject.name() == name);
            found.ok_or_else(|| format!("unknown subject `{name}`: expected `server` or `gateway`"))
        };
        names.iter().map(one).collect()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::Server => "server",
            Subject::Gateway => "gateway",
        }
    }

    /// The files with exemptions.
    pub(super) fn left_out(self) -> &'static [&'static str] {
        match self {
            Subject::Server => &[NOT_APPLICABLE],
            Subject::Gateway => &[NOT_APPLICABLE, NOT_THROUGH_A_GATEWAY],
        }
    }

    /// Starts the subject built in `target`, with its state in `folder`.
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
                command.args(["serve", "--http", "127.0.0.1:0", "--no-token", "--trust-host"]);
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

/// A running server that is killed on drop.
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

    /// Reads the URL from the line that begins with `start`. Discards later output, so that the server does not block.
    fn read_url(mut self, output: impl Read + Send + 'static, start: &str) -> Result<Self, String> {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let url = lines.find_map(|line| {
            line.strip_prefix(start).filter(|url| url.starts_with("http://")).map(str::to_owned)
        });
        self.url = url.ok_or("the server did not print its URL")?;
        thread::spawn(move || lines.for_each(drop));
        Ok(self)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It may have exited already. Servers behind a gateway exit when their stdin closes.
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
