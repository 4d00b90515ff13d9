//! `cargo xtask deny`: what we let into the tree of dependencies, as `deny.toml` says.

use crate::process::{capture, cargo, run};

/// The checks whose answer depends on this tree alone. Advisories are fetched and change overnight,
/// so they are for a person who asks and for a scheduled run, not for a pull request.
pub(crate) const SAME_EVERY_DAY: [&str; 3] = ["bans", "licenses", "sources"];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if !is_installed() {
        return Err(
            "cargo-deny is not installed; `cargo install --locked cargo-deny` does it".into()
        );
    }
    run(cargo(["deny", "check"]).args(arguments))
}

pub(crate) fn is_installed() -> bool {
    // Asked by listing: `cargo deny --version` would complain on our stderr when there is none.
    capture(&mut cargo(["--list"]))
        .is_ok_and(|list| list.lines().any(|line| line.split_whitespace().next() == Some("deny")))
}
