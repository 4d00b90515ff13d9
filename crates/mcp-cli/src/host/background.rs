//! The background host, which keeps servers running between commands.
//!
//! `mcp up` starts one process per user, project and set of configuration files. It listens on a private Unix socket,
//! where commands [attach](attach) to local servers. The host starts a server on first use and forwards messages. It
//! only decides which clients share a connection: names, approvals, limits and questions to the user stay with the
//! command.

#[cfg(unix)]
pub(crate) mod attach;
#[cfg(unix)]
mod exchange;
#[cfg(unix)]
pub(crate) mod gateways;
#[cfg(unix)]
mod kept;
pub(crate) mod place;
#[cfg(unix)]
mod running;
#[cfg(unix)]
pub(crate) mod service;
#[cfg(unix)]
pub(crate) mod start;
#[cfg(unix)]
pub(crate) mod wire;
