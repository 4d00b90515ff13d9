//! Kits are installed once, from scratch, and completely.

use std::{env, process};

use super::*;

/// A folder that is removed when the test ends, also on a panic.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("xtask-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const FAKE: Kit = Kit {
    variable: "FAKE",
    folder: "fake",
    programs: "bin",
    offers: &["server"],
    packages: &["server@1"],
    locked: None,
    installer: |kit, folder| {
        assert!(!folder.join("leftover").exists(), "installed over an old attempt");
        fs::create_dir(folder.join("bin")).unwrap();
        fs::write(folder.join("bin/server"), kit.packages.join(" ")).unwrap();
        Ok(())
    },
    install_tools: &[],
    run_tools: &[],
};

#[test]
fn an_installation_is_done_once() {
    let target = Scratch::new("once");
    let installs_twice = Kit { installer: |_, _| Err("installed again".into()), ..FAKE };
    assert!(!FAKE.is_installed(&target.0));
    FAKE.install(&target.0).unwrap();
    assert!(FAKE.is_installed(&target.0));
    installs_twice.install(&target.0).unwrap();
}

#[test]
fn a_failed_installation_is_redone_from_scratch() {
    let target = Scratch::new("failed");
    let fails = Kit {
        installer: |_, folder| {
            fs::write(folder.join("leftover"), "").unwrap();
            Err("no network".into())
        },
        ..FAKE
    };
    assert_eq!(fails.install(&target.0), Err("no network".into()));
    assert!(!FAKE.is_installed(&target.0));
    FAKE.install(&target.0).unwrap();
    assert!(FAKE.is_installed(&target.0));
}

#[test]
fn other_versions_and_missing_programs_do_not_count_as_installed() {
    let target = Scratch::new("versions");
    FAKE.install(&target.0).unwrap();
    let newer = Kit { packages: &["server@2"], ..FAKE };
    assert!(!newer.is_installed(&target.0));
    newer.install(&target.0).unwrap();
    assert_eq!(fs::read_to_string(newer.programs(&target.0).join("server")).unwrap(), "server@2");
    fs::remove_file(newer.programs(&target.0).join("server")).unwrap();
    assert!(!newer.is_installed(&target.0));
}

#[test]
fn another_lockfile_is_another_installation() {
    let target = Scratch::new("locked");
    FAKE.install(&target.0).unwrap();
    let locked = Some(Locked { manifest: "{}", lockfile: "{}" });
    assert!(!Kit { locked, ..FAKE }.is_installed(&target.0));
}

#[test]
fn the_suite_is_locked_to_the_versions_it_names_and_to_no_registry() {
    let Locked { manifest, lockfile } = SUITE.locked.unwrap();
    for package in SUITE.packages {
        let (name, version) = package.rsplit_once('@').unwrap();
        assert!(manifest.contains(name) && manifest.contains(version), "{package}");
    }
    assert!(!lockfile.contains("\"resolved\""));
}

#[test]
fn installation_without_a_program_is_an_error() {
    let target = Scratch::new("absent");
    let forgets = Kit { installer: |_, _| Ok(()), ..FAKE };
    let error = forgets.install(&target.0).unwrap_err();
    assert_eq!(error, "the installation in fake lacks one of server");
}

#[test]
fn a_kit_that_cannot_be_installed_or_run_names_the_program() {
    let target = Scratch::new("tools");
    assert_eq!(FAKE.missing_tool(&target.0), None);
    let absent = &["no-such-program-anywhere"];
    let uninstallable = Kit { install_tools: absent, ..FAKE };
    assert_eq!(uninstallable.missing_tool(&target.0), Some(absent[0]));
    FAKE.install(&target.0).unwrap();
    assert_eq!(uninstallable.missing_tool(&target.0), None, "it is there already");
    let unusable = Kit { run_tools: absent, ..FAKE };
    assert_eq!(unusable.missing_tool(&target.0), Some(absent[0]));
}

#[test]
fn missing_tool_is_reported_with_a_remedy() {
    let error = require("no-such-program-anywhere").unwrap_err();
    assert!(error.starts_with("`no-such-program-anywhere` does not run here"), "{error}");
    assert!(error.ends_with("`cargo xtask test --rust-only`"), "{error}");
}
