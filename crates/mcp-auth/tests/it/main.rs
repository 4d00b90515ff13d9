//! Whole logins against a scripted world: an MCP server, authorization servers, a browser, a person.

// Always true here; it tells clippy that helpers are tests too.
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
