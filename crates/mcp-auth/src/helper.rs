//! A command that prints credentials, and how long what it printed may be used.

use std::{
    fmt, io,
    path::PathBuf,
    process::Stdio,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mcp_transport::ErrorClass;
use serde_json::Value;
use tokio::{io::AsyncReadExt as _, process::Command, sync::Mutex, time::Instant};
use zeroize::Zeroizing;

use crate::secret::Secret;

const MOST_OUTPUT: u64 = 64 * 1024;
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Which command to run, and how.
#[derive(Clone)]
#[non_exhaustive]
pub struct HelperOptions {
    /// The program. There is no shell in between.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables beside those of the host, for instance which server is asked about.
    pub env: Vec<(String, String)>,
    /// Where it runs. Default: where the host does.
    pub cwd: Option<PathBuf>,
    /// How long it may take. Default 10 s.
    pub time_limit: Duration,
    /// How long its output is used when it does not say. Default 5 minutes.
    pub life: Duration,
}

impl HelperOptions {
    /// This program, without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            time_limit: Duration::from_secs(10),
            life: Duration::from_secs(5 * 60),
        }
    }
}

impl fmt::Debug for HelperOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments and variables may hold keys.
        f.debug_struct("HelperOptions")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// A command that prints credentials. Its output is cached in memory for as long as it says.
///
/// It prints one of these:
/// - a token, alone on its line;
/// - `{"token": "…", "expires_in": 600}`, or with `expires_at` in seconds since 1970;
/// - `{"headers": {"X-Key": "…"}, "expires_in": 600}`;
/// - `{"X-Key": "…"}`, headers only.
#[derive(Debug)]
pub struct Helper {
    options: HelperOptions,
    /// Held while the command runs: it runs once, however many ask.
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
    /// Nothing runs until something is asked for.
    pub fn new(options: HelperOptions) -> Self {
        Self { options, cached: Mutex::default() }
    }

    /// The token it prints.
    ///
    /// # Cancel safety
    /// Dropped, it ends the command, and the next one to ask runs it anew.
    pub async fn token(&self) -> Result<Secret, HelperError> {
        let output = self.output().await?;
        output.token.clone().ok_or(HelperError::NotUnderstood)
    }

    /// The headers it prints. A bare token is a bearer token.
    pub(crate) async fn headers(&self) -> Result<Vec<(String, Secret)>, HelperError> {
        let output = self.output().await?;
        let bearer = output.token.iter().map(|token| {
            ("authorization".to_owned(), Secret::new(format!("Bearer {}", token.expose())))
        });
        Ok(bearer.chain(output.headers.iter().cloned()).collect())
    }

    /// The command runs again for whoever asks next.
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

    async fn run(&self) -> Result<Zeroizing<Vec<u8>>, HelperError> {
        let mut command = Command::new(&self.options.program);
        command.args(&self.options.args).envs(self.options.env.iter().cloned());
        if let Some(folder) = &self.options.cwd {
            command.current_dir(folder);
        }
        // Its stderr may say anything, keys included, so nobody reads it.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.kill_on_drop(true);
        let limit = self.options.time_limit;
        let whole = async {
            let mut child = command.spawn().map_err(HelperError::Start)?;
            let mut bytes = Zeroizing::new(Vec::new());
            if let Some(stdout) = child.stdout.take() {
                let read = stdout.take(MOST_OUTPUT + 1).read_to_end(&mut bytes).await;
                read.map_err(HelperError::Read)?;
            }
            if bytes.len() as u64 > MOST_OUTPUT {
                return Err(HelperError::TooMuch);
            }
            let status = child.wait().await.map_err(HelperError::Read)?;
            if status.success() { Ok(bytes) } else { Err(HelperError::Failed(status.code())) }
        };
        tokio::time::timeout(limit, whole).await.unwrap_or(Err(HelperError::TimedOut(limit)))
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

/// Why a command gave no credentials. Its output is not shown.
#[derive(Debug)]
#[non_exhaustive]
pub enum HelperError {
    /// It could not be started.
    Start(io::Error),
    /// It took longer than this.
    TimedOut(Duration),
    /// It ended with this status, or by a signal.
    Failed(Option<i32>),
    /// Its output could not be read.
    Read(io::Error),
    /// It printed more than 64 KiB.
    TooMuch,
    /// It printed something that is no token and no headers.
    NotUnderstood,
}

impl HelperError {
    /// Whose move it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::TimedOut(_) | Self::Read(_) => ErrorClass::Transient,
            _ => ErrorClass::Auth,
        }
    }
}

impl fmt::Display for HelperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(_) => f.write_str("it could not be started"),
            Self::TimedOut(limit) => write!(f, "it took longer than {} s", limit.as_secs_f32()),
            Self::Failed(Some(code)) => write!(f, "it ended with status {code}"),
            Self::Failed(None) => f.write_str("it was killed"),
            Self::Read(_) => f.write_str("its output could not be read"),
            Self::TooMuch => f.write_str("it printed more than 64 KiB"),
            Self::NotUnderstood => f.write_str("it printed neither a token nor headers"),
        }
    }
}

impl std::error::Error for HelperError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(error) | Self::Read(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
