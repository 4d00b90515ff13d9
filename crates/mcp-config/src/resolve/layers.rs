//! The input of a resolution: documents with scopes, their order, and the user's decisions.

use std::path::PathBuf;

use mcp_sandbox::{Level, Profile};

use super::approval::Approvals;
use crate::{
    diagnostic::Diagnostic,
    dialect::Document,
    expand::Environment,
    model::{HostSettings, Precedence, Scope},
};

/// One document in one scope.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layer {
    /// The scope of its servers, unless an entry has a different one.
    pub scope: Scope,
    /// Among documents of one scope, the lowest rank takes precedence. Default: zero. Equal ranks are ordered
    /// by dialect and path, so the order of loading does not matter.
    pub rank: i32,
    /// The document.
    pub document: Document,
}

impl Layer {
    /// A layer of rank zero.
    pub fn new(scope: Scope, document: Document) -> Self {
        Self { scope, rank: 0, document }
    }
}

/// The complete input of a resolution.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layers {
    /// The documents, in any order.
    pub layers: Vec<Layer>,
    /// The order of precedence of scopes.
    pub precedence: Precedence,
    /// Variables, for signatures and policy.
    pub env: Environment,
    /// The user's approvals.
    pub approvals: Approvals,
    /// Diagnostics from loading, in addition to those of the documents.
    pub diagnostics: Vec<Diagnostic>,
    /// The project that the approvals apply to.
    pub project: PathBuf,
    /// Whether project servers need approval. Default: `true`.
    pub require_approval: bool,
    /// Whether to accept another tool's approvals by name. Default: `false`, because they are not bound to
    /// content.
    pub accept_named_approvals: bool,
    /// The sandbox of local servers that are not trusted and whose entry names none. The entry of a project or a
    /// provider may be stricter; where it is looser, this counts. Default: `standard`.
    pub untrusted_sandbox: Profile,
    /// The settings of the host itself, where they differ from the defaults: those of a project or a provider apply
    /// only where they are stricter. Default: empty.
    pub host: HostSettings,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            layers: Vec::new(),
            precedence: Precedence::default(),
            env: Environment::empty(),
            approvals: Approvals::default(),
            diagnostics: Vec::new(),
            project: PathBuf::new(),
            require_approval: true,
            accept_named_approvals: false,
            untrusted_sandbox: Profile::new(Level::Standard),
            host: HostSettings::default(),
        }
    }
}

impl Layers {
    /// Creates layers without documents and variables, in the default order.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the documents.
    #[must_use]
    pub fn with_layers(mut self, layers: impl IntoIterator<Item = Layer>) -> Self {
        self.layers = layers.into_iter().collect();
        self
    }

    /// Sets the order of precedence.
    #[must_use]
    pub fn with_precedence(mut self, precedence: Precedence) -> Self {
        self.precedence = precedence;
        self
    }

    /// Sets the variables.
    #[must_use]
    pub fn with_env(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }

    /// Sets the user's approvals.
    #[must_use]
    pub fn with_approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = approvals;
        self
    }

    /// Sets the project that the approvals apply to.
    #[must_use]
    pub fn with_project(mut self, project: impl Into<PathBuf>) -> Self {
        self.project = project.into();
        self
    }

    /// Adds a document.
    pub fn push(&mut self, scope: Scope, document: Document) {
        self.layers.push(Layer::new(scope, document));
    }
}
