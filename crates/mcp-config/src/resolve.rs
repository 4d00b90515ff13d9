//! Resolution: combines the documents of all scopes and gives each entry a verdict.
//!
//! Resolution is a pure function of [`Layers`]. Each entry of each document gets a [`Verdict`]. Everything
//! else (the servers, the explanations, what-if) is derived from the verdicts.

pub(crate) mod admission;
pub(crate) mod approval;
mod combine;
pub(crate) mod custom;
mod diff;
pub(crate) mod disclosure;
mod explain;
pub(crate) mod facts;
pub(crate) mod fingerprint;
mod host;
pub(crate) mod layers;
mod program;
pub(crate) mod resolution;
mod sandbox;
pub(crate) mod settle;
mod signature;
mod what_if;

pub(crate) use self::explain::Target;
// Exported by the crate root, `approval` and `custom`.
pub(crate) use self::{
    approval::Approvals, disclosure::Disclosure, layers::Layers, resolution::Resolution,
    settle::resolve,
};
pub use self::{
    diff::Diff,
    explain::Explanation,
    layers::Layer,
    resolution::{Candidate, Rival, Verdict},
    signature::Signature,
    what_if::{Change, WhatIf, what_if},
};
