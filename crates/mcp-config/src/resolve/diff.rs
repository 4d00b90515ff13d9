//! The differences between two resolutions.

use std::{collections::BTreeMap, fmt};

use super::resolution::Resolution;
use crate::model::{ServerConfig, ServerName, differences};

/// The active servers that were added, removed or changed between two resolutions.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Diff {
    /// Active now, not before.
    pub added: Vec<ServerName>,
    /// Active before and now, with the settings that differ.
    pub changed: Vec<(ServerName, Vec<&'static str>)>,
    /// Active before, not now.
    pub removed: Vec<ServerName>,
}

impl Diff {
    /// The differences from `before` to `after`, in alphabetical order.
    pub fn between(before: &Resolution, after: &Resolution) -> Self {
        let by_name = |resolution: &Resolution| -> BTreeMap<ServerName, ServerConfig> {
            resolution
                .servers()
                .map(|c| (c.entry.config.name.clone(), c.entry.config.clone()))
                .collect()
        };
        let (old, new) = (by_name(before), by_name(after));
        let mut diff = Self::default();
        for (name, config) in &new {
            match old.get(name) {
                None => diff.added.push(name.clone()),
                Some(was) if was != config => {
                    diff.changed.push((name.clone(), differences(was, config)));
                }
                Some(_) => {}
            }
        }
        diff.removed.extend(old.into_keys().filter(|name| !new.contains_key(name)));
        diff
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return out.write_str("nothing changes\n");
        }
        self.added.iter().try_for_each(|name| writeln!(out, "+ {name}"))?;
        self.changed
            .iter()
            .try_for_each(|(name, fields)| writeln!(out, "~ {name} ({})", fields.join(", ")))?;
        self.removed.iter().try_for_each(|name| writeln!(out, "- {name}"))
    }
}
