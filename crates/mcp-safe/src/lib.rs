//! The base crate of an MCP host: untrusted text, secrets and private files.
//!
//! ```text
//!  mcp-transport · mcp-auth · mcp-config · mcp-bridge · mcp-cli …
//!     │
//!  mcp-safe   text · secrets · fs
//!     │
//!  the standard library
//! ```
//!
//! ```
//! use mcp_safe::{secrets::Redactor, text};
//!
//! let redactor = Redactor::of_settings([("API_KEY", "hunter22"), ("NODE_ENV", "production")]);
//! let said = "\u{1b}[31mlogin with hunter22 failed\u{1b}[0m";
//! assert_eq!(redactor.redact(&text::strip_ansi(said)), "login with [redacted] failed");
//! ```
//!
//! A host shows text that servers wrote, holds secrets that must not appear in that text, and keeps
//! files that only their owner may read. Each of these is implemented once and used by every
//! other crate, because copies diverge, and the difference between them is a vulnerability.
//!
//! - [`text`]: control, bidirectional and invisible characters; [`text::strip`] removes them,
//!   [`text::escape`] shows them.
//! - [`secrets`]: names of secrets, shapes of credentials, and the [`secrets::Redactor`].
//! - [`fs`]: files of mode 0600 in folders of mode 0700, replaced atomically, with lock files.
//!
//! The crate has no dependencies, features or state. The caller decides when to strip, redact or
//! lock.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod fs;
pub mod secrets;
pub mod text;
