//! Starts local servers in a sandbox: chooses the profile of each, and remembers what was applied.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use mcp_config::{ServerConfig, Transport};
use mcp_sandbox::{Entry, Launch, Level, Profile, Report, is_supported};
use mcp_transport::{
    ConnectError,
    process::{ServerCommand, WrapCommand},
};

use crate::{digest, sync::lock};

/// Where and how a host starts local servers in a sandbox.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SandboxOptions {
    /// The user's home, which servers see empty.
    pub home: PathBuf,
    /// A folder of the host for the private homes and caches of servers.
    pub state: PathBuf,
    /// The project folder.
    pub project: Option<PathBuf>,
    /// Files and folders of the host that no server may see.
    pub secrets: Vec<PathBuf>,
    /// The profile of trusted servers without one in their entry. Default `off`.
    pub trusted: Profile,
    /// The profile of other servers without one in their entry. Default `standard`. On a system without sandboxes
    /// such a server starts without one; a profile in an entry, and a minimum, are then errors.
    pub untrusted: Profile,
    /// The least restrictive level of any server, whatever its entry says. Default `off`.
    pub minimum: Level,
    /// The path of `mcp-sandbox-launcher`. Default: the host itself, whose `main` begins with
    /// `mcp_sandbox::launcher::run`.
    pub launcher: Option<PathBuf>,
}

impl SandboxOptions {
    /// Options with every setting at its default.
    pub fn new(home: impl Into<PathBuf>, state: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            state: state.into(),
            project: None,
            secrets: Vec::new(),
            trusted: Profile::new(Level::Off),
            untrusted: Profile::new(Level::Standard),
            minimum: Level::Off,
            launcher: None,
        }
    }
}

/// The sandboxes of a host's local servers, for [`DefaultConnector::sandboxes`](super::DefaultConnector::sandboxes).
/// Clones share their state.
///
/// ```
/// use mcp_bridge::connect::{DefaultConnector, SandboxOptions, Sandboxes};
///
/// let mut options = SandboxOptions::new("/users/me", "/users/me/.local/state/host/sandbox");
/// options.project = Some("/users/me/project".into());
/// let sandboxes = Sandboxes::new(options);
/// let connector = DefaultConnector::new().sandboxes(sandboxes.clone());
/// assert!(sandboxes.last_start("files").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Sandboxes {
    options: Arc<SandboxOptions>,
    starts: Arc<Mutex<HashMap<String, Start>>>,
}

/// The sandbox of one start.
#[derive(Clone, Debug)]
struct Start {
    profile: Profile,
    notes: Vec<String>,
    report: PathBuf,
}

/// The sandbox of a server's last start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SandboxStatus {
    /// Its profile.
    pub profile: Profile,
    /// One sentence for each path that was not granted, and why.
    pub notes: Vec<String>,
    /// The restrictions that were applied, and those that the system lacks. `None` until the launcher has written it,
    /// if it refused the start, and on systems without reports.
    pub report: Option<Report>,
}

impl Sandboxes {
    /// The sandboxes of a host with these options.
    pub fn new(options: SandboxOptions) -> Self {
        Self { options: Arc::new(options), starts: Arc::default() }
    }

    /// The profile that a server gets: that of its entry, or the default for its trust, and at least the minimum.
    /// `None` for servers that are not local programs.
    pub fn profile(&self, config: &ServerConfig) -> Option<Profile> {
        let Transport::Stdio(program) = &config.transport else { return None };
        let options = &*self.options;
        let default = if config.trust { &options.trusted } else { &options.untrusted };
        let mut profile = match &program.sandbox {
            Some(profile) => profile.clone(),
            None if default.level > options.minimum && !is_supported() => {
                Profile::new(options.minimum)
            }
            None => default.clone(),
        };
        profile.level = profile.level.max(options.minimum);
        Some(profile)
    }

    /// The sandbox of the last start of a server. `None` if it was not started, or without a sandbox.
    pub fn last_start(&self, server: &str) -> Option<SandboxStatus> {
        let Start { profile, notes, report } = lock(&self.starts).get(server)?.clone();
        let report = Report::read(&report).ok().flatten();
        Some(SandboxStatus { profile, notes, report })
    }

    /// Returns the function that puts the launcher in front of the server's command; `None` without a sandbox.
    pub(super) fn wrap(&self, config: &ServerConfig) -> Option<WrapCommand> {
        let name = config.name.to_string();
        let profile = self.profile(config)?;
        if profile.level == Level::Off {
            lock(&self.starts).remove(&name);
            return None;
        }
        let sandboxes = self.clone();
        Some(Arc::new(move |command| {
            let (launch, notes) = sandboxes.prepare(&name, &profile, command)?;
            let start =
                Start { profile: profile.clone(), notes, report: launch.report().to_owned() };
            lock(&sandboxes.starts).insert(name.clone(), start);
            Ok(launch.command(command.program, command.args.iter().cloned()))
        }))
    }

    fn prepare(
        &self,
        name: &str,
        profile: &Profile,
        command: &ServerCommand<'_>,
    ) -> Result<(Launch, Vec<String>), ConnectError> {
        let options = &*self.options;
        let mut entry = Entry::new(command.program, &options.home, self.state(name, command));
        entry.args = command.args.to_vec();
        entry.variables = command.env.clone();
        entry.cwd = command.cwd.map(Into::into);
        entry.project.clone_from(&options.project);
        entry.secrets.clone_from(&options.secrets);
        entry.secrets.push(options.state.clone());
        let invalid = |error: &dyn fmt::Display| {
            ConnectError::InvalidOptions(format!("its sandbox cannot be prepared: {error}"))
        };
        let resolved = profile.resolve(&entry).map_err(|error| invalid(&error))?;
        let launch = match &options.launcher {
            Some(launcher) => Launch::prepare_with(launcher, resolved.rules),
            None => Launch::prepare(resolved.rules),
        };
        Ok((launch.map_err(|error| invalid(&error))?, resolved.notes))
    }

    /// The folder of one server. It depends on the project and the command, so that the private home of one server
    /// cannot become that of another with the same name.
    fn state(&self, name: &str, command: &ServerCommand<'_>) -> PathBuf {
        let project = self.options.project.as_deref().map(Path::as_os_str);
        let words = [project.unwrap_or_default(), command.program.as_os_str()];
        let words = words.into_iter().chain(command.args.iter().map(AsRef::as_ref));
        let digest = digest::of_parts(words.map(OsStr::as_encoded_bytes));
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name: String = name.chars().filter(is_plain).take(32).collect();
        self.options.state.join(format!("{name}-{}", &digest[..16]))
    }
}
