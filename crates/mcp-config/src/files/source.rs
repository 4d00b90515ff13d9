//! Sources of documents: files, values held by the host, cloud providers.

use std::{path::PathBuf, sync::Arc};

use super::config_file::ConfigFile;
use crate::{
    dialect::{Dialect, Document},
    model::Scope,
    policy::Exclusivity,
    resolve::Layer,
};

/// A source of one document in one scope.
pub trait Source: Send + Sync {
    /// The scope of the document.
    fn scope(&self) -> Scope;

    /// The current document; `None` if there is none. If it can't be read, returns a document with a
    /// diagnostic.
    fn document(&self) -> Option<Document>;

    /// Among sources of one scope, the lowest rank takes precedence.
    fn rank(&self) -> i32 {
        0
    }
}

/// A file that is read again on each load.
///
/// What the user's own files say counts without approval. A file of the user or local scope is therefore not used if
/// it belongs to another user than this one or root, if every user can write to it, or if it is inside the project
/// (unless the home directory is, too).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileSource {
    /// The file.
    pub file: ConfigFile,
    /// Its scope.
    pub scope: Scope,
    /// See [`Source::rank`].
    pub rank: i32,
}

impl FileSource {
    /// The file at `path`, with a detected dialect.
    pub fn new(scope: Scope, path: impl Into<PathBuf>) -> Self {
        Self { file: ConfigFile::new(path), scope, rank: 0 }
    }

    /// Sets the dialect.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.file.dialect = Some(dialect);
        self
    }

    /// Sets the rank.
    #[must_use]
    pub fn with_rank(mut self, rank: i32) -> Self {
        self.rank = rank;
        self
    }

    /// Sets the current project, for files with settings per project.
    #[must_use]
    pub fn project(mut self, project: impl Into<PathBuf>) -> Self {
        self.file.project = Some(project.into());
        self
    }
}

impl Source for FileSource {
    fn scope(&self) -> Scope {
        self.scope
    }

    fn document(&self) -> Option<Document> {
        match self.scope {
            Scope::User | Scope::Local => self.file.read_own(),
            // A repository's file is not trusted, and a file that the user has just named is.
            _ => self.file.read_existing(),
        }
    }

    fn rank(&self) -> i32 {
        self.rank
    }
}

/// A document held by the host: servers added at run time, or test data.
impl Source for (Scope, Document) {
    fn scope(&self) -> Scope {
        self.0
    }

    fn document(&self) -> Option<Document> {
        Some(self.1.clone())
    }
}

/// Loads an ordered list of files into one scope, as [`FileSource`] reads them. Later files take precedence.
/// Missing files are skipped.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// use mcp_config::{Layers, Scope, resolve, files::load_hierarchical};
/// let (general, special) = (place.path().join("a.json"), place.path().join("b.json"));
/// std::fs::write(&general, r#"{ "mcpServers": { "x": { "command": "old" }, "y": { "command": "y" } } }"#)?;
/// std::fs::write(&special, r#"{ "mcpServers": { "x": { "command": "new" } } }"#)?;
/// let mut layers = Layers::new();
/// layers.layers = load_hierarchical(Scope::User, [general, special]);
/// assert_eq!(resolve(&layers).servers().count(), 2);
/// # std::io::Result::Ok(())
/// ```
pub fn load_hierarchical<P: Into<PathBuf>>(
    scope: Scope,
    files: impl IntoIterator<Item = P>,
) -> Vec<Layer> {
    let mut next = 0_i32;
    let layer = |path: P| {
        // The lowest rank takes precedence.
        next = next.saturating_sub(1);
        let document = FileSource::new(scope, path).document()?;
        Some(Layer { scope, rank: next, document })
    };
    files.into_iter().filter_map(layer).collect()
}

/// Loads every source that policy permits.
///
/// Enterprise documents are loaded first, because they decide which others may be loaded. If one is present,
/// no cloud provider is asked. If one is fully exclusive, no other file is opened.
pub fn load(sources: &[Arc<dyn Source>]) -> Vec<Layer> {
    let read = |source: &Arc<dyn Source>| {
        let document = source.document()?;
        Some(Layer { scope: source.scope(), rank: source.rank(), document })
    };
    // Even to open a file has effects: a network drive that hangs, a fetch from a provider.
    let (managed, others): (Vec<_>, Vec<_>) =
        sources.iter().partition(|source| source.scope() == Scope::Enterprise);
    let mut layers: Vec<Layer> = managed.into_iter().filter_map(read).collect();
    let exclusivity = layers
        .iter()
        .map(|layer| layer.document.policy.exclusivity.unwrap_or(Exclusivity::Cloud))
        .max();
    let may_load = |source: &&Arc<dyn Source>| {
        !exclusivity.is_some_and(|exclusivity| exclusivity.withholds(source.scope()))
    };
    layers.extend(others.into_iter().filter(may_load).filter_map(read));
    layers
}
