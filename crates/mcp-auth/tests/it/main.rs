//! Whole logins against scripted servers: an MCP server, authorization servers, a browser and a user.

// Always true here; it tells clippy that helper functions belong to tests.
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod code_flow;
#[cfg(test)]
mod configured;
#[cfg(test)]
mod dpop;
#[cfg(test)]
mod hammer;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod keyrings;
#[cfg(test)]
mod machine;
#[cfg(feature = "reqwest")]
#[cfg(test)]
mod own_reqwest;
#[cfg(test)]
mod proxied;
#[cfg(test)]
mod refresh;
#[cfg(test)]
mod sockets;
#[cfg(test)]
mod support;
#[cfg(test)]
mod unsaved;
