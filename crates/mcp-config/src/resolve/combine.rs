//! What the documents say besides their servers, put together.

use super::{Candidate, Layer, Layers};
use crate::{
    diagnostic::{Diagnostic, Problem, Severity},
    document::{Document, Input},
    policy::{Exclusivity, OwnRules, Policy},
    scope::Scope,
};

/// The policy of all documents together; see [`Policy`] for who may say what.
pub(super) fn policy(layers: &Layers) -> Policy {
    let enterprise = || layers.layers.iter().filter(|layer| layer.scope == Scope::Enterprise);
    let managed_only = enterprise().any(|layer| layer.document.policy.managed_only);
    let exclusivity = enterprise()
        .map(|layer| layer.document.policy.exclusivity.unwrap_or(Exclusivity::Cloud))
        .max();
    let mut policy = Policy { exclusivity, ..Policy::default() };
    // In order of precedence, so that the refusal a user sees names the highest rule.
    for scope in layers.precedence.scopes() {
        let mut of_scope: Vec<&Layer> =
            layers.layers.iter().filter(|l| l.scope == *scope).collect();
        of_scope.sort_by(|a, b| (a.rank, &a.document.file).cmp(&(b.rank, &b.document.file)));
        for layer in of_scope {
            let part = &layer.document.policy;
            let lost = layer.scope == Scope::Enterprise && could_not_be_read(&layer.document);
            policy.broken |= lost || (part.broken && layer.scope == Scope::Enterprise);
            if OwnRules::only_bind(layer.scope) {
                let allow = part.allow.clone().filter(|_| !managed_only);
                let rules = OwnRules { scope: layer.scope, allow, deny: part.deny.clone() };
                policy.own.extend(Some(rules).filter(|rules| !rules.is_empty()));
                continue;
            }
            policy.deny.extend(part.deny.iter().cloned());
            if layer.scope == Scope::Enterprise || !managed_only {
                policy.allow.extend(part.allow.iter().cloned());
            }
        }
    }
    policy
}

/// An enterprise document that exists and can't be read fails closed: its rules are not known.
fn could_not_be_read(document: &Document) -> bool {
    document.diagnostics.iter().any(|diagnostic| {
        let whole_file = diagnostic.place.pointer.is_empty();
        diagnostic.severity == Severity::Error && diagnostic.server.is_none() && whole_file
    })
}

fn would_refuse_others(layer: &Layer, layers: &Layers, candidates: &[Candidate]) -> bool {
    let part = &layer.document.policy;
    let rules = OwnRules { scope: layer.scope, allow: part.allow.clone(), deny: part.deny.clone() };
    !rules.is_empty()
        && candidates
            .iter()
            .filter(|candidate| candidate.scope != layer.scope)
            .any(|candidate| rules.check(&candidate.entry.config, &layers.env).is_err())
}

pub(super) fn inputs(layers: &Layers) -> Vec<Input> {
    let mut inputs: Vec<Input> =
        layers.layers.iter().flat_map(|l| l.document.inputs.clone()).collect();
    inputs.sort_by(|a, b| (&a.id, &a.description).cmp(&(&b.id, &b.description)));
    inputs.dedup();
    inputs
}

pub(super) fn diagnostics(layers: &Layers, candidates: &[Candidate]) -> Vec<Diagnostic> {
    let mut all: Vec<Diagnostic> =
        layers.layers.iter().flat_map(|layer| layer.document.diagnostics.clone()).collect();
    all.extend(layers.layers.iter().flat_map(|layer| ignored(layer, layers, candidates)));
    all.sort();
    all.dedup();
    all
}

/// What a document claims that its scope can't grant.
fn ignored(layer: &Layer, layers: &Layers, candidates: &[Candidate]) -> Vec<Diagnostic> {
    let Document { file, policy, approved, .. } = &layer.document;
    let mut claims = Vec::new();
    if layer.scope != Scope::Enterprise && (policy.managed_only || policy.exclusivity.is_some()) {
        claims.push("an enterprise setting in a file of another scope");
    }
    if layer.scope == Scope::Project && (approved.all || !approved.names.is_empty()) {
        claims.push("a committed file that approves the repository's own servers");
    }
    if OwnRules::only_bind(layer.scope) && would_refuse_others(layer, layers, candidates) {
        claims.push(match layer.scope {
            Scope::Project => {
                "a committed list that would refuse servers the project did not bring"
            }
            _ => "a provider's list that would refuse servers it did not bring",
        });
    }
    let diagnostic = |found| {
        Diagnostic::of_file(file, Severity::Warning, Problem::Ignored, found).hint("ignored")
    };
    claims.into_iter().map(diagnostic).collect()
}
