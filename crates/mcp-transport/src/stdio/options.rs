//! The options of a server that is a child process.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf, time::Duration};

use super::{
    environment::{self, Environment},
    stderr::OnStderr,
    wrap::WrapCommand,
};
use crate::setters::setters;

/// How to start and run a server.
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
    /// A path, or a name to look up in PATH: in the server's PATH, if `env` sets one.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables to set, in addition to those that [`environment`](Self::environment) passes. Values that are
    /// secrets, judged by name or form, are redacted in the recorded standard error.
    pub env: BTreeMap<OsString, OsString>,
    /// The part of the host's environment that the server inherits. Default [`Environment::Safe`].
    pub environment: Environment,
    /// The working directory. Default: that of the host.
    pub cwd: Option<PathBuf>,
    /// The longest message to accept. Default 64 MiB.
    pub max_message: usize,
    /// How many bytes may be queued for a server that does not read. Default 64 MiB.
    pub max_queued: usize,
    /// The time limits of an orderly shutdown.
    pub shutdown: ShutdownTimes,
    /// Whether a watchdog ends the server if the host is killed. Default yes; costs one `sh` per host, not per
    /// server. Unix only.
    pub lifeline: bool,
    /// Called with each line of the server's standard error, on a runtime thread.
    pub on_stderr: Option<OnStderr>,
    /// Replaces the command before each start, such as with a launcher that starts it in a sandbox.
    pub wrap: Option<WrapCommand>,
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
            wrap: None,
        }
    }

    /// Returns variables that programs often need, that are set for the host and withheld from this server. Check
    /// them first when the server does not start.
    pub fn withheld(&self) -> Vec<String> {
        environment::withheld(self.environment, &self.env)
    }
}

/// Omits arguments and values of variables, which may contain secrets.
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

/// How long each step of an orderly shutdown may take before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownTimes {
    /// After closing standard input, before the termination signal. Default 2 s.
    pub after_eof: Duration,
    /// After the termination signal, before the process is killed. Default 2 s.
    pub after_term: Duration,
}

impl Default for ShutdownTimes {
    fn default() -> Self {
        Self { after_eof: Duration::from_secs(2), after_term: Duration::from_secs(2) }
    }
}

setters! { StdioOptions {
    with_args => args: Vec<OsString>,
    with_env => env: BTreeMap<OsString, OsString>,
    with_environment => environment: Environment,
    with_cwd => cwd: impl Into<Option<PathBuf>>,
    with_max_message => max_message: usize,
    with_max_queued => max_queued: usize,
    with_shutdown => shutdown: ShutdownTimes,
    with_lifeline => lifeline: bool,
    with_on_stderr => on_stderr: impl Into<Option<OnStderr>>,
    with_wrap => wrap: impl Into<Option<WrapCommand>>,
}}

impl StdioOptions {
    /// Adds an argument.
    #[must_use]
    pub fn with_arg(mut self, argument: impl Into<OsString>) -> Self {
        self.args.push(argument.into());
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

setters! { ShutdownTimes {
    with_after_eof => after_eof: Duration,
    with_after_term => after_term: Duration,
}}
