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
    /// such a server starts without one, and [`Sandboxes::last_start`] says so; a profile in an entry, and a minimum,
    /// are then errors.
    pub untrusted: Profile,
    /// The least restrictive level of any server, whatever its entry says. Default `off`. With another one, what an
    /// entry grants beyond that level does not count, and a server for which the system lacks a restriction does not
    /// start.
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
    minimum: Arc<Mutex<Level>>,
    /// Whether this system has sandboxes.
    is_supported: bool,
    starts: Arc<Mutex<HashMap<String, Start>>>,
}

/// The sandbox of one start.
#[derive(Clone, Debug)]
struct Start {
    profile: Profile,
    notes: Vec<String>,
    /// `None`: the server was started without its sandbox.
    report: Option<PathBuf>,
}

/// The sandbox of a server's last start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SandboxStatus {
    /// Its profile.
    pub profile: Profile,
    /// One sentence for each path that was not granted, and why.
    pub notes: Vec<String>,
    /// Whether the server was started in its sandbox. Otherwise this system has none, and a note says so.
    pub is_sandboxed: bool,
    /// The restrictions that were applied, and those that the system lacks. `None` until the launcher has written it,
    /// if it refused the start, and on systems without reports.
    pub report: Option<Report>,
}

impl SandboxStatus {
    /// What the server has although its profile forbids it, one sentence each: empty if everything was applied.
    pub fn lacks(&self) -> Vec<String> {
        if !self.is_sandboxed {
            return vec![UNSUPPORTED.to_owned()];
        }
        let missing = self.report.iter().flat_map(|report| &report.missing);
        missing.map(ToString::to_string).collect()
    }
}

const UNSUPPORTED: &str = "this system has no sandbox, which needs Linux 5.13 with Landlock, or macOS: the server was started without one";

impl Sandboxes {
    /// The sandboxes of a host with these options.
    pub fn new(options: SandboxOptions) -> Self {
        let minimum = Arc::new(Mutex::new(options.minimum));
        let is_supported = is_supported();
        Self { options: Arc::new(options), minimum, is_supported, starts: Arc::default() }
    }

    /// Sets the least restrictive level for the next starts, such as after a change of the configuration.
    pub fn set_minimum(&self, minimum: Level) {
        *lock(&self.minimum) = minimum;
    }

    /// The profile that a server gets: that of its entry, or the default for its trust, and at least the minimum.
    /// `None` for servers that are not local programs.
    pub fn profile(&self, config: &ServerConfig) -> Option<Profile> {
        Some(self.choose(config)?.0)
    }

    /// The profile, and the members of it that do not count because of the minimum.
    fn choose(&self, config: &ServerConfig) -> Option<(Profile, Vec<&'static str>)> {
        let Transport::Stdio(program) = &config.transport else { return None };
        let options = &*self.options;
        let default = if config.trust { &options.trusted } else { &options.untrusted };
        let profile = program.sandbox.as_ref().unwrap_or(default);
        Some(match *lock(&self.minimum) {
            Level::Off => (profile.clone(), Vec::new()),
            minimum => at_least(minimum, profile),
        })
    }

    /// Whether a server starts without its sandbox because this system has none. Not if someone has asked for it.
    fn is_given_up(&self, config: &ServerConfig, profile: &Profile) -> bool {
        let Transport::Stdio(program) = &config.transport else { return false };
        !self.is_supported && program.sandbox.is_none() && !profile.required
    }

    /// The sandbox of the last start of a server. `None` if it was not started, or its profile is `off`.
    pub fn last_start(&self, server: &str) -> Option<SandboxStatus> {
        let Start { profile, notes, report } = lock(&self.starts).get(server)?.clone();
        let is_sandboxed = report.is_some();
        let report = report.and_then(|report| Report::read(&report).ok().flatten());
        Some(SandboxStatus { profile, notes, is_sandboxed, report })
    }

    /// Returns the function that puts the launcher in front of the server's command; `None` without a sandbox.
    pub(super) fn wrap(&self, config: &ServerConfig) -> Option<WrapCommand> {
        let name = config.name.to_string();
        let (profile, ignored) = self.choose(config)?;
        if profile.level == Level::Off {
            lock(&self.starts).remove(&name);
            return None;
        }
        if self.is_given_up(config, &profile) {
            let start = Start { profile, notes: vec![UNSUPPORTED.to_owned()], report: None };
            lock(&self.starts).insert(name, start);
            return None;
        }
        let sandboxes = self.clone();
        Some(Arc::new(move |command| {
            let (launch, mut notes) = sandboxes.prepare(&name, &profile, command)?;
            if !ignored.is_empty() {
                let level = lock(&sandboxes.minimum).name();
                notes.insert(0, format!(
                    "this machine requires at least `{level}`, so that {} of its `sandbox` does not count",
                    ignored.join(", ")
                ));
            }
            let report = Some(launch.report().to_owned());
            let start = Start { profile: profile.clone(), notes, report };
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

/// The profile under a minimum: only settings that permit less than it count. Also returns the names of the others.
fn at_least(minimum: Level, given: &Profile) -> (Profile, Vec<&'static str>) {
    let mut profile = Profile::new(given.level.max(minimum));
    let mut ignored = Vec::new();
    // What could not be applied refuses the start.
    profile.required = true;
    let most = Profile::new(minimum).project_access();
    let access = given.project_access().min(most);
    profile.project = Some(access).filter(|access| *access != profile.project_access());
    if given.project > Some(access) {
        ignored.push("`project`");
    }
    for (paths, name) in [(&given.read, "`read`"), (&given.write, "`write`")] {
        if !paths.is_empty() {
            ignored.push(name);
        }
    }
    // Under a lower minimum the network may be open, so that hosts are less.
    if minimum < Level::Strict {
        profile.hosts.clone_from(&given.hosts);
    } else if !given.hosts.is_empty() {
        ignored.push("`hosts`");
    }
    let (limits, own) = (&mut profile.limits, &given.limits);
    limits.processes = limits.processes.min(own.processes);
    limits.open_files = limits.open_files.min(own.open_files);
    limits.file_bytes = limits.file_bytes.min(own.file_bytes);
    limits.memory_bytes = limits.memory_bytes.min(own.memory_bytes);
    if *limits != *own {
        ignored.push("`limits`");
    }
    (profile, ignored)
}

#[cfg(test)]
mod tests {
    use mcp_config::{ServerConfig, Stdio};
    use serde_json::{Value, json};

    use super::*;

    fn config(sandbox: Option<Value>, trust: bool) -> ServerConfig {
        let mut stdio = Stdio::new("/bin/true");
        stdio.sandbox = sandbox.map(|value| Profile::from_json(&value).unwrap());
        let mut config = ServerConfig::new("one".parse().unwrap(), Transport::Stdio(stdio));
        config.trust = trust;
        config
    }

    fn sandboxes(minimum: Level, is_supported: bool) -> Sandboxes {
        let mut options = SandboxOptions::new("/users/me", "/users/me/.state");
        options.minimum = minimum;
        Sandboxes { is_supported, ..Sandboxes::new(options) }
    }

    #[test]
    fn trust_decides_unless_the_entry_does() {
        let sandboxes = sandboxes(Level::Off, true);
        for (sandbox, trust, level) in [
            (None, true, Level::Off),
            (None, false, Level::Standard),
            (Some("strict"), true, Level::Strict),
            (Some("off"), false, Level::Off),
        ] {
            let config = config(sandbox.map(Into::into), trust);
            assert_eq!(sandboxes.profile(&config), Some(Profile::new(level)));
            assert_eq!(sandboxes.wrap(&config).is_some(), level > Level::Off);
        }
    }

    #[test]
    fn nothing_in_an_entry_lowers_a_minimum() {
        for (minimum, sandbox, counts, ignored) in [
            ("standard", json!("off"), json!({"required": true}), &[][..]),
            ("standard", json!("strict"), json!({"profile": "strict", "required": true}), &[]),
            ("standard", json!({"read": ["~/.ssh"]}), json!({"required": true}), &["`read`"]),
            ("standard", json!({"write": ["~/x"]}), json!({"required": true}), &["`write`"]),
            (
                "standard",
                json!({"project": "read"}),
                json!({"required": true, "project": "read"}),
                &[],
            ),
            (
                "standard",
                json!({"profile": "strict", "hosts": ["a.test"]}),
                json!({"profile": "strict", "hosts": ["a.test"], "required": true}),
                &[],
            ),
            (
                "strict",
                json!({"profile": "strict", "hosts": ["a.test"]}),
                json!({"profile": "strict", "required": true}),
                &["`hosts`"],
            ),
            (
                "strict",
                json!({"project": "write"}),
                json!({"profile": "strict", "required": true}),
                &["`project`"],
            ),
            (
                "standard",
                json!({"limits": {"processes": 1_000_000, "open_files": 9, "memory_bytes": 1_u64 << 50}}),
                json!({"required": true, "limits": {"open_files": 9}}),
                &["`limits`"],
            ),
            (
                "standard",
                json!({"limits": {"file_bytes": 1_u64 << 50}}),
                json!({"required": true}),
                &["`limits`"],
            ),
            (
                "strict",
                json!({"required": false}),
                json!({"profile": "strict", "required": true}),
                &[],
            ),
        ] {
            let sandboxes = sandboxes(Level::Off, true);
            sandboxes.set_minimum(Level::from_name(minimum).unwrap());
            for trust in [true, false] {
                let config = config(Some(sandbox.clone()), trust);
                let expected = Profile::from_json(&counts).unwrap();
                let found = sandboxes.choose(&config).unwrap();
                assert_eq!(found, (expected, ignored.to_vec()), "{minimum} {sandbox}");
            }
        }
        // Also for entries without a profile, whatever their trust.
        for trust in [true, false] {
            let profile = sandboxes(Level::Standard, true).profile(&config(None, trust)).unwrap();
            assert_eq!((profile.level, profile.required), (Level::Standard, true));
        }
    }

    #[test]
    fn system_without_sandboxes_starts_only_what_did_not_ask_for_one_and_says_so() {
        let old = sandboxes(Level::Off, false);
        assert!(old.wrap(&config(None, false)).is_none());
        let status = old.last_start("one").unwrap();
        assert_eq!(status.profile, Profile::new(Level::Standard));
        assert!(!status.is_sandboxed && status.lacks()[0].contains("no sandbox"), "{status:?}");
        // The launcher refuses these.
        assert!(old.wrap(&config(Some(json!("standard")), false)).is_some());
        old.set_minimum(Level::Standard);
        assert!(old.wrap(&config(None, true)).is_some());
    }
}
