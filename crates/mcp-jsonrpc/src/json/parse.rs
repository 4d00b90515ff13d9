//! A parser for JSON text: a cursor, and the loops it runs.

mod scanner;
pub(super) mod skip;
mod string;

pub(crate) use self::scanner::Scanner;
