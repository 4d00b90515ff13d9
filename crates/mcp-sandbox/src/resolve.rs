//! From a profile to the rules for one server on this machine. Looks at the file system and changes nothing.

mod grant;
mod walk;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use self::grant::Grants;
use crate::{
    places,
    profile::{Access, Level, Profile},
    rules::{Network, Rules},
};

/// The server that a profile is resolved for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The absolute path of its program.
    pub program: PathBuf,
    /// Its arguments. Existing files and folders among them become readable.
    pub args: Vec<OsString>,
    /// Its environment. Existing files among the values become readable.
    pub variables: BTreeMap<OsString, OsString>,
    /// Its working directory. Default: the project folder, else the private home.
    pub cwd: Option<PathBuf>,
    /// The project folder.
    pub project: Option<PathBuf>,
    /// The user's home.
    pub home: PathBuf,
    /// A folder for this server alone, which only the host writes. It need not exist.
    pub state: PathBuf,
    /// More files and folders to keep invisible: those of the host.
    pub secrets: Vec<PathBuf>,
}

impl Entry {
    /// A server without arguments and project.
    pub fn new(
        program: impl Into<PathBuf>,
        home: impl Into<PathBuf>,
        state: impl Into<PathBuf>,
    ) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            variables: BTreeMap::new(),
            cwd: None,
            project: None,
            home: home.into(),
            state: state.into(),
            secrets: Vec::new(),
        }
    }
}

/// Rules, and remarks about parts of the profile and the entry that had no effect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// For the launcher.
    pub rules: Rules,
    /// For the user: one sentence for each path that was not granted, and why.
    pub notes: Vec<String>,
}

impl Profile {
    /// Resolves the profile for one server, before each start: programs and folders change.
    ///
    /// # Errors
    /// The home or the state folder is not an absolute UTF-8 path, or the profile asks for a folder that contains the
    /// home. A profile of [`Level::Off`] has no rules.
    pub fn resolve(&self, entry: &Entry) -> Result<Resolved, ResolveError> {
        if self.level == Level::Off {
            return Err(ResolveError::new("the profile `off` has no rules to apply"));
        }
        let home = canonical(&entry.home)?;
        let state = canonical(&entry.state)?;
        let mut grants = Grants::new(home.clone(), state.clone(), &entry.secrets);
        let project = entry.project.as_deref().or(entry.cwd.as_deref());
        let base = project.unwrap_or(&home).to_path_buf();
        let absolute = |path: &str| absolute(path, entry, &home, &base);
        // A repository may bring links, and a server may make them.
        entry.project.iter().for_each(|project| grants.foreign(project));
        self.write.iter().for_each(|path| grants.foreign(&absolute(path)));
        for path in places::SYSTEM {
            grants.system(Path::new(path));
        }
        for path in places::TOOLCHAINS {
            grants.own(&home.join(path), Access::Read);
        }
        for path in places::SETTINGS {
            grants.settings(&home.join(path));
        }
        Self::grant_caches(entry, &home, &mut grants);
        // First of all the project and the profile: what they grant may be reached by any link.
        if let Some(project) = &entry.project {
            grants.project(project, self.project_access());
        }
        for (paths, access) in [(&self.write, Access::Write), (&self.read, Access::Read)] {
            for path in paths {
                grants.profile(&absolute(path), access)?;
            }
        }
        grants.program(&entry.program);
        for arg in &entry.args {
            grants.argument(arg, entry.cwd.as_deref().unwrap_or(&base));
        }
        for (name, value) in &entry.variables {
            grants.variable(name, value);
        }
        if let Some(cwd) = &entry.cwd {
            grants.named(cwd, Access::Read, "the working directory");
        }
        if grants.is_full() {
            return Err(ResolveError::new("the profile and the entry name too many paths"));
        }
        let network = match self.level {
            Level::Strict => Network::Hosts(self.hosts.clone()),
            Level::Off | Level::Standard => Network::Open,
        };
        let cwd = entry.cwd.clone().or_else(|| entry.project.clone());
        let cwd = cwd.filter(|cwd| cwd.is_absolute() && cwd.to_str().is_some());
        let rules = Rules {
            home,
            state,
            cwd: cwd.map(|cwd| cwd.components().collect()),
            read: grants.read,
            write: grants.write,
            caches: grants.caches,
            protect: grants.protect,
            hide: grants.hide,
            links: grants.links,
            network,
            required: self.required,
            limits: self.limits,
        };
        Ok(Resolved { rules, notes: grants.notes })
    }

    fn grant_caches(entry: &Entry, home: &Path, grants: &mut Grants) {
        for path in places::CACHES {
            grants.cache(&home.join(path));
        }
        for name in places::CACHE_VARIABLES {
            if let Some(path) = entry.variables.get(std::ffi::OsStr::new(name)) {
                grants.cache(Path::new(path));
            }
        }
    }
}

/// A path of a profile: absolute, below the home, or relative to the project. Where the home is a link, both of its
/// paths name the same secrets.
fn absolute(path: &str, entry: &Entry, home: &Path, base: &Path) -> PathBuf {
    if let Some(rest) = path.strip_prefix('~') {
        return home.join(rest.trim_start_matches('/'));
    }
    let path = base.join(path);
    path.strip_prefix(&entry.home).map_or_else(|_| path.clone(), |rest| home.join(rest))
}

/// The real path of a folder, of which the last components may not exist yet.
fn canonical(path: &Path) -> Result<PathBuf, ResolveError> {
    let problem =
        || ResolveError::new(format!("`{}` is not an absolute UTF-8 path", path.display()));
    if !path.is_absolute()
        || path.to_str().is_none()
        || path.components().any(|part| part.as_os_str() == "..")
    {
        return Err(problem());
    }
    let existing =
        path.ancestors().find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    let (ancestor, real) = existing.ok_or_else(problem)?;
    let rest = path.strip_prefix(ancestor).map_err(|_| problem())?;
    let joined: PathBuf = real.join(rest).components().collect();
    joined.to_str().is_some().then_some(joined).ok_or_else(problem)
}

/// Why a profile cannot be applied to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveError(String);

impl ResolveError {
    fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ResolveError {}

#[cfg(test)]
#[cfg(unix)]
mod tests;
