//! The sandbox of one server as its user describes it.

mod parse;

use std::fmt;

use serde_json::Value;

#[cfg(feature = "launch")]
pub(crate) use self::parse::limits_to_json;
#[cfg(all(feature = "launch", any(target_os = "linux", test)))]
pub(crate) use self::parse::read_limits;
use crate::{error::ProfileError, host::HostRule};

/// What a server may do, independent of the machine. `Profile::resolve` (feature `launch`) turns it into rules for one start.
///
/// ```
/// use mcp_sandbox::{Level, Profile};
/// use serde_json::json;
///
/// let profile = Profile::from_json(&json!({"profile": "strict", "hosts": ["api.github.com"]}))?;
/// assert_eq!(profile.level, Level::Strict);
/// assert!(Profile::from_json(&json!("strickt")).is_err());
/// # Ok::<(), mcp_sandbox::ProfileError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The set of rules that the other fields adjust.
    pub level: Level,
    /// Access to the project folder. Default: that of the level.
    pub project: Option<Access>,
    /// More files and folders to read, absolute, relative to the project, or with `~/`.
    pub read: Vec<String>,
    /// More files and folders to write.
    pub write: Vec<String>,
    /// The hosts that a server at [`Level::Strict`] may reach.
    pub hosts: Vec<HostRule>,
    /// Whether the server is refused if the system lacks one of the restrictions. Default no: the report names it.
    pub required: bool,
    /// Limits on resources.
    pub limits: Limits,
}

impl Profile {
    /// The rules of a level, without exceptions.
    pub fn new(level: Level) -> Self {
        Self {
            level,
            project: None,
            read: Vec::new(),
            write: Vec::new(),
            hosts: Vec::new(),
            required: false,
            limits: Limits::default(),
        }
    }

    /// Reads the value of an entry's `sandbox`: the name of a level, or an object.
    ///
    /// # Errors
    /// The first member that is unknown, has the wrong type or exceeds its bound.
    pub fn from_json(value: &Value) -> Result<Self, ProfileError> {
        parse::profile(value)
    }

    /// Writes the form that [`from_json`](Self::from_json) reads, the shortest one.
    pub fn to_json(&self) -> Value {
        parse::to_json(self)
    }

    /// Access to the project folder, with the level's default.
    pub fn project_access(&self) -> Access {
        self.project.unwrap_or(match self.level {
            Level::Strict => Access::Read,
            Level::Off | Level::Standard => Access::Write,
        })
    }
}

/// Shows the level, and whether there are exceptions: `strict`, `standard (adjusted)`.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.level.name())?;
        if *self == Self::new(self.level) { Ok(()) } else { f.write_str(" (adjusted)") }
    }
}

/// How far a server is restricted. Levels are ordered: a later one permits less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "an ordered scale that hosts match on")]
pub enum Level {
    /// No sandbox.
    #[default]
    Off,
    /// Reads the system, writes the project, does not see secrets; the network is open.
    Standard,
    /// As standard, with the project read-only and no network but the hosts named.
    Strict,
}

impl Level {
    /// The word for it in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }

    /// Returns the level of a word.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::Standard, Self::Strict].into_iter().find(|level| level.name() == name)
    }
}

/// Access to a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "none, reading, writing")]
pub enum Access {
    /// No access.
    None,
    /// Reading and executing.
    Read,
    /// Reading, executing and changing.
    Write,
}

/// Limits on the resources of a server and its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Processes and threads together. Default 1,024.
    pub processes: u64,
    /// Open files of each process. Default 4,096.
    pub open_files: u64,
    /// The size of each file written, in bytes. Default 4 GiB.
    pub file_bytes: u64,
    /// The private memory of each process, in bytes. Default 4 GiB.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: 1024, open_files: 4096, file_bytes: 4 << 30, memory_bytes: 4 << 30 }
    }
}
