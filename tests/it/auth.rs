//! Logins through the whole stack: a client over HTTP, third-party authorization servers and a browser.

pub(crate) mod browser;
