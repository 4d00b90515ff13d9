//! Links for testing a host, and the suite that every transport passes.
//!
//! [`Faulty`] injects planned faults into the links of any transport. [`parity`] contains the scenarios that must
//! hold for every transport, wrapped or not.

mod fault;
mod faulty;
pub mod parity;

pub use self::{
    fault::{Fault, Plan, When},
    faulty::Faulty,
};
