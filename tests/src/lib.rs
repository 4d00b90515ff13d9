//! Helpers shared by the whole-stack scenarios.

mod host;
pub mod listening;
pub mod served;

pub use host::{Diary, Host, call, soon};
