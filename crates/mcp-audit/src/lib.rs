//! A tamper-evident audit log: one JSON line per action of an MCP host, chained by keyed hashes.
//!
//! - [`Record`] describes one action: a call, a resource, a prompt, a login, an approval, a start or a stop.
//! - [`AuditLog`] appends records to private files, which several processes may share, and rotates them.
//! - [`verify`] finds changed, removed and reordered lines; [`Reader`] returns the lines in order.
//! - [`AuditKey`] is the key of the chain. A [`Checkpoint`] stored beside it detects that the whole log was replaced
//!   by an older copy.
//!
//! The crate knows no protocol and makes no decision: the host says what happened. All functions block.
//!
//! ```
//! use std::time::SystemTime;
//! use mcp_audit::{AuditKey, AuditLog, Kind, LogOptions, Reader, Record};
//!
//! # let folder = tempfile::tempdir()?;
//! let log = AuditLog::open(folder.path(), AuditKey::generate()?, LogOptions::default())?;
//! log.append(&Record::new(Kind::ServerStart, SystemTime::now()).with_server("github", None))?;
//! let line = Reader::open(folder.path())?.next().expect("a line")?;
//! assert!(line.text.starts_with(r#"{"seq":1,"time":"#));
//! # std::io::Result::Ok(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod chain;
mod files;
mod head;
mod key;
mod log;
mod read;
mod record;
mod time;
mod verify;

pub use crate::{
    head::Checkpoint,
    key::AuditKey,
    log::{AuditLog, LogOptions},
    read::{Line, Reader},
    record::{Kind, Record},
    time::timestamp,
    verify::{Finding, Verification, verify},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
