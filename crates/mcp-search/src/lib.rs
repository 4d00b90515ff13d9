//! Finds the right tool among thousands.
//!
//! An [`Index`] holds [`Card`]s, one per tool, grouped by server; a [`Query`] is what a model or a
//! person asked for; [`Index::search`] brings them together and says why each hit was found. The
//! ranking is lexical (fielded BM25 with a closer look at the best), needs no model, and is the same
//! every time.
//!
//! Around it is what a host needs to show a model one search tool in place of hundreds: a
//! [`Validator`] that says which descriptions will mislead, [`Statistics`] of what definitions cost
//! in tokens, and a [`Catalogue`] file from which tools are found before any server is started.
//!
//! The crate does no networking, starts no threads and reads no clock. Files are touched in two
//! functions, [`Catalogue::load`] and [`Catalogue::store`].

mod action;
mod build;
mod canonical;
mod card;
mod catalogue;
mod edit;
mod explain;
mod field;
mod filter;
mod fold;
mod index;
mod merge;
mod pattern;
mod plan;
mod query;
mod rank;
mod score;
mod search;
mod segment;
mod select;
mod similar;
mod statistics;
mod stem;
mod stop;
mod synonyms;
mod terms;
mod tokenize;
mod tokens;
mod validate;

pub use crate::{
    canonical::definition_hash,
    card::{Card, Param},
    catalogue::{Catalogue, CatalogueError, Freshness, Loaded, Origin},
    explain::Match,
    field::{Field, Fields},
    index::Index,
    plan::How,
    query::{PatternError, Query},
    search::{Hit, Missing, Results, SearchOptions},
    statistics::{Cost, Statistics, ToolText},
    synonyms::Synonyms,
    tokens::{CountTokens, Estimate},
    validate::{Problem, Report, Rules, Validator},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
