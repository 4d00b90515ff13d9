//! Tools of the bridge itself: composed tools, and the tools that read resources.

pub(crate) mod custom;
pub(crate) mod resources;
