//! Computes the verdict on each entry.

use std::{
    cmp::Ordering,
    collections::{HashMap, hash_map},
};

use super::{
    approval::Approval,
    combine, custom,
    fingerprint::Fingerprint,
    host,
    layers::Layers,
    resolution::{Candidate, Resolution, Verdict},
    sandbox,
    signature::Signature,
};
use crate::{
    dialect::{Entry, NamedServer},
    expand::Environment,
    model::{Scope, ServerName},
    policy::Policy,
};

/// Resolves `layers`. A pure function; the order of the layers does not matter.
///
/// ```
/// use mcp_config::{Layers, ReadOptions, Scope, read, resolve};
/// let file = |text: &str, path| read(text.as_bytes(), &ReadOptions::new(path));
/// let mut layers = Layers::new();
/// layers.push(Scope::User, file(r#"{"mcpServers":{"a":{"command":"mine"}}}"#, "~/.mcp.json"));
/// layers.push(Scope::Cloud, file(r#"{"mcpServers":{"a":{"command":"theirs"}}}"#, "cloud"));
/// let resolution = resolve(&layers);
/// assert_eq!(resolution.get("a").unwrap().scope, Scope::User);
/// assert_eq!(resolution.candidates.len(), 2);
/// ```
pub fn resolve(layers: &Layers) -> Resolution {
    let policy = combine::policy(layers);
    let mut candidates = gather(layers);
    let off = switched_off(layers);
    for candidate in &mut candidates {
        candidate.verdict = initial_verdict(layers, &policy, &off, candidate);
    }
    settle_names(&mut candidates);
    settle_signatures(&mut candidates, &layers.env);
    Resolution {
        custom_tools: custom::resolve(layers, &policy),
        host: host::settings(layers),
        inputs: combine::inputs(layers),
        diagnostics: combine::diagnostics(layers, &candidates),
        candidates,
        policy,
        precedence: layers.precedence.clone(),
    }
}

/// All entries in order of precedence. The order inside a scope depends only on the documents, not on the
/// order of loading.
fn gather(layers: &Layers) -> Vec<Candidate> {
    let mut all: Vec<(usize, i32, Candidate)> = Vec::new();
    for layer in &layers.layers {
        for entry in &layer.document.entries {
            let scope = entry.scope.unwrap_or(layer.scope);
            let entry = sandbox::limited(entry, scope, &layers.untrusted_sandbox);
            let candidate = Candidate { entry, scope, verdict: Verdict::Active };
            all.push((layers.precedence.rank(scope), layer.rank, candidate));
        }
    }
    all.sort_by(|(scope_a, rank_a, a), (scope_b, rank_b, b)| {
        let (a, b) = (&a.entry, &b.entry);
        (scope_a, rank_a, a.dialect).cmp(&(scope_b, rank_b, b.dialect)).then_with(|| by_place(a, b))
    });
    all.into_iter().map(|(_, _, candidate)| candidate).collect()
}

fn by_place(a: &Entry, b: &Entry) -> Ordering {
    (&a.place.file, a.place.position)
        .cmp(&(&b.place.file, b.place.position))
        .then_with(|| a.place.pointer.cmp(&b.place.pointer))
        .then_with(|| Fingerprint::of(&a.config).cmp(&Fingerprint::of(&b.config)))
}

/// The verdict on a single entry, before it is compared with others.
///
/// Entries that are refused, excluded or not approved take no part in the next steps, so a repository can't
/// shadow a user's server by using its name.
fn initial_verdict(
    layers: &Layers,
    policy: &Policy,
    off: &SwitchedOff<'_>,
    candidate: &Candidate,
) -> Verdict {
    let config = &candidate.entry.config;
    if let Some(exclusivity) = policy.exclusivity.filter(|it| it.withholds(candidate.scope)) {
        return Verdict::Withheld(exclusivity);
    }
    // Before the approval, so that a user is not asked about an entry that policy refuses anyway.
    if let Err(refusal) = policy.check_in(candidate.scope, config, &layers.env) {
        return Verdict::Refused(refusal);
    }
    if candidate.scope == Scope::Project && layers.require_approval {
        let now = candidate.disclosure(&layers.env, &layers.project);
        match layers.approvals.of(&layers.project, &now) {
            Approval::Approved => {}
            Approval::Rejected => return Verdict::Rejected,
            Approval::Unknown if approved_by_name(layers, config.name.as_str()) => {}
            Approval::Unknown => return Verdict::Unapproved { changed: false },
            Approval::Changed => return Verdict::Unapproved { changed: true },
        }
    }
    if !config.enabled {
        return Verdict::Disabled(None);
    }
    let lists = off.get(candidate.name()).map(Vec::as_slice).unwrap_or_default();
    let applies = lists.iter().filter(|(scope, named)| {
        // A committed file may disable its own servers, not the user's.
        named.scope.is_none_or(|only| only == candidate.scope)
            && (*scope != Scope::Project || candidate.scope == Scope::Project)
    });
    match applies.map(|(_, named)| &named.place).min() {
        Some(place) => Verdict::Disabled(Some(place.clone())),
        None => Verdict::Active,
    }
}

/// Another tool's approval is accepted only from outside the repository, and only if the host enables it.
fn approved_by_name(layers: &Layers, name: &str) -> bool {
    layers.accept_named_approvals
        && layers.layers.iter().filter(|layer| layer.scope != Scope::Project).any(|layer| {
            let approved = &layer.document.approved;
            approved.all || approved.names.iter().any(|each| each == name)
        })
}

/// The lists that disable servers, by name.
type SwitchedOff<'l> = HashMap<&'l str, Vec<(Scope, &'l NamedServer)>>;

fn switched_off(layers: &Layers) -> SwitchedOff<'_> {
    let mut off = SwitchedOff::new();
    for layer in &layers.layers {
        for named in &layer.document.switched_off {
            off.entry(&named.name).or_default().push((layer.scope, named));
        }
    }
    off
}

fn is_eligible(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Active | Verdict::Disabled(_))
}

/// Same name: the first entry wins completely, even if it is disabled. A higher scope can disable a server
/// this way.
fn settle_names(candidates: &mut [Candidate]) {
    let mut winners: HashMap<ServerName, usize> = HashMap::with_capacity(candidates.len());
    for index in 0..candidates.len() {
        let candidate = &candidates[index];
        if !is_eligible(&candidate.verdict) {
            continue;
        }
        match winners.entry(candidate.entry.config.name.clone()) {
            hash_map::Entry::Occupied(winner) => {
                candidates[index].verdict = Verdict::Shadowed(candidates[*winner.get()].rival());
            }
            hash_map::Entry::Vacant(free) => {
                free.insert(index);
            }
        }
    }
}

/// Same endpoint under another name: the first entry is kept. Two entries in one file are intentional (such
/// as two accounts at one URL), and a disabled server is not a duplicate.
fn settle_signatures(candidates: &mut [Candidate], env: &Environment) {
    let mut winners: HashMap<Signature, usize> = HashMap::with_capacity(candidates.len());
    for index in 0..candidates.len() {
        let candidate = &candidates[index];
        if candidate.verdict != Verdict::Active {
            continue;
        }
        let Some(signature) = Signature::of(&candidate.entry.config, env) else { continue };
        match winners.entry(signature) {
            hash_map::Entry::Occupied(winner) => {
                let first = &candidates[*winner.get()];
                if first.entry.place.file != candidate.entry.place.file
                    || first.scope != candidate.scope
                {
                    let verdict = Verdict::Duplicate(first.rival(), winner.key().clone());
                    candidates[index].verdict = verdict;
                }
            }
            hash_map::Entry::Vacant(free) => {
                free.insert(index);
            }
        }
    }
}
