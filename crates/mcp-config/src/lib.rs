//! Scoped MCP server configuration: everybody's file formats in, one explained answer out.
//!
//! This crate opens no socket and needs no runtime. [`read`] turns a file of any [`Dialect`] into a
//! [`Document`]; documents in their [`Scope`]s make [`Layers`]; [`resolve`] says which servers
//! there are and, through [`Resolution::explain`], why. [`expand()`] fills in variables when a
//! connection is about to be made. [`ConfigFile`] changes a file without disturbing what it does
//! not understand.
//!
//! Secrets stay out of sight: values of headers and environment variables, and whatever expansion
//! put into any field, are never printed by `Debug`, `Display` or a [`Diagnostic`].

mod approve;
mod custom;
mod diagnostic;
mod dialect;
mod diff;
mod document;
mod edit;
mod environment;
mod expand;
mod explain;
mod file;
mod glob;
mod import;
mod model;
mod name;
mod places;
mod policy;
mod redact;
mod resolve;
mod schema;
mod scope;
mod secret_map;
mod signature;
mod source;
mod template;
mod text;
#[cfg(feature = "watch")]
mod watch;
mod what_if;

#[cfg(feature = "watch")]
pub use crate::watch::{Update, WatchError, Watcher};
pub use crate::{
    approve::{Approval, ApprovalError, ApprovalStore, Approvals, Fingerprint},
    custom::{CustomCandidate, CustomEntry, CustomStep, CustomTool, CustomVerdict},
    diagnostic::{Diagnostic, Place, Position, Problem, Severity},
    dialect::{Dialect, read},
    diff::Diff,
    document::{Document, Entry, Input, NamedApprovals, NamedServer, ReadOptions},
    edit::{Edit, EditError, edit_text},
    environment::Environment,
    expand::{AskInput, ExpandCause, ExpandError, Expanded, NoInputs, expand},
    explain::Explanation,
    file::{ConfigFile, FileError},
    glob::matches as glob_matches,
    import::{ImportOutcome, ImportPlan, Importable},
    model::{
        AlwaysLoad, AuthKind, ConnectMode, EraPin, Limits, OAuth, Remote, Sdk, ServerConfig, Stdio,
        Timeouts, Tls, ToolFilter, Transport,
    },
    name::{NameError, ServerName},
    places::{KnownFile, Platform, known_files},
    policy::{Exclusivity, Matcher, Policy, PolicyPart, Refusal},
    resolve::{Candidate, Layer, Layers, Resolution, Rival, Verdict, resolve},
    schema::schema,
    scope::{Precedence, Scope},
    secret_map::SecretMap,
    signature::Signature,
    source::{CloudCache, Fetch, FileSource, Source, load},
    template::{SecretText, Template},
    text::Format,
    what_if::{Change, WhatIf, what_if},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
