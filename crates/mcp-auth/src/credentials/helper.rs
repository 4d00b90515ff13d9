//! A command that prints credentials, with a cache of its output.

use std::{
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mcp_transport::{
    ErrorClass, StdioOptions,
    diagnostics::Exit,
    process::{Environment, RunError, RunLimits, run_program},
};
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};
use zeroize::Zeroizing;

use crate::{secret::Secret, setters::setters};

const MOST_OUTPUT: usize = 64 * 1024;
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Options for running a credential command.
#[derive(Clone)]
#[non_exhaustive]
pub struct HelperOptions {
    /// The program. It is started without a shell.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables to set, in addition to those passed by [`environment`](Self::environment).
    pub env: Vec<(String, String)>,
    /// The part of the host's environment that is passed. Default [`Environment::Safe`], as for servers.
    pub environment: Environment,
    /// The working directory. Default: that of the host.
    pub cwd: Option<PathBuf>,
    /// The time limit. Default 10 s.
    pub time_limit: Duration,
    /// How long output without an expiry is used. Default 5 minutes.
    pub life: Duration,
}

impl HelperOptions {
    /// Creates options for a program without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            environment: Environment::Safe,
            cwd: None,
            time_limit: Duration::from_secs(10),
            life: Duration::from_secs(5 * 60),
        }
    }
}

setters! { HelperOptions {
    with_args => args: Vec<String>,
    with_env => env: Vec<(String, String)>,
    with_environment => environment: Environment,
    with_cwd => cwd: impl Into<Option<PathBuf>>,
    with_time_limit => time_limit: Duration,
    with_life => life: Duration,
}}

impl fmt::Debug for HelperOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments and values of variables may contain keys.
        f.debug_struct("HelperOptions")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// A command that prints credentials. Its output is cached in memory until it expires.
///
/// It prints one of these:
/// - a token, alone on its line;
/// - `{"token": "…", "expires_in": 600}`, or with `expires_at` in seconds since 1970;
/// - `{"headers": {"X-Key": "…"}, "expires_in": 600}`;
/// - `{"X-Key": "…"}`, headers only.
#[derive(Debug)]
pub struct Helper {
    options: HelperOptions,
    /// Locked while the command runs, so that concurrent callers share one run.
    cached: Mutex<Option<Cached>>,
}

#[derive(Clone, Debug)]
struct Cached {
    output: Arc<Output>,
    until: Instant,
}

#[derive(Debug, PartialEq)]
struct Output {
    token: Option<Secret>,
    headers: Vec<(String, Secret)>,
    life: Option<Duration>,
}

impl Helper {
    /// Creates a helper. The command runs at the first use.
    pub fn new(options: HelperOptions) -> Self {
        Self { options, cached: Mutex::default() }
    }

    /// Returns the program, for messages.
    pub(crate) fn program(&self) -> std::path::Display<'_> {
        self.options.program.display()
    }

    /// Returns the token that the command prints.
    ///
    /// # Cancel safety
    /// Dropping the future kills the command; the next call runs it again.
    pub async fn token(&self) -> Result<Secret, HelperError> {
        let output = self.output().await?;
        output.token.clone().ok_or(HelperError::NotUnderstood)
    }

    /// Returns the headers that the command prints. A bare token becomes a bearer token.
    pub(crate) async fn headers(&self) -> Result<Vec<(String, Secret)>, HelperError> {
        let output = self.output().await?;
        let bearer = output.token.iter().map(|token| {
            ("authorization".to_owned(), Secret::new(format!("Bearer {}", token.expose())))
        });
        Ok(bearer.chain(output.headers.iter().cloned()).collect())
    }

    /// Clears the cache, so that the next use runs the command again.
    pub(crate) async fn forget(&self) {
        *self.cached.lock().await = None;
    }

    async fn output(&self) -> Result<Arc<Output>, HelperError> {
        let mut cached = self.cached.lock().await;
        if let Some(cached) = cached.as_ref().filter(|cached| Instant::now() < cached.until) {
            return Ok(cached.output.clone());
        }
        let bytes = self.run().await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let output = read_output(&bytes, now).ok_or(HelperError::NotUnderstood)?;
        let life = output.life.unwrap_or(self.options.life).min(LONGEST_LIFE);
        let fresh = Cached { output: Arc::new(output), until: Instant::now() + life };
        *cached = Some(fresh.clone());
        Ok(fresh.output)
    }

    /// Runs the command like a server: same environment rules, own session and process group.
    async fn run(&self) -> Result<Zeroizing<Vec<u8>>, HelperError> {
        let helper = &self.options;
        let mut options = StdioOptions::new(&helper.program);
        options.args = helper.args.iter().map(Into::into).collect();
        options.env = helper.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        options.environment = helper.environment;
        options.cwd.clone_from(&helper.cwd);
        let limits = RunLimits { time: helper.time_limit, output: MOST_OUTPUT };
        let mut bytes = Zeroizing::new(Vec::new());
        match run_program(&options, limits, &mut bytes).await.map_err(HelperError::Run)? {
            Exit::Code(0) => Ok(bytes),
            exit => Err(HelperError::Failed(exit)),
        }
    }
}

fn read_output(bytes: &[u8], now: Duration) -> Option<Output> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    if !text.starts_with('{') {
        let is_one_word = !text.is_empty() && !text.contains(char::is_whitespace);
        let token = Some(Secret::new(text));
        return is_one_word.then_some(Output { token, headers: Vec::new(), life: None });
    }
    let document: Value = serde_json::from_str(text).ok()?;
    let token = document.get("token").or_else(|| document.get("access_token"));
    let token = token.and_then(Value::as_str).map(Secret::new);
    let left = document.get("expires_in").and_then(seconds);
    let until = document.get("expires_at").and_then(seconds);
    let life = left.or(until.map(|until| until.saturating_sub(now)));
    let headers = match (document.get("headers"), &token) {
        (Some(headers), _) => read_headers(headers)?,
        (None, Some(_)) => Vec::new(),
        (None, None) => read_headers(&document)?,
    };
    (token.is_some() || !headers.is_empty()).then_some(Output { token, headers, life })
}

fn read_headers(headers: &Value) -> Option<Vec<(String, Secret)>> {
    let pairs = headers.as_object()?.iter();
    pairs.map(|(name, value)| Some((name.clone(), Secret::new(value.as_str()?)))).collect()
}

fn seconds(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(value.as_f64()?).ok()
}

/// The reason why a command returned no credentials. Its output is not shown.
#[derive(Debug)]
#[non_exhaustive]
pub enum HelperError {
    /// It could not be run to completion.
    Run(RunError),
    /// It exited with this failure status.
    Failed(Exit),
    /// It printed neither a token nor headers.
    NotUnderstood,
}

impl HelperError {
    /// Returns the class, which says who must act.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Run(RunError::TimedOut(_) | RunError::Io(_)) => ErrorClass::Transient,
            _ => ErrorClass::Auth,
        }
    }
}

impl fmt::Display for HelperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Failed(exit) => write!(f, "it exited with {exit}"),
            Self::NotUnderstood => f.write_str("it printed neither a token nor headers"),
        }
    }
}

impl std::error::Error for HelperError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Run(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
