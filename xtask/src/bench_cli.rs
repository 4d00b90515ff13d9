//! `cargo xtask bench cli`: compares the `mcp` command with mcporter by hyperfine, and measures the overhead of the
//! gateway.
//!
//! Runs with a temporary home in the target directory. Both commands have the same ten servers, each of them
//! `mcp demo --stdio`.

mod pipe;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    process::{capture, cargo, exists, run},
    refservers::{self, NODE_CLIENTS},
    workspace::Workspace,
};

const SERVERS: usize = 10;

/// One row: a task of both commands, and the target time of ours.
struct Row {
    what: &'static str,
    ours: Vec<String>,
    theirs: Vec<String>,
    /// In milliseconds.
    target: Option<f64>,
    runs: &'static str,
}

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    crate::no_arguments(arguments)?;
    let target = Workspace::load()?.target;
    let hyperfine = hyperfine(&target)?;
    for kit in refservers::missing(&[&NODE_CLIENTS], &target)? {
        kit.install(&target)?;
    }
    run(&mut cargo(["build", "--release", "-p", "mcp-cli"]))?;
    let bench = Bench::new(&target, hyperfine)?;
    let gateway = bench.gateway()?;
    let host = bench.host()?;
    let mut lines = Vec::new();
    for row in bench.rows() {
        lines.push(bench.measure(&row)?);
    }
    drop((gateway, host));
    println!("\n{:38} {:>10} {:>12} {:>8}  target", "", "mcp", "mcporter", "ratio");
    for line in lines {
        println!("{line}");
    }
    let added = pipe::compare(|args| bench.ours(args))?;
    println!("{added}");
    println!("{}", bench.size()?);
    Ok(())
}

/// The installed hyperfine, or one that is built into the target directory once.
fn hyperfine(target: &Path) -> Result<PathBuf, String> {
    const NAME: &str = "hyperfine";
    const VERSION: &str = "1.20.0";
    if exists(NAME) {
        return Ok(NAME.into());
    }
    let root = target.join(NAME);
    let program = root.join("bin").join(NAME);
    if !exists(&program) {
        let mut install = cargo(["install", "--locked", "--version", VERSION, NAME, "--root"]);
        run(install.arg(&root))?;
    }
    Ok(program)
}

/// A home with servers, and the two commands.
struct Bench {
    home: PathBuf,
    program: PathBuf,
    node: PathBuf,
    porter: PathBuf,
    hyperfine: PathBuf,
}

impl Bench {
    fn new(target: &Path, hyperfine: PathBuf) -> Result<Self, String> {
        let kit = NODE_CLIENTS.programs(target);
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let own = kit.join(format!("node-linux-{machine}/bin/node"));
        let bench = Self {
            home: target.join("bench-cli"),
            program: target.join("release/mcp"),
            node: if own.exists() { own } else { "node".into() },
            porter: kit.join("mcporter/dist/cli.js"),
            hyperfine,
        };
        let server = json!({"command": bench.program, "args": ["demo", "--stdio"]});
        let servers: serde_json::Map<String, Value> =
            (0..SERVERS).map(|n| (format!("demo{n}"), server.clone())).collect();
        bench.clear().map_err(|error| format!("no home for the measurement: {error}"))?;
        bench.write("servers.json", &json!({"mcpServers": servers}))?;
        for file in ["one.json", "warm.json"] {
            bench.write(file, &json!({"mcpServers": {"demo": server}}))?;
        }
        // Fill the catalogue, so that lists do not start servers.
        for file in ["servers.json", "one.json", "warm.json"] {
            capture(&mut bench.ours(&["list", "--config", file]))?;
        }
        Ok(bench)
    }

    fn clear(&self) -> std::io::Result<()> {
        if self.home.exists() {
            fs::remove_dir_all(&self.home)?;
        }
        fs::create_dir_all(&self.home)
    }

    fn write(&self, name: &str, value: &Value) -> Result<(), String> {
        fs::write(self.home.join(name), value.to_string())
            .map_err(|error| format!("could not write {name}: {error}"))
    }

    /// A command with this home and without the user's configuration.
    fn at_home(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.home).env("MCP_SECRET_STORE", "file");
        command.env("NO_PROXY", "127.0.0.1").current_dir(&self.home);
        command
    }

    fn ours(&self, arguments: &[&str]) -> Command {
        let mut command = self.at_home(&self.program);
        command.args(arguments);
        command
    }

    fn gateway(&self) -> Result<Gateway, String> {
        let mut command = self.ours(&["serve", "--http", "127.0.0.1:0", "--config", "one.json"]);
        command.args(["--no-token", "--trust-host", "--names", "own", "--mode", "all"]);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("no gateway: {error}"))?;
        let output = child.stderr.take().ok_or("the gateway has no output")?;
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.strip_prefix("serving at ").map(str::to_owned));
        let gateway = Gateway { child, url: url.ok_or("the gateway did not print its URL")? };
        std::thread::spawn(move || lines.for_each(drop));
        self.write("gateway.json", &json!({"mcpServers": {"demo": {"url": gateway.url}}}))?;
        // Fill our catalogue for the gateway too, as for any repeated call.
        capture(&mut self.ours(&["list", "--config", "gateway.json"]))?;
        Ok(gateway)
    }

    /// A background host for `warm.json`, which starts its server with the first call.
    fn host(&self) -> Result<Host<'_>, String> {
        capture(&mut self.ours(&["up", "--config", "warm.json"]))?;
        Ok(Host(self))
    }

    fn rows(&self) -> Vec<Row> {
        let ours = |arguments: &[&str]| words(&[&self.program], arguments);
        let theirs = |arguments: &[&str]| words(&[&self.node, &self.porter], arguments);
        let call = |file| ["call", "demo/weekday", "date=2020-01-01", "-y", "--config", file];
        let their_call = |file| ["--config", file, "call", "demo.weekday", "date=2020-01-01"];
        vec![
            Row {
                what: "start: --version",
                ours: ours(&["--version"]),
                theirs: theirs(&["--version"]),
                target: Some(10.0),
                runs: "50",
            },
            Row {
                what: "list ten servers",
                ours: ours(&["list", "--config", "servers.json"]),
                theirs: theirs(&["--config", "servers.json", "list"]),
                target: Some(50.0),
                runs: "15",
            },
            Row {
                what: "call a tool, its server started for it",
                ours: ours(&call("one.json")),
                theirs: theirs(&their_call("one.json")),
                target: None,
                runs: "15",
            },
            Row {
                what: "call a warm server through `mcp up`",
                ours: ours(&call("warm.json")),
                // It has no background host, and starts the server again.
                theirs: theirs(&their_call("warm.json")),
                target: Some(10.0),
                runs: "50",
            },
            Row {
                what: "call a tool of a running gateway",
                ours: ours(&call("gateway.json")),
                theirs: theirs(&their_call("gateway.json")),
                target: None,
                runs: "15",
            },
        ]
    }

    /// Runs both commands of a row in one run of hyperfine, and formats the comparison.
    fn measure(&self, row: &Row) -> Result<String, String> {
        let results = self.home.join("hyperfine.json");
        let mut command = self.at_home(&self.hyperfine);
        command.args(["-N", "--style", "basic", "--warmup", "3", "--runs", row.runs]);
        command.arg("--export-json").arg(&results);
        command.args([quoted(&row.ours), quoted(&row.theirs)]);
        capture(&mut command)?;
        let text = fs::read_to_string(&results).map_err(|error| format!("no results: {error}"))?;
        let results: Value =
            serde_json::from_str(&text).map_err(|error| format!("no results: {error}"))?;
        let median = |index: usize| {
            let seconds = results["results"][index]["median"].as_f64();
            seconds.map(|seconds| seconds * 1e3).ok_or("hyperfine has no median")
        };
        let (ours, theirs) = (median(0)?, median(1)?);
        let verdict = match row.target {
            None => String::new(),
            Some(target) if ours <= target => format!("{target} ms"),
            Some(target) => format!("{target} ms  MISS"),
        };
        Ok(format!(
            "{:38} {ours:7.1} ms {theirs:9.1} ms {:7.1}x  {verdict}",
            row.what,
            theirs / ours
        ))
    }

    /// The size of the stripped command.
    fn size(&self) -> Result<String, String> {
        let stripped = self.home.join("mcp");
        capture(Command::new("strip").arg("-o").arg(&stripped).arg(&self.program))?;
        let bytes = fs::metadata(&stripped).map_err(|error| format!("no size: {error}"))?.len();
        let mib = f64::from(u32::try_from(bytes >> 10).unwrap_or(u32::MAX)) / 1024.0;
        Ok(format!("stripped size: {mib:.1} MiB"))
    }
}

fn words(programs: &[&Path], arguments: &[&str]) -> Vec<String> {
    let programs = programs.iter().map(|program| program.display().to_string());
    programs.chain(arguments.iter().map(ToString::to_string)).collect()
}

/// Quotes arguments for hyperfine, which splits them again.
fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ")
}

/// A background host that is stopped on drop.
struct Host<'b>(&'b Bench);

impl Drop for Host<'_> {
    fn drop(&mut self) {
        // A host that has failed already was reported by the calls.
        let _ = capture(&mut self.0.ours(&["down", "--config", "warm.json"]));
    }
}

/// A gateway process that is killed on drop.
struct Gateway {
    child: Child,
    url: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // The servers behind it exit when their stdin closes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
