//! Converts tools, calls and results to and from the formats of model APIs.
//!
//! [`Api`] is the trait for one format: definitions with projected schemas and a report of losses, calls with parsed
//! [`Arguments`], and outcomes, prompts and sampling as messages. [`anthropic`], [`openai`], [`gemini`] and
//! [`generic`] implement it. [`Session`] adds tools to a running conversation without changing its cached prefix,
//! for APIs with [`Deferral`].
//!
//! This crate has no I/O, keys or runtime: it reads and writes JSON.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod anthropic;
mod api;
mod arguments;
mod call;
mod content;
mod define;
pub mod gemini;
pub mod generic;
mod json;
mod loss;
mod name;
pub mod openai;
mod sampling;
pub mod schema;
mod serialize;
mod session;

pub use crate::{
    api::{Api, AsSpec, CallResult, Definition, definitions},
    arguments::Arguments,
    call::ModelCall,
    loss::{Loss, Lost, NotStrict},
    name::Limits,
    sampling::SamplingError,
    session::{Answer, Changes, Deferral, Loaded, Session},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
