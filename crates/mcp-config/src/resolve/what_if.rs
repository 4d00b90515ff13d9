//! Resolves hypothetical changes on a copy of the layers.

use std::{fmt, sync::Arc};

use super::{
    diff::Diff, disclosure::Disclosure, layers::Layers, resolution::Resolution, settle::resolve,
};
use crate::{
    dialect::{Document, Entry},
    model::{Scope, ServerConfig},
    policy::PolicyPart,
};

/// A hypothetical change.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Adds a server to a scope, or replaces the one with its name there.
    Add(Scope, Box<ServerConfig>),
    /// Removes the servers with this name from a scope.
    Remove(Scope, String),
    /// Enables or disables the servers with this name.
    Enable(String, bool),
    /// Approves or rejects the project's server with this name.
    Approve(String, bool),
    /// Adds a document with this policy to the enterprise scope.
    Policy(PolicyPart),
}

/// The result: both resolutions and the differences.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WhatIf {
    /// The current resolution.
    pub before: Resolution,
    /// The resolution after the change.
    pub after: Resolution,
    /// The differences.
    pub diff: Diff,
}

/// Resolves `layers` before and after `change`. Writes nothing.
///
/// ```
/// use mcp_config::{Layers, Remote, Scope, ServerConfig, Transport, resolve::{Change, what_if}};
/// let server = ServerConfig::new("new".parse()?, Transport::Http(Remote::new("https://h/mcp")));
/// let answer = what_if(&Layers::new(), &Change::Add(Scope::User, Box::new(server)));
/// assert_eq!(answer.to_string(), "+ new\n");
/// # Ok::<(), mcp_config::model::NameError>(())
/// ```
pub fn what_if(layers: &Layers, change: &Change) -> WhatIf {
    let mut changed = layers.clone();
    apply(&mut changed, change);
    let (before, after) = (resolve(layers), resolve(&changed));
    let diff = Diff::between(&before, &after);
    WhatIf { before, after, diff }
}

fn apply(layers: &mut Layers, change: &Change) {
    match change {
        Change::Add(scope, config) => {
            remove(layers, *scope, config.name.as_str());
            let label = format!("what if, {scope}");
            layers.push(*scope, Document::from_servers(&label, [ServerConfig::clone(config)]));
        }
        Change::Remove(scope, name) => remove(layers, *scope, name),
        Change::Enable(name, enabled) => {
            edit(layers, |_, entry| {
                if entry.config.name.as_str() == name {
                    Arc::make_mut(entry).config.enabled = *enabled;
                }
                true
            });
            if *enabled {
                for layer in &mut layers.layers {
                    layer.document.switched_off.retain(|named| named.name != *name);
                }
            }
        }
        Change::Approve(name, approve) => {
            let mut decided = Vec::new();
            edit(layers, |scope, entry| {
                if scope == Scope::Project && entry.config.name.as_str() == name {
                    decided.push(Arc::clone(entry));
                }
                true
            });
            for entry in decided {
                let shown = Disclosure::of(&entry.config, &layers.env, &layers.project);
                layers.approvals.decide(&layers.project, &shown, *approve);
            }
        }
        Change::Policy(policy) => {
            let mut document = Document::from_servers("what if, enterprise", []);
            document.policy = policy.clone();
            layers.push(Scope::Enterprise, document);
        }
    }
}

fn remove(layers: &mut Layers, scope: Scope, name: &str) {
    edit(layers, |of, entry| of != scope || entry.config.name.as_str() != name);
}

/// Calls `keep` with every entry and its scope; drops the entries for which it returns `false`.
fn edit(layers: &mut Layers, mut keep: impl FnMut(Scope, &mut Arc<Entry>) -> bool) {
    for layer in &mut layers.layers {
        let scope = layer.scope;
        layer.document.entries.retain_mut(|entry| keep(entry.scope.unwrap_or(scope), entry));
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diff.fmt(out)
    }
}
