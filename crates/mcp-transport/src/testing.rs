//! Links to test a host with, and the suite that every transport passes.

pub mod parity;
