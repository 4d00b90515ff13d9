//! Tests that run the real binary, on a real terminal where needed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[cfg(target_os = "linux")]
mod approval;
#[cfg(unix)]
mod audit;
mod auth_server;
#[cfg(target_os = "linux")]
mod background;
mod bad_input;
#[cfg(unix)]
mod capabilities;
#[cfg(target_os = "linux")]
mod changed_tool;
mod clients;
#[cfg(unix)]
mod conveniences;
mod custom;
mod edits;
mod gateway;
#[cfg(unix)]
mod gateway_reload;
#[cfg(unix)]
mod gateway_shutdown;
#[cfg(target_os = "linux")]
mod gateway_status;
#[cfg(unix)]
mod host_settings;
#[cfg(unix)]
mod hostile_text;
mod http_access;
#[cfg(target_os = "linux")]
mod images;
#[cfg(target_os = "linux")]
mod install;
mod installed_names;
#[cfg(target_os = "linux")]
mod limits;
mod login;
#[cfg(unix)]
mod manage;
mod output;
#[cfg(target_os = "linux")]
mod results;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(unix)]
mod scores;
#[cfg(unix)]
mod scripted;
mod security;
#[cfg(unix)]
mod silent_server;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(unix)]
mod unavailable;
mod wire;
