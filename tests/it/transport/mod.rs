//! Transports from outside: the parity suite, real processes, links to test with.

mod cassettes;
mod faults;
mod host;
pub(crate) mod http;
mod in_process;
mod parity;
#[cfg(target_os = "linux")]
mod processes;
mod ws;

pub(crate) use self::{http::scripted as http_server, ws::bridge as ws_bridge};
