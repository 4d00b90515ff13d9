//! Where documents come from: files, values the host holds, a provider in the cloud.

use std::{path::PathBuf, sync::Arc};

mod cloud;

pub use self::cloud::{CloudCache, Fetch};
use crate::{
    dialect::Dialect, document::Document, file::ConfigFile, policy::Exclusivity, resolve::Layer,
    scope::Scope,
};

/// Yields one document of one scope.
pub trait Source: Send + Sync {
    /// Its scope.
    fn scope(&self) -> Scope;

    /// Its document as it is now; `None` if there is none. What can't be read is a document that
    /// says so.
    fn document(&self) -> Option<Document>;

    /// Among sources of one scope, the lower rank wins.
    fn rank(&self) -> i32 {
        0
    }
}

/// A file, read anew each time.
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
    /// The file at `path`, its dialect detected.
    pub fn new(scope: Scope, path: impl Into<PathBuf>) -> Self {
        Self { file: ConfigFile::new(path), scope, rank: 0 }
    }

    /// The same, read as `dialect`.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.file.dialect = Some(dialect);
        self
    }

    /// The same, for files that keep settings per project.
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
        self.file.read_existing()
    }

    fn rank(&self) -> i32 {
        self.rank
    }
}

/// A document the host holds: servers added while running, or made up in a test.
impl Source for (Scope, Document) {
    fn scope(&self) -> Scope {
        self.0
    }

    fn document(&self) -> Option<Document> {
        Some(self.1.clone())
    }
}

/// Loads every source that may be loaded.
///
/// Enterprise documents come first, since they decide what else is looked at: with one present the
/// cloud is not asked at all, and with a fully exclusive one no other file is opened.
pub fn load(sources: &[Arc<dyn Source>]) -> Vec<Layer> {
    let read = |source: &Arc<dyn Source>| {
        let document = source.document()?;
        Some(Layer { scope: source.scope(), rank: source.rank(), document })
    };
    let (managed, others): (Vec<_>, Vec<_>) =
        sources.iter().partition(|source| source.scope() == Scope::Enterprise);
    let mut layers: Vec<Layer> = managed.into_iter().filter_map(read).collect();
    let exclusivity = layers
        .iter()
        .map(|layer| layer.document.policy.exclusivity.unwrap_or(Exclusivity::Cloud))
        .max();
    let may_load = |source: &&Arc<dyn Source>| match exclusivity {
        Some(Exclusivity::All) => false,
        Some(Exclusivity::Cloud) => source.scope() != Scope::Cloud,
        Some(Exclusivity::None) | None => true,
    };
    layers.extend(others.into_iter().filter(may_load).filter_map(read));
    layers
}
