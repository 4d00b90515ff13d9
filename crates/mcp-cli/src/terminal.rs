//! Terminal output, questions to the user, and Ctrl-C.

pub(crate) mod approver;
pub(crate) mod form;
pub(crate) mod image;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod out;
pub(crate) mod paint;
pub(crate) mod progress;
pub(crate) mod question;
pub(crate) mod server_state;
pub(crate) mod table;
