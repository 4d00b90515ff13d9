//! "What would happen if this were added?", by doing it to a copy.

use std::{fmt, sync::Arc};

use crate::{
    diff::Diff,
    document::{Document, Entry},
    model::ServerConfig,
    policy::PolicyPart,
    resolve::{Layers, Resolution, resolve},
    scope::Scope,
};

/// A change to think through.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// A server is added to a scope, or replaces the one of its name there.
    Add(Scope, Box<ServerConfig>),
    /// The servers of this name are removed from a scope.
    Remove(Scope, String),
    /// The servers of this name are switched on or off where they stand.
    Enable(String, bool),
    /// The user approves, or turns down, the project's server of this name.
    Approve(String, bool),
    /// A document with this policy appears in the enterprise scope.
    Policy(PolicyPart),
}

/// The answer: both resolutions, and what differs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WhatIf {
    /// As it is.
    pub before: Resolution,
    /// As it would be.
    pub after: Resolution,
    /// What differs.
    pub diff: Diff,
}

/// Resolves `layers` as they are and as `change` would make them. Touches nothing.
///
/// ```
/// use mcp_config::{Change, Layers, Remote, Scope, ServerConfig, Transport, what_if};
/// let server = ServerConfig::new("new".parse()?, Transport::Http(Remote::new("https://h/mcp")));
/// let answer = what_if(&Layers::new(), &Change::Add(Scope::User, Box::new(server)));
/// assert_eq!(answer.to_string(), "+ new\n");
/// # Ok::<(), mcp_config::NameError>(())
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
            let decided: Vec<ServerConfig> = layers
                .layers
                .iter()
                .flat_map(|layer| {
                    layer.document.entries.iter().map(move |entry| (layer.scope, entry))
                })
                .filter(|(scope, entry)| entry.scope.unwrap_or(*scope) == Scope::Project)
                .filter(|(_, entry)| entry.config.name.as_str() == name)
                .map(|(_, entry)| entry.config.clone())
                .collect();
            for config in decided {
                match approve {
                    true => layers.approvals.approve(&layers.project, &config),
                    false => layers.approvals.reject(&layers.project, &config),
                }
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

/// Visits every entry with its scope; those the visitor answers `false` for are dropped.
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
