//! Combines the settings of all documents other than servers: policy, inputs, diagnostics.

use super::{
    host,
    layers::{Layer, Layers},
    resolution::{Candidate, Verdict},
    sandbox,
};
use crate::{
    diagnostic::{Diagnostic, Problem, Severity},
    dialect::{Dialect, Document, Input},
    model::Scope,
    policy::{Exclusivity, Matcher, Policy, PolicyPart, Refusal},
};

/// The combined policy of all documents; see [`Policy`] for the rules of each scope.
pub(super) fn policy(layers: &Layers) -> Policy {
    let enterprise = || layers.layers.iter().filter(|layer| layer.scope == Scope::Enterprise);
    let managed_only = enterprise().any(|layer| layer.document.policy.managed_only);
    let exclusivity = enterprise()
        .map(|layer| layer.document.policy.exclusivity.unwrap_or(Exclusivity::Cloud))
        .max();
    let mut policy = Policy { exclusivity, ..Policy::default() };
    // In order of precedence, so that the refusal shown names the highest rule.
    for scope in layers.precedence.scopes() {
        let mut of_scope: Vec<&Layer> =
            layers.layers.iter().filter(|l| l.scope == *scope).collect();
        of_scope.sort_by(|a, b| (a.rank, &a.document.file).cmp(&(b.rank, &b.document.file)));
        for layer in of_scope {
            let part = &layer.document.policy;
            let lost = layer.scope == Scope::Enterprise && is_unreadable(&layer.document);
            policy.broken |= lost || (part.broken && layer.scope == Scope::Enterprise);
            if PolicyPart::only_binds(layer.scope) {
                let allow = part.allow.clone().filter(|_| !managed_only);
                if allow.is_some() || !part.deny.is_empty() {
                    let deny = part.deny.clone();
                    policy
                        .own
                        .push((layer.scope, PolicyPart { allow, deny, ..Default::default() }));
                }
                continue;
            }
            policy.deny.extend(part.deny.iter().cloned());
            let is_managed = layer.scope == Scope::Enterprise;
            if is_managed && layer.document.dialect == Some(Dialect::ClaudeSettings) {
                continue;
            }
            if is_managed || !managed_only {
                policy.allow.extend(part.allow.iter().cloned());
            }
        }
    }
    policy.allow.splice(..0, managed_settings(layers));
    policy
}

/// The allow list of Claude Code's managed settings. The file and its drop-ins are one document, so their
/// lists are concatenated; a server must pass each list of other documents.
fn managed_settings(layers: &Layers) -> Option<Vec<Matcher>> {
    let managed = layers.layers.iter().filter(|layer| {
        layer.scope == Scope::Enterprise && layer.document.dialect == Some(Dialect::ClaudeSettings)
    });
    let lists = managed.filter_map(|layer| layer.document.policy.allow.clone());
    lists.reduce(|mut all, more| {
        all.extend(more);
        all
    })
}

/// An unreadable enterprise document fails closed, because its rules are unknown.
fn is_unreadable(document: &Document) -> bool {
    document.diagnostics.iter().any(|diagnostic| {
        let whole_file = diagnostic.place.pointer.is_empty();
        diagnostic.severity == Severity::Error && diagnostic.server.is_none() && whole_file
    })
}

fn would_refuse_others(layer: &Layer, layers: &Layers, candidates: &[Candidate]) -> bool {
    let mut others = candidates.iter().filter(|candidate| candidate.scope != layer.scope);
    let part = &layer.document.policy;
    others.any(|candidate| part.check(&candidate.entry.config, &layers.env).is_err())
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
    all.extend(candidates.iter().filter_map(user_in_url));
    all.extend(layers.layers.iter().flat_map(|layer| {
        layer.document.entries.iter().filter_map(|entry| {
            let scope = entry.scope.unwrap_or(layer.scope);
            sandbox::diagnostic(entry, scope, &layers.untrusted_sandbox)
        })
    }));
    all.extend(layers.diagnostics.iter().cloned());
    all.sort();
    all.dedup();
    all
}

/// The diagnostic for a project's entry with user information in a URL.
fn user_in_url(candidate: &Candidate) -> Option<Diagnostic> {
    let Verdict::Refused(Refusal::UserInUrl(field)) = candidate.verdict else { return None };
    let found = format!("a user name in `{field}`");
    let finding = Diagnostic::error(Problem::Ignored, found).expected("a URL without a user name");
    let finding = finding.hint("put the credential into `headers`");
    let server = Some(candidate.entry.config.name.as_str().to_owned());
    Some(Diagnostic { place: candidate.entry.place.clone(), server, ..finding })
}

/// Warnings about settings that the document's scope is not allowed to make.
fn ignored(layer: &Layer, layers: &Layers, candidates: &[Candidate]) -> Vec<Diagnostic> {
    let Document { file, policy, approved, .. } = &layer.document;
    let mut claims = Vec::new();
    if layer.scope != Scope::Enterprise && (policy.managed_only || policy.exclusivity.is_some()) {
        claims.push("an enterprise setting in a file of another scope");
    }
    if layer.scope == Scope::Project && (approved.all || !approved.names.is_empty()) {
        claims.push("a committed file that approves the repository's own servers");
    }
    if PolicyPart::only_binds(layer.scope) && would_refuse_others(layer, layers, candidates) {
        claims.push(match layer.scope {
            Scope::Project => "a committed list that would refuse servers from outside the project",
            _ => "a provider's list that would refuse servers of other scopes",
        });
    }
    let refused = host::refused(layer, layers);
    let settings = format!("host settings that would loosen the user's: {}", refused.join(", "));
    if !refused.is_empty() {
        claims.push(&settings);
    }
    let diagnostic = |found: &str| {
        Diagnostic::of_file(file, Severity::Warning, Problem::Ignored, found).hint("ignored")
    };
    claims.into_iter().map(diagnostic).collect()
}
