//! Tool definitions: admission, naming, registration, argument repair and validation.

pub(crate) mod check;
pub(crate) mod name;
pub(crate) mod publish;
pub(crate) mod registry;
pub(crate) mod repair;
pub(crate) mod schema;
pub(crate) mod scope;
