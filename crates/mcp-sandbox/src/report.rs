//! What the launcher applied, and what the system does not support.
//!
//! The launcher writes the report into a file of the host, before it starts the server. The server cannot forge it:
//! the file is in a folder that the server's rules do not contain, and the launcher starts no server unless
//! these rules are in force.

use std::{
    fmt, fs,
    io::{self, Read as _},
    path::Path,
};

use serde_json::Value;
#[cfg(any(target_os = "linux", test))]
use serde_json::json;

use crate::{error::ProfileError, fields::Fields};

/// The longest report that is read.
const MAX_REPORT: u64 = 64 << 10;

/// One kind of restriction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// Access to files, by Landlock.
    Files,
    /// Rules of newer kernels: devices, signals and abstract sockets of other processes.
    Scopes,
    /// No privileges can be gained, and none are left.
    Privileges,
    /// Dangerous system calls are refused.
    SystemCalls,
    /// Other processes are invisible, and no process outlives the server.
    Processes,
    /// A private home, temporary folders and `/run`.
    Mounts,
    /// Shared memory and message queues of other processes are unreachable.
    Ipc,
    /// The network is limited to the hosts of the profile.
    Network,
    /// Limits on processes, files and memory.
    Limits,
    /// No controlling terminal.
    Session,
}

const NAMES: &[(Measure, &str)] = &[
    (Measure::Files, "files"),
    (Measure::Scopes, "scopes"),
    (Measure::Privileges, "privileges"),
    (Measure::SystemCalls, "system calls"),
    (Measure::Processes, "processes"),
    (Measure::Mounts, "mounts"),
    (Measure::Ipc, "ipc"),
    (Measure::Network, "network"),
    (Measure::Limits, "limits"),
    (Measure::Session, "session"),
];

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(measure, _)| measure == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

/// A restriction that is missing, in whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The restriction.
    pub measure: Measure,
    /// What is missing, and why.
    pub reason: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.measure, self.reason)
    }
}

/// The launcher's account of one start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Restrictions in force.
    pub applied: Vec<Measure>,
    /// Restrictions that the system does not support.
    pub missing: Vec<Missing>,
    /// What the server cannot use although its profile grants it.
    pub remarks: Vec<String>,
}

impl Report {
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn note(&mut self, measure: Measure, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.applied.push(measure),
            Err(reason) => self.missing.push(Missing { measure, reason }),
        }
    }

    /// Reads the report of a start. `None`: the launcher has not written it yet, or has refused the start.
    ///
    /// # Errors
    /// The file cannot be read, or a launcher of another version wrote it.
    pub fn read(file: &Path) -> Result<Option<Self>, ReportError> {
        let file = match fs::File::open(file) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ReportError(error.to_string())),
        };
        let mut text = String::new();
        file.take(MAX_REPORT)
            .read_to_string(&mut text)
            .map_err(|error| ReportError(error.to_string()))?;
        // The launcher ends the report with a newline.
        if !text.ends_with('\n') {
            return Ok(None);
        }
        let value: Value =
            serde_json::from_str(&text).map_err(|error| ReportError(error.to_string()))?;
        Self::from_json(&value).map(Some).map_err(|error| ReportError(error.to_string()))
    }

    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn to_json(&self) -> Value {
        let missing =
            self.missing.iter().flat_map(|one| [one.measure.to_string(), one.reason.clone()]);
        json!({
            "applied": self.applied.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "missing": missing.collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }

    pub(crate) fn from_json(value: &Value) -> Result<Self, ProfileError> {
        let measure = |text: &String| {
            let known = NAMES.iter().find(|(_, name)| name == text);
            known
                .map(|(measure, _)| *measure)
                .ok_or_else(|| ProfileError::new("applied", "is unknown"))
        };
        let mut fields = Fields::new(value)?;
        let applied = fields.strings("applied")?;
        let missing = fields.strings("missing")?;
        let remarks = fields.strings("remarks")?;
        fields.finish()?;
        let (pairs, []) = missing.as_chunks::<2>() else {
            return Err(ProfileError::new("missing", "has an entry without a reason"));
        };
        let missing = pairs
            .iter()
            .map(|[name, reason]| Ok(Missing { measure: measure(name)?, reason: reason.clone() }));
        Ok(Self {
            applied: applied.iter().map(measure).collect::<Result<_, _>>()?,
            missing: missing.collect::<Result<_, ProfileError>>()?,
            remarks,
        })
    }
}

/// A report that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportError(String);

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not read the sandbox report: {}", self.0)
    }
}

impl std::error::Error for ReportError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_reports_are_read_back() {
        let mut report = Report::default();
        for (measure, name) in NAMES {
            assert_eq!(measure.to_string(), *name);
            report.note(*measure, Ok(()));
            report.note(*measure, Err(format!("no {name}")));
        }
        report.remarks.push("no hosts".into());
        assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
        assert_eq!(report.missing[0].to_string(), "files: no files");
    }

    #[test]
    fn half_written_reports_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report");
        assert_eq!(Report::read(&file).unwrap(), None);
        fs::write(&file, "{\"applied\":[],\"missing\":[]}").unwrap();
        assert_eq!(Report::read(&file).unwrap(), None);
        fs::write(&file, "{\"applied\":[],\"missing\":[]}\n").unwrap();
        assert_eq!(Report::read(&file).unwrap(), Some(Report::default()));
        for wrong in ["{}x\n", "[]\n", "{\"applied\":[\"magic\"]}\n", "{\"missing\":[\"files\"]}\n"]
        {
            fs::write(&file, wrong).unwrap();
            assert!(Report::read(&file).is_err(), "{wrong}");
        }
    }
}
