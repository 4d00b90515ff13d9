//! Logins through the whole stack: a client over HTTP, authorization servers that nobody here wrote, and a
//! browser.

pub(crate) mod browser;
