//! The access token of the HTTP gateway: generated once, and stored in the state folder with mode 0600.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use mcp_safe::fs::{self, Lock};
use mcp_server::http::{AccessToken, TokenError};

use crate::{
    exit::{Exit, Problem},
    host::app::App,
};

/// File name of the token.
const FILE: &str = "gateway-token";

/// The longest token file that is read, in bytes.
const LONGEST_FILE: usize = 4096;

/// How long to wait for the lock. Another gateway holds it only while it writes one line.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A token and its file.
pub(crate) struct GatewayToken {
    pub(crate) token: AccessToken,
    /// `None` without a state folder; the next gateway then generates another token.
    pub(crate) file: Option<PathBuf>,
    /// Whether the token has just been generated.
    pub(crate) is_new: bool,
}

impl GatewayToken {
    /// Returns the token of this user's gateways, if it exists and can be read.
    pub(crate) fn known(app: &App) -> Option<AccessToken> {
        let state = app.config.places.state.as_ref()?;
        read(&state.join(FILE)).ok().flatten()
    }

    /// Returns the token of this user's gateways, and generates it if there is none.
    pub(crate) fn load_or_generate(app: &App) -> Result<Self, Problem> {
        let Some(state) = &app.config.places.state else {
            let token = AccessToken::generate().map_err(|error| failed(&error))?;
            return Ok(Self { token, file: None, is_new: true });
        };
        let file = state.join(FILE);
        let unusable = |error: io::Error| {
            let message = format!("could not use the token in {}: {error}", file.display());
            let hint = format!("remove {} to generate another token", file.display());
            Problem::new(Exit::Failed, message).hint(hint)
        };
        let (token, is_new) = open(&file).map_err(unusable)?;
        Ok(Self { token, file: Some(file), is_new })
    }
}

/// Reads the token from an environment variable.
pub(crate) fn from_variable(name: &str) -> Result<AccessToken, Problem> {
    let text = std::env::var(name)
        .map_err(|_| Problem::usage(format!("the variable {name} does not hold a token")))?;
    text.trim().parse().map_err(|error: TokenError| {
        Problem::usage(format!("the variable {name}: {error}"))
            .hint("`openssl rand -hex 24` generates one")
    })
}

/// Reads the token, or writes a new one. Gateways that start at the same time share it.
fn open(file: &Path) -> io::Result<(AccessToken, bool)> {
    if let Some(token) = read(file)? {
        return Ok((token, false));
    }
    fs::private_folder(file.parent().unwrap_or(Path::new(".")))?;
    // Without the lock, two gateways could each generate a token, and the file would hold the last one.
    let _lock = Lock::acquire(&Lock::beside(file), LONGEST_WAIT)?;
    if let Some(token) = read(file)? {
        return Ok((token, false));
    }
    let token = AccessToken::generate().map_err(io::Error::other)?;
    fs::replace(file, token.expose().as_bytes())?;
    Ok((token, true))
}

fn read(file: &Path) -> io::Result<Option<AccessToken>> {
    let Some(bytes) = fs::read_private(file, LONGEST_FILE)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    text.trim().parse().map(Some).map_err(io::Error::other)
}

fn failed(error: &TokenError) -> Problem {
    Problem::new(Exit::Failed, format!("could not generate a token: {error}"))
}
