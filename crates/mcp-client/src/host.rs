//! The host's side of a session: handles requests and notifications of the server.

pub(crate) mod dispatch;
pub(crate) mod inputs;
pub(crate) mod page_url;
