//! Links to test a host with.
