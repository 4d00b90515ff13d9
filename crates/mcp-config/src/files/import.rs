//! Imports servers from the files of another host, with a preview.

use std::{fmt, sync::Arc};

use super::{config_file::ConfigFile, error::FileError};
use crate::{
    dialect::{Dialect, Entry, fits},
    edit::Edit,
    model::{AlwaysLoad, Scope, Transport},
    policy::Refusal,
    resolve::{Disclosure, Layer, Layers, Resolution, Rival, Signature, Target, Verdict, resolve},
};

/// The plan of an import, server by server. Printing it is the dry run: entries of a repository are shown
/// completely, the user's own without secrets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportPlan {
    /// Every server found, in file order.
    pub servers: Vec<Importable>,
    /// The scope they were found in. Servers of [`Scope::Project`] came with a repository: confirm them
    /// separately from the user's own.
    pub from: Scope,
    /// The target scope.
    pub to: Scope,
    /// The dialect of the target file.
    pub dialect: Dialect,
}

/// A server that may be imported.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Importable {
    /// The server as it would be added, with the place it was found.
    pub entry: Arc<Entry>,
    /// The complete entry and its effects.
    pub disclosure: Disclosure,
    /// The outcome of importing it.
    pub outcome: ImportOutcome,
}

/// The outcome of importing a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ImportOutcome {
    /// It would be added.
    New,
    /// The same server exists already, under this or another name.
    AlreadyThere(Rival),
    /// Another server has its name, and is left unchanged.
    NameTaken(Rival),
    /// Policy refuses it.
    Refused(Refusal),
    /// The target file does not support these settings.
    Inexpressible(Vec<&'static str>),
}

impl ImportPlan {
    /// Plans to import the servers that `found` has in the scope `from` into the scope `to`, in a file of
    /// `dialect`. Servers of other scopes are left out: Claude Code keeps local ones in the user's file.
    ///
    /// `trust` and `alwaysLoad` of a repository's servers are not imported.
    pub fn new(
        current: &Layers,
        found: &[Layer],
        from: Scope,
        to: Scope,
        dialect: Dialect,
    ) -> Self {
        let resolution = resolve(current);
        let mut servers: Vec<Importable> = Vec::new();
        for layer in found {
            let of_scope = |entry: &&Arc<Entry>| entry.scope.unwrap_or(layer.scope) == from;
            for entry in layer.document.entries.iter().filter(of_scope) {
                let entry = if from == Scope::Project {
                    without_trust_settings(entry)
                } else {
                    entry.clone()
                };
                let outcome = Self::outcome(current, &resolution, &servers, &entry, to, dialect);
                let disclosure = Disclosure::of(&entry.config, &current.env, &current.project);
                servers.push(Importable { entry, disclosure, outcome });
            }
        }
        Self { servers, from, to, dialect }
    }

    fn outcome(
        current: &Layers,
        resolution: &Resolution,
        earlier: &[Importable],
        entry: &Entry,
        scope: Scope,
        dialect: Dialect,
    ) -> ImportOutcome {
        let signature = Signature::of(&entry.config, &current.env);
        let same = |other: &Entry| {
            signature.is_some() && Signature::of(&other.config, &current.env) == signature
        };
        let there = resolution
            .candidates
            .iter()
            .filter(|c| matches!(c.verdict, Verdict::Active | Verdict::Disabled(_)));
        let there = there.map(|c| Rival { entry: Arc::clone(&c.entry), scope: c.scope });
        let coming = earlier.iter().filter(|other| other.outcome == ImportOutcome::New);
        let coming = coming.map(|other| Rival { entry: Arc::clone(&other.entry), scope });
        let rivals: Vec<Rival> = there.chain(coming).collect();
        if let Some(rival) = rivals.iter().find(|rival| same(&rival.entry)) {
            return ImportOutcome::AlreadyThere(rival.clone());
        }
        if let Some(rival) =
            rivals.iter().find(|rival| rival.entry.config.name == entry.config.name)
        {
            return ImportOutcome::NameTaken(rival.clone());
        }
        if let Err(refusal) = resolution.policy.check_in(scope, &entry.config, &current.env) {
            return ImportOutcome::Refused(refusal);
        }
        match fits(dialect, &entry.config) {
            lost if lost.is_empty() => ImportOutcome::New,
            lost => ImportOutcome::Inexpressible(lost),
        }
    }

    /// Adds the new servers to `file` in one step and returns their number.
    pub fn apply(&self, file: &ConfigFile) -> Result<usize, FileError> {
        let new = self.servers.iter().filter(|server| server.outcome == ImportOutcome::New);
        let edits: Vec<Edit> =
            new.map(|server| Edit::Put(Box::new(server.entry.config.clone()))).collect();
        if !edits.is_empty() {
            file.apply(&edits)?;
        }
        Ok(edits.len())
    }
}

/// The entry without settings that a repository may not decide for its user.
fn without_trust_settings(entry: &Arc<Entry>) -> Arc<Entry> {
    let mut entry = Arc::clone(entry);
    let sandbox = match &entry.config.transport {
        Transport::Stdio(stdio) => stdio.sandbox.as_ref(),
        _ => None,
    };
    if entry.config.trust || entry.config.always_load != AlwaysLoad::No || sandbox.is_some() {
        let config = &mut Arc::make_mut(&mut entry).config;
        config.trust = false;
        config.always_load = AlwaysLoad::No;
        if let Transport::Stdio(stdio) = &mut config.transport {
            stdio.sandbox = None;
        }
    }
    entry
}

impl fmt::Display for ImportPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Importable { entry, disclosure, outcome } in &self.servers {
            let (name, place, from) = (&entry.config.name, &entry.place, entry.dialect);
            let sign = if *outcome == ImportOutcome::New { '+' } else { ' ' };
            write!(out, "{sign} {name}, from {from} ({place})")?;
            match outcome {
                // The user's own entries may contain secrets as text.
                ImportOutcome::New if self.from != Scope::Project => {
                    writeln!(out, "\n    runs {}", Target(&entry.config))?;
                }
                ImportOutcome::New => {
                    out.write_str("\n")?;
                    let text = disclosure.to_string();
                    text.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
                }
                ImportOutcome::AlreadyThere(rival) => {
                    writeln!(
                        out,
                        ": already configured as `{}` ({})",
                        rival.entry.config.name, rival.entry.place
                    )?;
                }
                ImportOutcome::NameTaken(rival) => {
                    writeln!(out, ": another server has this name ({})", rival.entry.place)?;
                }
                ImportOutcome::Refused(refusal) => writeln!(out, ": {refusal}")?,
                ImportOutcome::Inexpressible(fields) => {
                    writeln!(out, ": {} does not support {}", self.dialect, fields.join(", "))?;
                }
            }
        }
        Ok(())
    }
}
