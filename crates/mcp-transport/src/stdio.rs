//! Servers that are child processes: one message a line on their standard input and output.

mod confidence;
mod environment;
mod group;
mod lifeline;
mod lookup;
mod minder;
mod pipes;
mod stderr;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Path, PathBuf},
    process,
    sync::Arc,
    time::Duration,
};

use futures_core::future::BoxFuture;
use tokio::process::{Child, Command};

use self::{confidence::Confidence, group::Group, minder::Minder, stderr::StderrTail};
pub use self::{environment::Environment, stderr::OnStderr};
use crate::{
    error::ConnectError,
    link::{Connect, Link, Locality},
};

/// How to start a server, and how to treat it.
///
/// ```
/// use mcp_transport::StdioOptions;
///
/// let mut options = StdioOptions::new("npx");
/// options.args = vec!["-y".into(), "@modelcontextprotocol/server-everything".into()];
/// options.env.insert("API_KEY".into(), "…".into());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct StdioOptions {
    /// A path, or a name to look up in PATH: in the server's own, if `env` has one.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables to set, on top of what [`environment`](Self::environment) lets through. Where their values
    /// are secrets, by their names or by their looks, they are taken out of what is kept of the server's words.
    pub env: BTreeMap<OsString, OsString>,
    /// What of the host's environment the server sees. Default [`Environment::Safe`].
    pub environment: Environment,
    /// Where to start it. Default: where the host runs.
    pub cwd: Option<PathBuf>,
    /// The longest message to accept. Default 64 MiB.
    pub max_message: usize,
    /// How many bytes may wait for a server that does not read. Default 64 MiB.
    pub max_queued: usize,
    /// How patient to be when closing.
    pub shutdown: ShutdownTimes,
    /// Whether a watchdog ends the server should the host itself be killed. Default yes; costs
    /// one `sh` per host, not per server. Unix only.
    pub lifeline: bool,
    /// Called with each line the server writes to its standard error, on a runtime thread.
    pub on_stderr: Option<OnStderr>,
}

impl StdioOptions {
    /// Starts `program` without arguments.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            environment: Environment::Safe,
            cwd: None,
            max_message: 64 << 20,
            max_queued: 64 << 20,
            shutdown: ShutdownTimes::default(),
            lifeline: true,
            on_stderr: None,
        }
    }
}

/// Names only: arguments and variables hold secrets.
impl fmt::Debug for StdioOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioOptions")
            .field("program", &self.program)
            .field("args", &format_args!("{} of them", self.args.len()))
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("environment", &self.environment)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// How long each step of an orderly end may take before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownTimes {
    /// After closing its standard input, before asking with a signal. Default 2 s.
    pub after_eof: Duration,
    /// After asking with a signal, before ending it by force. Default 2 s.
    pub after_term: Duration,
}

impl Default for ShutdownTimes {
    fn default() -> Self {
        Self { after_eof: Duration::from_secs(2), after_term: Duration::from_secs(2) }
    }
}

/// Connects by starting a program. Each connection is a process of its own.
///
/// The process leads a group of its own, and nothing of that group outlives the link: not when it
/// is closed, not when it is dropped, and (with the lifeline) not when the host is killed.
#[derive(Clone, Debug)]
pub struct Stdio {
    options: StdioOptions,
}

impl Stdio {
    /// A server started as `options` say.
    pub fn new(options: StdioOptions) -> Self {
        Self { options }
    }

    fn spawn(&self) -> Result<(Child, Arc<Group>), ConnectError> {
        let options = &self.options;
        if let Some(cwd) = options.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
            return Err(ConnectError::NoSuchDirectory(cwd.into()));
        }
        check_text(options)?;
        let mut env = environment::for_server(options.environment, &options.env);
        if options.cwd.is_some() && !options.env.contains_key(OsStr::new("PWD")) {
            // The host's own would be wrong there.
            env.remove(OsStr::new("PWD"));
        }
        let path = env.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let program = lookup::find(&options.program, options.cwd.as_deref(), path)?;

        // Before the server, so that only the moment between a server's start and its entry in the
        // watchdog's list is left uncovered.
        let lifeline = options.lifeline.then(lifeline::shared).flatten();
        let mut command = Command::new(&program);
        command
            .args(&options.args)
            .env_clear()
            .envs(env)
            .stdin(process::Stdio::piped())
            .stdout(process::Stdio::piped())
            .stderr(process::Stdio::piped())
            .kill_on_drop(true);
        if let Some(cwd) = &options.cwd {
            command.current_dir(cwd);
        }
        group::lead(&mut command);
        let child = command.spawn().map_err(|source| ConnectError::Spawn { program, source })?;
        let group = Arc::new(Group::of(&child, lifeline));
        Ok((child, group))
    }

    fn open(&self) -> Result<Link, ConnectError> {
        let (mut child, group) = self.spawn()?;
        let missing = |what: &str| ConnectError::Spawn {
            program: PathBuf::from(&self.options.program),
            source: io::Error::other(format!("no {what} pipe")),
        };
        let stdin = child.stdin.take().ok_or_else(|| missing("stdin"))?;
        let stdout = child.stdout.take().ok_or_else(|| missing("stdout"))?;
        let stderr = child.stderr.take().ok_or_else(|| missing("stderr"))?;
        let confidence = Confidence::of(&self.options.env);
        let tail = Arc::new(StderrTail::new(self.options.on_stderr.clone(), confidence));
        let minder = Minder::start(child, group, stderr, tail.clone(), self.options.shutdown);
        Ok(pipes::link(stdin, stdout, minder, tail, &self.options))
    }
}

impl Connect for Stdio {
    /// # Panics
    /// When polled outside a tokio runtime that has its I/O and time drivers.
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async { self.open() })
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

/// Text that no system takes gets an error with a name instead of a puzzling one from the system.
fn check_text(options: &StdioOptions) -> Result<(), ConnectError> {
    let has_nul = |text: &OsStr| text.as_encoded_bytes().contains(&0);
    let invalid = |problem: String| Err(ConnectError::InvalidOptions(problem));
    if options.program.is_empty() {
        return invalid("the program's name is empty".into());
    }
    if has_nul(&options.program) || options.cwd.as_deref().map(Path::as_os_str).is_some_and(has_nul)
    {
        return invalid("the program's name or directory holds a NUL character".into());
    }
    if let Some(at) = options.args.iter().position(|arg| has_nul(arg)) {
        return invalid(format!("argument {} holds a NUL character", at + 1));
    }
    for (name, value) in &options.env {
        let bytes = name.as_encoded_bytes();
        if bytes.is_empty() || bytes.contains(&b'=') || has_nul(name) {
            return invalid(format!("`{}` is no name for an environment variable", name.display()));
        }
        if has_nul(value) {
            return invalid(format!(
                "environment variable `{}` holds a NUL character",
                name.display()
            ));
        }
    }
    Ok(())
}
