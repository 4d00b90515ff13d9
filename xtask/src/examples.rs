//! `cargo xtask examples`: builds and runs the programs of `examples/`, including their tests, and the hosts of
//! `tests/neighbours/`.
//!
//! Both are separate workspaces with their own lock files, built into the target directory of this one. Examples are
//! built together. Neighbours are built one by one, because they test the feature unification of each host.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    no_arguments,
    process::{cargo, run},
    workspace::Workspace,
};

const EXAMPLES: &str = "examples";
const NEIGHBOURS: &str = "tests/neighbours";

/// Time limit of a program.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    let workspace = Workspace::load()?;
    let (root, target) = (&workspace.root, &workspace.target);
    for folder in [EXAMPLES, NEIGHBOURS] {
        run(cargo(["fmt", "--check"]).current_dir(root.join(folder)))?;
    }
    let examples = root.join(EXAMPLES);
    run(build(&examples, target).arg("--workspace"))?;
    for name in programs(&examples)? {
        run_program(target, &format!("example-{name}"))?;
    }
    run(cargo(["test", "--locked", "--target-dir"])
        .arg(target)
        .args(["--package", "example-testing", "--package", "example-rig-adapter"])
        .current_dir(&examples))?;
    let neighbours = root.join(NEIGHBOURS);
    for name in programs(&neighbours)? {
        let package = format!("neighbour-{name}");
        run(build(&neighbours, target).args(["--package", &package]))?;
        run_program(target, &package)?;
    }
    Ok(())
}

fn build(workspace: &Path, target: &Path) -> Command {
    let mut build = cargo(["build", "--locked", "--target-dir"]);
    build.arg(target).current_dir(workspace);
    build
}

/// The folders with a program, sorted by name.
fn programs(workspace: &Path) -> Result<Vec<String>, String> {
    let unread = |error| format!("could not read {}: {error}", workspace.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(workspace).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        if entry.path().join("src/main.rs").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    if names.is_empty() {
        return Err(format!("no programs found in {}", workspace.display()));
    }
    Ok(names)
}

/// Runs a built program without input, and waits until it exits.
fn run_program(target: &Path, name: &str) -> Result<(), String> {
    eprintln!("$ {name}");
    let program = target.join("debug").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let mut command = Command::new(program);
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| format!("could not start `{name}`: {error}"))?;
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`{name}` ended with {status}")),
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("could not wait for `{name}`: {error}")),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("`{name}` did not end within {} seconds", LIMIT.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_workspaces_have_programs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let examples = programs(&root.join(EXAMPLES)).unwrap();
        assert!(examples.iter().any(|name| name == "agent"), "{examples:?}");
        assert_eq!(programs(&root.join(NEIGHBOURS)).unwrap().len(), 7);
    }
}
