//! `cargo xtask lint`: runs rustfmt and clippy.

use crate::{
    no_arguments,
    process::{cargo, run},
};

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    run(&mut cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-Dwarnings",
    ]))
}
