//! From every scope's documents to one answer, with nothing thrown away.
//!
//! Resolution is a pure function of [`Layers`]. Each entry of each document gets a [`Verdict`], and
//! everything else (the servers, the explanations, what-if) is a view of those.

use std::{
    cmp::Ordering,
    collections::{HashMap, hash_map},
    path::PathBuf,
    sync::Arc,
};

mod combine;

use crate::{
    approve::{Approval, Approvals, Fingerprint},
    custom::{self, CustomCandidate},
    diagnostic::{Diagnostic, Place},
    document::{Document, Entry, Input, NamedServer},
    environment::Environment,
    name::ServerName,
    policy::{Exclusivity, Policy, Refusal},
    scope::{Precedence, Scope},
    signature::Signature,
};

/// One document in one scope.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layer {
    /// The scope of its servers, unless an entry has one of its own.
    pub scope: Scope,
    /// Among documents of one scope, the lower rank wins. Zero; equal ranks go by dialect and path,
    /// so that the order of loading never matters.
    pub rank: i32,
    /// What was read.
    pub document: Document,
}

impl Layer {
    /// A layer of rank zero.
    pub fn new(scope: Scope, document: Document) -> Self {
        Self { scope, rank: 0, document }
    }
}

/// Everything a resolution depends on, as values.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layers {
    /// The documents, in any order.
    pub layers: Vec<Layer>,
    /// Which scope wins.
    pub precedence: Precedence,
    /// Variables, for signatures and policy.
    pub env: Environment,
    /// What the user has approved.
    pub approvals: Approvals,
    /// The project the approvals are about.
    pub project: PathBuf,
    /// Whether project servers wait for approval. `true`.
    pub require_approval: bool,
    /// Whether another tool's approvals by name count. They are not bound to content, so: `false`.
    pub accept_named_approvals: bool,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            layers: Vec::new(),
            precedence: Precedence::default(),
            env: Environment::empty(),
            approvals: Approvals::default(),
            project: PathBuf::new(),
            require_approval: true,
            accept_named_approvals: false,
        }
    }
}

impl Layers {
    /// No documents, default order, no variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document.
    pub fn push(&mut self, scope: Scope, document: Document) {
        self.layers.push(Layer::new(scope, document));
    }
}

/// What became of one entry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It is one of the servers.
    Active,
    /// It would be, but is switched off: by itself, or by the list at this place.
    Disabled(Option<Place>),
    /// It came with the project and waits for the user; `changed` if an earlier decision was about
    /// other content.
    Unapproved {
        /// Whether it was decided before and has changed.
        changed: bool,
    },
    /// It came with the project and the user turned it down.
    Rejected,
    /// Another entry of the same name has precedence.
    Shadowed(Rival),
    /// Another entry reaches the same server under another name and has precedence.
    Duplicate(Rival, Signature),
    /// Policy refuses it.
    Refused(Refusal),
    /// An enterprise document keeps its whole scope out.
    Withheld(Exclusivity),
}

/// The entry that won over another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rival {
    /// The winner.
    pub entry: Arc<Entry>,
    /// Its scope.
    pub scope: Scope,
}

/// One entry with what became of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The entry.
    pub entry: Arc<Entry>,
    /// Its scope.
    pub scope: Scope,
    /// What became of it.
    pub verdict: Verdict,
}

impl Candidate {
    /// Whether the user vouches for it. What a repository or a provider says about its own servers
    /// does not count.
    pub fn is_trusted(&self) -> bool {
        self.entry.config.trust && !matches!(self.scope, Scope::Project | Scope::Cloud)
    }

    fn rival(&self) -> Rival {
        Rival { entry: Arc::clone(&self.entry), scope: self.scope }
    }

    fn name(&self) -> &str {
        self.entry.config.name.as_str()
    }
}

/// The answer: every entry with its verdict, highest precedence first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resolution {
    /// Every entry of every document.
    pub candidates: Vec<Candidate>,
    /// Every custom tool of every document.
    pub custom_tools: Vec<CustomCandidate>,
    /// The policy that was applied; check it again after expansion.
    pub policy: Policy,
    /// Inputs the servers may ask for.
    pub inputs: Vec<Input>,
    /// Everything the documents' readers had to say, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// The order that was applied.
    pub precedence: Precedence,
}

impl Resolution {
    /// The servers to use, highest precedence first, each name once.
    pub fn servers(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.verdict == Verdict::Active)
    }

    /// The active server of this name.
    pub fn get(&self, name: &str) -> Option<&Candidate> {
        self.servers().find(|candidate| candidate.name() == name)
    }

    /// Project servers the user has yet to decide about.
    pub fn unapproved(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates
            .iter()
            .filter(|candidate| matches!(candidate.verdict, Verdict::Unapproved { .. }))
    }
}

/// Resolves `layers`. Pure: the same layers give the same answer, in whatever order they stand.
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
        candidate.verdict = standing(layers, &policy, &off, candidate);
    }
    settle_names(&mut candidates);
    settle_signatures(&mut candidates, &layers.env);
    Resolution {
        custom_tools: custom::resolve(layers, &policy),
        inputs: combine::inputs(layers),
        diagnostics: combine::diagnostics(layers, &candidates),
        candidates,
        policy,
        precedence: layers.precedence.clone(),
    }
}

/// Every entry, in order of precedence. The order inside a scope is decided by the documents
/// themselves, never by who was loaded first.
fn gather(layers: &Layers) -> Vec<Candidate> {
    let mut all: Vec<(usize, i32, Candidate)> = Vec::new();
    for layer in &layers.layers {
        for entry in &layer.document.entries {
            let scope = entry.scope.unwrap_or(layer.scope);
            let entry = Arc::clone(entry);
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

/// How an entry stands by itself, before it meets the others.
///
/// What policy refuses, an enterprise withholds or the user has not approved takes no part in what
/// follows: a repository can't hide a user's server by naming one like it.
fn standing(
    layers: &Layers,
    policy: &Policy,
    off: &SwitchedOff<'_>,
    candidate: &Candidate,
) -> Verdict {
    let config = &candidate.entry.config;
    match policy.exclusivity {
        Some(Exclusivity::All) if candidate.scope != Scope::Enterprise => {
            return Verdict::Withheld(Exclusivity::All);
        }
        Some(Exclusivity::Cloud) if candidate.scope == Scope::Cloud => {
            return Verdict::Withheld(Exclusivity::Cloud);
        }
        _ => {}
    }
    if let Err(refusal) = policy.check_in(candidate.scope, config, &layers.env) {
        return Verdict::Refused(refusal);
    }
    if candidate.scope == Scope::Project && layers.require_approval {
        match layers.approvals.of(&layers.project, config) {
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
        // A committed file may switch off what it brought itself, not what the user has.
        named.scope.is_none_or(|only| only == candidate.scope)
            && (*scope != Scope::Project || candidate.scope == Scope::Project)
    });
    match applies.map(|(_, named)| &named.place).min() {
        Some(place) => Verdict::Disabled(Some(place.clone())),
        None => Verdict::Active,
    }
}

/// Another tool's approval counts only from outside the repository, and only if the host says so.
fn approved_by_name(layers: &Layers, name: &str) -> bool {
    layers.accept_named_approvals
        && layers.layers.iter().filter(|layer| layer.scope != Scope::Project).any(|layer| {
            let approved = &layer.document.approved;
            approved.all || approved.names.iter().any(|each| each == name)
        })
}

/// The lists that switch servers off, by name.
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

fn takes_part(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Active | Verdict::Disabled(_))
}

/// Same name: the first in order wins whole, even if it is switched off. That is how a higher
/// scope turns a server off.
fn settle_names(candidates: &mut [Candidate]) {
    let mut winners: HashMap<ServerName, usize> = HashMap::with_capacity(candidates.len());
    for index in 0..candidates.len() {
        let candidate = &candidates[index];
        if !takes_part(&candidate.verdict) {
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

/// Same endpoint under another name: the first in order stays. Two entries of one file are both
/// meant (two accounts at one address, say), and a server that is off duplicates nothing.
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
