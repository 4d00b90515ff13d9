//! Tests of the public transport API: the parity suite, real processes and test links.

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
