//! A tamper-evident audit log: one JSON line per action of an MCP host, chained by keyed hashes.
//!
//! ```text
//!  mcp-cli · your host
//!     │  Record, for each action
//!  mcp-audit    AuditLog::append → audit.jsonl, audit-<first line>.jsonl, audit.head
//!     │         verify → findings
//!  mcp-safe     private files
//! ```
//!
//! - [`Record`] describes one action: a call, a resource, a prompt, a login, an approval, a start or a stop. An
//!   [`Auditor`] receives records, at once and in order.
//! - [`AuditLog`] appends records to private files, which several processes may share, and rotates them.
//! - [`verify`] finds changed, removed and reordered lines; [`Reader`] returns the lines in order.
//! - [`AuditKey`] is the key of the chain. A [`Checkpoint`] stored beside it detects that the whole log was replaced
//!   by an older copy.
//!
//! Everything but records is behind the feature `log`, which is on by default. The crate knows no protocol and makes
//! no decision: the host says what happened. All functions block.
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

#[cfg(feature = "log")]
mod chain;
#[cfg(feature = "log")]
mod files;
#[cfg(feature = "log")]
mod head;
#[cfg(feature = "log")]
mod key;
#[cfg(feature = "log")]
mod log;
#[cfg(feature = "log")]
mod read;
mod record;
mod time;
#[cfg(feature = "log")]
mod verify;

#[cfg(feature = "log")]
pub use crate::{
    head::Checkpoint,
    key::AuditKey,
    log::{AuditLog, LogOptions},
    read::{Line, Reader},
    verify::{Finding, Verification, verify},
};
pub use crate::{
    record::{Auditor, Kind, Record},
    time::timestamp,
};

#[cfg(all(doctest, feature = "log"))]
#[doc = include_str!("../README.md")]
mod readme {}
