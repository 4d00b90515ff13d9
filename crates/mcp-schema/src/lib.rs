//! JSON Schema validation with a step budget, for untrusted schemas.
//!
//! ```text
//!  mcp-bridge · your host
//!     │  a schema and an instance, both written by a server
//!  mcp-schema   Schema::admit · Schema::check → violations, or NotChecked
//!     │
//!  jsonschema   validates what was admitted and counted
//! ```
//!
//! A schema of three kilobytes can cost 2^40 steps to evaluate, and a plain one applied to a large
//! instance 10^10. [`Schema::admit`] rejects the first kind before it is compiled, and [`Schema::check`]
//! counts the steps that an instance would take before it validates. Both stay within their limits
//! for every schema and instance; [`NotChecked`] says which limit was exceeded.
//!
//! References are never fetched: a schema that refers to another document is rejected. Patterns are
//! matched in linear time, and the size of their automata is bounded.
//!
//! The crate uses no runtime and no clock. The caller chooses the thread and the budget.
//!
//! ```
//! use mcp_schema::{NotChecked, Schema};
//! use serde_json::json;
//!
//! let schema = Schema::admit(&json!({"properties": {"lines": {"type": "integer"}}}))?;
//! assert!(schema.check(&json!({"lines": 3}), 10_000)?.is_empty());
//! let violations = schema.check(&json!({"lines": "three"}), 10_000)?;
//! assert_eq!(violations[0].path, "/lines");
//!
//! let list = Schema::admit(&json!({"items": {"type": "integer"}}))?;
//! let numbers: Vec<u32> = (0..100_000).collect();
//! assert_eq!(list.check(&json!(numbers), 10_000), Err(NotChecked::TooManySteps(10_000)));
//! # Ok::<(), NotChecked>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod admit;
mod error;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod keyword;
mod limits;
mod schema;
mod steps;

pub use crate::{
    error::NotChecked,
    schema::{Schema, Violation},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
