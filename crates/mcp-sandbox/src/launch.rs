//! The command that a host starts in place of a server's.

use std::{
    env,
    ffi::OsString,
    fmt, fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

#[cfg(any(target_os = "linux", test))]
use serde_json::Value;
use serde_json::json;

use crate::rules::{MAX_RULES, Rules};
#[cfg(any(target_os = "linux", test))]
use crate::{error::ProfileError, fields::Fields};

/// The first argument of the launcher. It is followed by the plan, the server's program and its arguments.
pub(crate) const MARKER: &str = "mcp-sandbox:launch";

/// What the launcher is told: the rules, and where to write its report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) rules: Rules,
    pub(crate) report: PathBuf,
}

impl Plan {
    pub(crate) fn to_text(&self) -> String {
        json!({ "rules": self.rules.to_json(), "report": self.report.to_string_lossy() })
            .to_string()
    }

    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn from_text(text: &str) -> Result<Self, ProfileError> {
        if text.len() > MAX_RULES {
            return Err(ProfileError::new("", "is too long"));
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|error| ProfileError::new("", format!("is not JSON: {error}")))?;
        let mut fields = Fields::new(&value)?;
        let rules = fields.take("rules").ok_or_else(|| ProfileError::new("rules", "is missing"))?;
        let plan = Self { rules: Rules::from_json(&rules)?, report: fields.path("report")? };
        fields.finish()?;
        Ok(plan)
    }
}

/// One start of a server in a sandbox.
///
/// ```no_run
/// use std::{ffi::OsString, process::Command};
/// use mcp_sandbox::{Entry, Launch, Level, Profile, Report};
///
/// let entry = Entry::new("/usr/bin/python3", "/users/me", "/users/me/.local/state/host/sandbox/files");
/// let resolved = Profile::new(Level::Standard).resolve(&entry)?;
/// let launch = Launch::prepare(resolved.rules)?;
/// let (program, args) = launch.command("/usr/bin/python3", [OsString::from("server.py")]);
/// let child = Command::new(program).args(args).spawn()?;
/// // Once the server has responded:
/// if let Some(report) = Report::read(launch.report())? {
///     report.missing.iter().for_each(|missing| eprintln!("{missing}"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Launch {
    #[cfg_attr(target_os = "macos", expect(dead_code, reason = "`sandbox-exec` is the launcher"))]
    launcher: PathBuf,
    plan: Plan,
}

/// Whether this system can restrict a server at all: Linux with Landlock, or macOS.
pub fn is_supported() -> bool {
    #[cfg(target_os = "linux")]
    {
        use landlock::{
            ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
        };
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::from_all(ABI::V1));
        ruleset.and_then(Ruleset::create).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        cfg!(target_os = "macos")
    }
}

impl Launch {
    /// Creates the server's state folder, and uses the host's own executable as the launcher: its `main` must begin
    /// with `launcher::run`.
    ///
    /// # Errors
    /// The system has no sandbox, the state folder cannot be created, or there are too many rules.
    pub fn prepare(rules: Rules) -> Result<Self, LaunchError> {
        Self::prepare_with(own_program().map_err(LaunchError::Launcher)?, rules)
    }

    /// As [`prepare`](Self::prepare), with the path of `mcp-sandbox-launcher`.
    ///
    /// # Errors
    /// As for [`prepare`](Self::prepare).
    pub fn prepare_with(launcher: impl Into<PathBuf>, rules: Rules) -> Result<Self, LaunchError> {
        if !cfg!(any(target_os = "linux", target_os = "macos")) {
            return Err(LaunchError::Unsupported);
        }
        let reports = rules.state.join("reports");
        for folder in [&rules.state, &rules.state.join("home"), &reports] {
            private_folder(folder).map_err(|error| LaunchError::State(folder.clone(), error))?;
        }
        remove_old(&reports);
        let report = reports.join(unique_name());
        let plan = Plan { rules, report };
        if plan.to_text().len() > MAX_RULES {
            return Err(LaunchError::TooManyRules);
        }
        Ok(Self { launcher: launcher.into(), plan })
    }

    /// The command to start instead of `program`, an absolute path, with `args`. Its environment is that of the server.
    pub fn command(
        &self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = OsString>,
    ) -> (PathBuf, Vec<OsString>) {
        let (launcher, head) = self.head();
        (launcher, head.into_iter().chain([program.into()]).chain(args).collect())
    }

    #[cfg(not(target_os = "macos"))]
    fn head(&self) -> (PathBuf, Vec<OsString>) {
        (self.launcher.clone(), vec![MARKER.into(), self.plan.to_text().into()])
    }

    #[cfg(target_os = "macos")]
    fn head(&self) -> (PathBuf, Vec<OsString>) {
        (crate::seatbelt::PROGRAM.into(), crate::seatbelt::arguments(&self.plan.rules))
    }

    /// The file of the launcher's report, for [`Report::read`](crate::Report::read). macOS has no report:
    /// `sandbox-exec` applies a profile as a whole, or fails.
    pub fn report(&self) -> &Path {
        &self.plan.report
    }
}

/// Why a server cannot be started in a sandbox.
#[derive(Debug)]
#[non_exhaustive]
pub enum LaunchError {
    /// This system has no sandbox.
    Unsupported,
    /// The path of the host's executable is unknown.
    Launcher(io::Error),
    /// This folder could not be created.
    State(PathBuf, io::Error),
    /// The rules exceed the length of an argument.
    TooManyRules,
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str(
                "servers cannot be sandboxed on this system, only on Linux and macOS; set `\"sandbox\": \"off\"` to \
                 start the server without one",
            ),
            Self::Launcher(_) => f.write_str("the path of this program is unknown"),
            Self::State(folder, _) => write!(f, "could not create the folder `{}`", folder.display()),
            Self::TooManyRules => f.write_str("the sandbox profile names too many paths"),
        }
    }
}

impl std::error::Error for LaunchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Launcher(error) | Self::State(_, error) => Some(error),
            Self::Unsupported | Self::TooManyRules => None,
        }
    }
}

/// The host's own program, also after an update has replaced its file. The new version refuses a plan of another form.
fn own_program() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    existing(&program).ok_or_else(|| {
        let problem = format!("{} does not exist any more", program.display());
        io::Error::new(io::ErrorKind::NotFound, problem)
    })
}

/// Linux appends a word to the path of a file that was removed or replaced.
fn existing(program: &Path) -> Option<PathBuf> {
    if program.exists() {
        return Some(program.to_owned());
    }
    let replaced = PathBuf::from(program.to_str()?.strip_suffix(" (deleted)")?);
    replaced.exists().then_some(replaced)
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Keeps the number of reports bounded: each start leaves one.
fn remove_old(reports: &Path) {
    const KEPT: usize = 16;
    let Ok(entries) = fs::read_dir(reports) else { return };
    let mut files: Vec<_> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    for (_, path) in files.iter().rev().skip(KEPT) {
        let _ = fs::remove_file(path);
    }
}

fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{count}.json", now.as_nanos(), process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_back_and_others_refused() {
        let plan = Plan { rules: crate::rules::tests::rules(), report: "/state/report".into() };
        let text = plan.to_text();
        assert_eq!(Plan::from_text(&text).unwrap(), plan);
        for wrong in [
            "",
            "{}",
            "[]",
            &text[1..],
            &text.replace("report", "repport"),
            &" ".repeat(MAX_RULES + 1),
        ] {
            assert!(Plan::from_text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn program_is_found_after_its_file_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("host");
        let deleted = folder.path().join("host (deleted)");
        assert_eq!(existing(&deleted), None);
        fs::write(&program, "").unwrap();
        assert_eq!(existing(&program), Some(program.clone()));
        assert_eq!(existing(&deleted), Some(program));
        // A file may be called so.
        fs::write(&deleted, "").unwrap();
        assert_eq!(existing(&deleted), Some(deleted));
    }

    #[test]
    fn report_names_do_not_repeat() {
        assert_ne!(unique_name(), unique_name());
    }
}
