//! `cargo xtask docs`: builds the documentation with warnings, such as broken links, denied.

use crate::process::{cargo, run};

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let mut doc = cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    run(doc.args(arguments).env("RUSTDOCFLAGS", "-Dwarnings"))
}
