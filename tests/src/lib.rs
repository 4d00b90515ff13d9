//! Helpers shared by the whole-stack scenarios.
