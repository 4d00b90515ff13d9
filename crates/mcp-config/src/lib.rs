//! Scoped configuration of MCP servers: reads the file formats of many tools and explains the result.
//!
//! ```text
//!  mcp-bridge · your host
//!     │  servers: resolved, admitted by policy and approval, expanded
//!  mcp-config   read → Layers → resolve → Admissions::expand
//!     │         mcp-safe, and the profiles of mcp-sandbox
//!  files of Claude Code, Cursor, VS Code, Codex …, of projects and of administrators
//! ```
//!
//! ```
//! use mcp_config::{Layers, ReadOptions, Scope, read, resolve};
//!
//! let mine = br#"{ "mcpServers": { "docs": { "type": "http", "url": "https://docs.test/mcp" } } }"#;
//! let cloud = br#"{ "mcpServers": { "manual": { "type": "http", "url": "https://docs.test/mcp/" } } }"#;
//!
//! let mut layers = Layers::new();
//! layers.push(Scope::User, read(mine, &ReadOptions::new("~/.claude.json")));
//! layers.push(Scope::Cloud, read(cloud, &ReadOptions::new("connectors")));
//!
//! let resolution = resolve(&layers);
//! assert!(resolution.get("docs").is_some() && resolution.get("manual").is_none());
//! println!("{}", resolution.explain("manual")); // the same server as `docs`, in a lower scope
//! ```
//!
//! This crate opens no socket and needs no runtime. [`read`] parses a file of any [`Dialect`] into a
//! [`Document`]. Documents with their [`Scope`]s form [`Layers`]. [`resolve()`] selects the servers and
//! [`Resolution::explain`] gives the reason for each. [`expand()`] substitutes variables just before a
//! connection is opened. [`ConfigFile`] edits a file and preserves comments and unknown fields.
//!
//! Secrets are redacted: `Debug`, `Display` and [`Diagnostic`] never print values of headers, values of
//! environment variables, or text that expansion substituted into any field.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod diagnostic;
pub mod dialect;
pub mod edit;
pub mod expand;
pub mod files;
mod format;
pub mod model;
pub mod policy;
pub mod resolve;
mod serial;

pub use crate::{
    diagnostic::Diagnostic,
    dialect::{
        catalogue::Dialect,
        document::{Document, ReadOptions},
        read::read,
    },
    expand::{Expanded, environment::Environment, expand},
    files::{config_file::ConfigFile, known::known_files, source::load},
    model::{
        name::ServerName,
        scope::Scope,
        server::{Remote, Sdk, ServerConfig, Stdio, Transport},
        template::{SecretText, Template},
    },
    resolve::{layers::Layers, resolution::Resolution, settle::resolve},
};

/// Approvals of project servers: the text shown to the user, the hash an approval is bound to, and the store.
pub mod approval {
    pub use crate::{
        files::approval_store::{ApprovalError, ApprovalStore},
        resolve::{
            admission::{AdmissionError, Admissions},
            approval::{Approval, Approvals},
            disclosure::Disclosure,
            facts::{Fact, Sent},
            fingerprint::Fingerprint,
        },
    };
}

/// Custom tools: tools that a configuration file composes from other tools.
pub mod custom {
    pub use crate::{
        dialect::custom_tool::{CustomEntry, CustomStep, CustomTool},
        resolve::custom::{CustomCandidate, CustomVerdict},
    };
}

/// Sandbox profiles of entries, from `mcp-sandbox`.
pub mod sandbox {
    pub use mcp_sandbox::{Access, HostRule, Level, Limits, Profile, ProfileError};
}

/// A watcher that resolves again when a configuration file changes.
#[cfg(feature = "watch")]
pub mod watch {
    pub use crate::files::watch::{Update, WatchError, Watcher};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
