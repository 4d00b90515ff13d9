//! Bringing over what another host already has, after showing what would come.

use std::{fmt, sync::Arc};

use crate::{
    dialect::{Dialect, fits},
    document::{Document, Entry},
    edit::Edit,
    explain::Target,
    file::{ConfigFile, FileError},
    policy::Refusal,
    resolve::{Layers, Resolution, Rival, Verdict, resolve},
    scope::Scope,
    signature::Signature,
};

/// What an import would do, server by server. Printing it is the dry run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportPlan {
    /// Every server found, in the order found.
    pub servers: Vec<Importable>,
    /// Where they would go.
    pub dialect: Dialect,
}

/// One server found elsewhere.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Importable {
    /// The server, and where it was found.
    pub entry: Arc<Entry>,
    /// What would become of it.
    pub outcome: ImportOutcome,
}

/// What would become of a server found elsewhere.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ImportOutcome {
    /// It would be added.
    New,
    /// The same server is there already, under this or another name.
    AlreadyThere(Rival),
    /// Another server has its name; it would be left alone.
    NameTaken(Rival),
    /// Policy would refuse it.
    Refused(Refusal),
    /// The file it would go to can't say these settings.
    Inexpressible(Vec<&'static str>),
}

impl ImportPlan {
    /// Plans to bring the servers of `documents` into `scope`, in a file of `dialect`.
    pub fn new(current: &Layers, documents: &[Document], scope: Scope, dialect: Dialect) -> Self {
        let resolution = resolve(current);
        let mut servers: Vec<Importable> = Vec::new();
        for entry in documents.iter().flat_map(|document| &document.entries) {
            let outcome = Self::outcome(current, &resolution, &servers, entry, scope, dialect);
            servers.push(Importable { entry: Arc::clone(entry), outcome });
        }
        Self { servers, dialect }
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

    /// Adds the new ones to `file`, all in one step. Returns how many there were.
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

impl fmt::Display for ImportPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Importable { entry, outcome } in &self.servers {
            let (name, place, from) = (&entry.config.name, &entry.place, entry.dialect);
            let sign = if *outcome == ImportOutcome::New { '+' } else { ' ' };
            write!(out, "{sign} {name}, from {from} ({place})")?;
            match outcome {
                ImportOutcome::New => writeln!(out, "\n    runs {}", Target(&entry.config))?,
                ImportOutcome::AlreadyThere(rival) => {
                    writeln!(
                        out,
                        ": already there as `{}` ({})",
                        rival.entry.config.name, rival.entry.place
                    )?;
                }
                ImportOutcome::NameTaken(rival) => {
                    writeln!(out, ": another server has this name ({})", rival.entry.place)?;
                }
                ImportOutcome::Refused(refusal) => writeln!(out, ": {refusal}")?,
                ImportOutcome::Inexpressible(fields) => {
                    writeln!(out, ": {} can't say {}", self.dialect, fields.join(", "))?;
                }
            }
        }
        Ok(())
    }
}
