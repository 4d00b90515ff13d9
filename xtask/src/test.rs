//! `cargo xtask test`: every test, the ones against real servers included.

use std::{path::Path, process::Command, thread};

use crate::{
    process::{cargo, run},
    refservers::{self, TEST_KITS},
    workspace::Workspace,
};

/// Leaves the reference servers out: nothing is installed, and the tests that want them skip.
const RUST_ONLY: &str = "--rust-only";

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let (ours, cargos): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| *argument == RUST_ONLY);
    let mut test = cargo(cargo_test(&cargos));
    for kit in TEST_KITS {
        test.env_remove(kit.variable);
    }
    if ours.is_empty() {
        let target = Workspace::load()?.target;
        install(&target, cargos.is_empty())?;
        for kit in TEST_KITS {
            test.env(kit.variable, kit.programs(&target));
        }
    }
    run(&mut test)
}

/// Installs what is missing, and meanwhile compiles the tests when `all` of them are wanted.
fn install(target: &Path, all: bool) -> Result<(), String> {
    let missing = refservers::missing(&TEST_KITS.iter().collect::<Vec<_>>(), target)?;
    if missing.is_empty() {
        return Ok(());
    }
    thread::scope(|scope| {
        let installs: Vec<_> =
            missing.iter().map(|kit| scope.spawn(|| kit.install(target))).collect();
        let compiled = if all { run(&mut compile_tests()) } else { Ok(()) };
        for install in installs {
            install.join().map_err(|_| "an installation panicked".to_owned())??;
        }
        compiled
    })
}

fn compile_tests() -> Command {
    let mut command = cargo(cargo_test(&[]));
    command.arg("--no-run");
    command
}

/// Everything by default. A caller who picks packages or features means only those.
fn cargo_test<'a>(arguments: &[&'a String]) -> Vec<&'a str> {
    let before_dashes = || arguments.iter().take_while(|argument| **argument != "--");
    let picks = |flags: &[&str]| {
        before_dashes().any(|argument| {
            let name = argument.split_once('=').map_or(argument.as_str(), |(name, _)| name);
            flags.contains(&name)
        })
    };
    let mut words = vec!["test"];
    if !picks(&["-p", "--package", "--manifest-path"]) {
        words.push("--workspace");
    }
    if !picks(&["-F", "--features", "--no-default-features"]) {
        words.push("--all-features");
    }
    words.extend(arguments.iter().map(|argument| argument.as_str()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(arguments: &str) -> String {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        cargo_test(&arguments.iter().collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn everything_is_tested_unless_told_otherwise() {
        assert_eq!(words(""), "test --workspace --all-features");
        assert_eq!(words("framing"), "test --workspace --all-features framing");
    }

    #[test]
    fn a_picked_package_or_feature_replaces_the_default() {
        assert_eq!(words("-p xtask"), "test --all-features -p xtask");
        assert_eq!(words("--package=xtask"), "test --all-features --package=xtask");
        assert_eq!(words("-p a --features http"), "test -p a --features http");
    }

    #[test]
    fn flags_of_the_test_binary_are_not_cargos() {
        assert_eq!(words("-- -p"), "test --workspace --all-features -- -p");
    }
}
