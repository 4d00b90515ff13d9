//! Transports from outside: the parity suite, real processes, links to test with.

mod parity;
