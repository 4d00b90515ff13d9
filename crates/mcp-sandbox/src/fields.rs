//! Strict reading of JSON objects: every member is known, of its type and within its bound.

#[cfg(all(feature = "launch", any(target_os = "linux", test)))]
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::error::ProfileError;

/// The most entries in a list of a profile or of rules.
pub(crate) const MAX_ENTRIES: usize = 256;
/// The longest path, as Linux defines it.
pub(crate) const MAX_PATH: usize = 4096;

/// The members of an object that have not been read yet.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn new(value: &Value) -> Result<Self, ProfileError> {
        match value {
            Value::Object(map) => Ok(Self(map.clone())),
            _ => Err(ProfileError::new("", "must be an object")),
        }
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Result<Option<bool>, ProfileError> {
        self.take(name)
            .map(|value| {
                value.as_bool().ok_or_else(|| ProfileError::new(name, "must be a boolean"))
            })
            .transpose()
    }

    /// Reads a positive number.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>, ProfileError> {
        let positive = |value: Value| value.as_u64().filter(|number| *number > 0);
        self.take(name)
            .map(|value| {
                positive(value).ok_or_else(|| ProfileError::new(name, "must be a positive integer"))
            })
            .transpose()
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ProfileError> {
        self.take(name).map(|value| string(name, &value)).transpose()
    }

    pub(crate) fn strings(&mut self, name: &str) -> Result<Vec<String>, ProfileError> {
        let Some(value) = self.take(name) else { return Ok(Vec::new()) };
        let Value::Array(entries) = value else {
            return Err(ProfileError::new(name, "must be a list of strings"));
        };
        if entries.len() > MAX_ENTRIES {
            return Err(ProfileError::new(name, format!("has more than {MAX_ENTRIES} entries")));
        }
        entries.iter().map(|entry| string(name, entry)).collect()
    }

    /// Reads absolute paths without `.` and `..`.
    #[cfg(all(feature = "launch", any(target_os = "linux", test)))]
    pub(crate) fn paths(&mut self, name: &str) -> Result<Vec<PathBuf>, ProfileError> {
        self.strings(name)?.into_iter().map(|text| absolute(name, &text)).collect()
    }

    #[cfg(all(feature = "launch", any(target_os = "linux", test)))]
    pub(crate) fn path(&mut self, name: &str) -> Result<PathBuf, ProfileError> {
        let text = self.text(name)?.ok_or_else(|| ProfileError::new(name, "is missing"))?;
        absolute(name, &text)
    }

    pub(crate) fn finish(self) -> Result<(), ProfileError> {
        match self.0.keys().next() {
            Some(name) => Err(ProfileError::new(name, "is not a known setting")),
            None => Ok(()),
        }
    }
}

fn string(name: &str, value: &Value) -> Result<String, ProfileError> {
    let text = value.as_str().ok_or_else(|| ProfileError::new(name, "must be text"))?;
    if text.is_empty() || text.len() > MAX_PATH || text.contains('\0') {
        return Err(ProfileError::new(name, "is empty, too long or holds a NUL character"));
    }
    Ok(text.to_owned())
}

#[cfg(all(feature = "launch", any(target_os = "linux", test)))]
fn absolute(name: &str, text: &str) -> Result<PathBuf, ProfileError> {
    let is_plain = text.starts_with('/') && text.split('/').all(|part| part != "." && part != "..");
    is_plain
        .then(|| PathBuf::from(text))
        .ok_or_else(|| ProfileError::new(name, format!("`{text}` is not a plain absolute path")))
}
