//! Starts local MCP servers with less access than their user has: to files, processes, system calls and the network.
//!
//! ```text
//!  mcp-bridge · your host ── Profile, Rules, Launch
//!     │  starts
//!  the launcher   restricts itself, then writes the Report
//!     │  starts
//!  the MCP server
//! ```
//!
//! ```no_run
//! # #[cfg(feature = "launch")] {
//! use std::{ffi::OsString, process::Command};
//!
//! use mcp_sandbox::{Entry, Launch, Level, Profile};
//!
//! // First in `main`: the host is its own launcher.
//! if mcp_sandbox::launcher::run().is_some() {
//!     return Ok(());
//! }
//! let entry = Entry::new("/usr/bin/python3", "/users/me", "/users/me/.local/state/host/sandbox/files");
//! let resolved = Profile::new(Level::Strict).resolve(&entry)?;
//! let launch = Launch::prepare(resolved.rules)?;
//! let (program, args) = launch.command(entry.program, [OsString::from("server.py")]);
//! let server = Command::new(program).args(args).spawn()?;
//! # drop(server);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On Linux the restrictions are Landlock, seccomp, user, mount, process, IPC and network namespaces, and resource
//! limits. None of them needs root, a container or a daemon. On macOS the crate writes a `sandbox-exec` profile. On
//! other systems it refuses to start a server in a sandbox.
//!
//! 1. A [`Profile`] is what a user writes: `"standard"`, `"strict"`, or an object with exceptions.
//! 2. [`Profile::resolve`] turns it into [`Rules`] for one server, given its program, project and home.
//! 3. [`Launch`] is the command that a host starts in place of the server's. It runs the host's own executable (or
//!    `mcp-sandbox-launcher`), whose `main` begins with [`launcher::run`]. That process restricts itself, then starts
//!    the server.
//! 4. [`Report`] tells what was applied and what the system does not support.
//!
//! Profiles need no feature. The rest is behind the feature `launch`, which is on by default.
//!
//! The crate starts no server itself and has no opinion about which server needs which profile.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod fields;
mod host;
#[cfg(feature = "launch")]
mod launch;
#[cfg(feature = "launch")]
pub mod launcher;
#[cfg(feature = "launch")]
mod places;
mod profile;
#[cfg(feature = "launch")]
mod report;
#[cfg(feature = "launch")]
mod resolve;
#[cfg(feature = "launch")]
mod rules;
#[cfg(all(feature = "launch", any(target_os = "macos", test)))]
mod seatbelt;

pub use crate::{
    error::ProfileError,
    host::HostRule,
    profile::{Access, Level, Limits, Profile},
};
#[cfg(feature = "launch")]
pub use crate::{
    launch::{Launch, LaunchError, is_supported},
    report::{Measure, Missing, Report, ReportError},
    resolve::{Entry, ResolveError, Resolved},
    rules::Rules,
};

#[cfg(all(doctest, feature = "launch"))]
#[doc = include_str!("../README.md")]
mod readme {}
