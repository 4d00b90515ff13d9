//! Tool search: a lexical index over the names, descriptions and parameters of tools.
//!
//! ```text
//!  mcp-bridge · your host
//!     │  Card: id, server, name, description, parameters
//!  mcp-search   Index · Query · Results: hits with their reasons
//!     │         Validator · Statistics · Catalogue
//!  mcp-safe
//! ```
//!
//! ```
//! use mcp_search::{Card, Index, Query, SearchOptions};
//!
//! let mut index = Index::new();
//! let mut open = Card::new("mcp__github__create_issue", "github", "create_issue");
//! open.description = "Open an issue in a repository.".into();
//! let mut list = Card::new("mcp__github__list_issues", "github", "list_issues");
//! list.description = "List the issues of a repository.".into();
//! index.replace_server("github", [open, list]);
//!
//! let results = index.search(&Query::parse("report a bug"), &SearchOptions::default());
//! assert_eq!(results.hits[0].card.name, "create_issue");
//! ```
//!
//! An [`Index`] holds [`Card`]s, one per tool, grouped by server. [`Index::search`] ranks them for a
//! [`Query`] and explains why each hit was found. The ranking is lexical (fielded BM25, with
//! reranking of the best), needs no model, and is deterministic.
//!
//! The crate also has what a host needs to show a model one search tool in place of hundreds: a
//! [`Validator`](validate::Validator) for misleading descriptions, [`Statistics`](cost::Statistics) of the tokens that definitions take,
//! and a [`Catalogue`](catalogue::Catalogue) file, so that tools are found before any server is started.
//!
//! The crate does not use the network, threads or a clock. Only [`Catalogue::load`](catalogue::Catalogue::load),
//! [`Catalogue::store`](catalogue::Catalogue::store) and [`CatalogueFolder`](catalogue::CatalogueFolder) access files.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod card;
pub mod catalogue;
mod corpus;
pub mod cost;
mod index;
mod query;
mod rank;
mod search;
mod text;
pub mod validate;

pub use crate::{
    card::{Card, Param},
    corpus::{Field, Fields},
    index::Index,
    query::{PatternError, Query},
    rank::{How, Match},
    search::{Hit, Missing, Results, SearchOptions},
    text::Synonyms,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
