//! Profiles resolved in a home made for the test.

use std::{fs, os::unix::fs::symlink};

use super::*;

struct Machine {
    _folder: tempfile::TempDir,
    root: PathBuf,
    entry: Entry,
}

fn machine() -> Machine {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for path in [
        "home/.ssh",
        "home/.npm",
        "home/.nvm/versions/bin",
        "home/proj/.git/hooks",
        "home/proj/.vscode",
        "tools/bin",
        "home/Downloads",
    ] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for path in [
        "home/.ssh/id",
        "home/.npmrc",
        "home/proj/server.py",
        "home/Downloads/x.py",
        "tools/bin/run",
        "tools/data.txt",
    ] {
        fs::write(root.join(path), "").unwrap();
    }
    let mut entry =
        Entry::new(root.join("tools/bin/run"), root.join("home"), root.join("home/.state/s"));
    entry.project = Some(root.join("home/proj"));
    Machine { _folder: folder, root, entry }
}

fn resolve(machine: &Machine, level: Level) -> Resolved {
    Profile::new(level).resolve(&machine.entry).unwrap()
}

#[test]
fn standard_writes_the_project_and_strict_reads_it() {
    let machine = machine();
    let project = machine.root.join("home/proj");
    let Resolved { rules, .. } = resolve(&machine, Level::Standard);
    assert_eq!(rules.write, std::slice::from_ref(&project));
    assert_eq!(rules.network, Network::Open);
    assert!(rules.protect.contains(&project.join(".git/hooks")), "{:?}", rules.protect);
    assert!(rules.protect.contains(&project.join(".vscode")), "{:?}", rules.protect);
    let Resolved { rules, .. } = resolve(&machine, Level::Strict);
    assert!(rules.write.is_empty(), "{:?}", rules.write);
    assert!(rules.read.contains(&project));
    assert_eq!(rules.network, Network::Hosts(Vec::new()));
}

#[test]
fn programs_bring_their_installation_and_tools_of_the_home() {
    let machine = machine();
    let Resolved { rules, .. } = resolve(&machine, Level::Standard);
    assert!(rules.read.contains(&machine.root.join("tools")), "{:?}", rules.read);
    assert!(rules.read.contains(&machine.root.join("home/.nvm")));
    assert_eq!(rules.caches, [machine.root.join("home/.npm")]);
    let home = machine.root.join("home");
    assert!(!rules.readable().chain(rules.writable()).any(|path| home.starts_with(path)));
}

#[test]
fn links_to_a_program_are_followed_and_kept() {
    let mut machine = machine();
    let link = machine.root.join("home/.nvm/versions/bin/run");
    symlink(machine.root.join("tools/bin/run"), &link).unwrap();
    machine.entry.program = link.clone();
    let Resolved { rules, .. } = resolve(&machine, Level::Standard);
    assert!(rules.read.contains(&machine.root.join("tools")));
    assert!(rules.links.contains(&(link, machine.root.join("tools/bin/run"))), "{:?}", rules.links);
}

#[test]
fn arguments_grant_what_they_name_but_neither_secrets_nor_the_home() {
    let mut machine = machine();
    let root = machine.root.clone();
    let path = |name: &str| OsString::from(root.join(name));
    let mut option = OsString::from("--file=");
    option.push(path("tools/data.txt"));
    machine.entry.args = vec![
        path("home/.ssh/id"),
        path("home"),
        "/".into(),
        "/run".into(),
        option,
        path("home/.npmrc"),
    ];
    machine.entry.program = "/usr/bin/env".into();
    let Resolved { rules, notes } = resolve(&machine, Level::Standard);
    assert!(rules.read.contains(&root.join("tools/data.txt")));
    for name in ["home/.ssh/id", "home/.ssh", "home", "home/.npmrc"] {
        assert!(!rules.read.contains(&root.join(name)), "{name}");
    }
    assert!(!rules.read.contains(&"/".into()) && !rules.read.contains(&"/run".into()));
    assert_eq!(notes.len(), 2, "{notes:?}");
}

#[test]
fn scripts_in_personal_folders_are_granted_alone() {
    let mut machine = machine();
    let script = machine.root.join("home/Downloads/x.py");
    machine.entry.program = "/usr/bin/python3".into();
    machine.entry.args = vec![script.clone().into()];
    let Resolved { rules, .. } = resolve(&machine, Level::Standard);
    assert!(rules.read.contains(&script));
    assert!(!rules.read.contains(&machine.root.join("home/Downloads")));
}

#[test]
fn secrets_in_a_granted_folder_are_hidden_unless_named() {
    let machine = machine();
    let mut profile = Profile::new(Level::Standard);
    profile.read = vec!["~".into()];
    let Resolved { rules, .. } = profile.resolve(&machine.entry).unwrap();
    let secret = machine.root.join("home/.ssh");
    assert!(rules.hide.contains(&secret), "{:?}", rules.hide);
    profile.read.push("~/.ssh".into());
    let Resolved { rules, .. } = profile.resolve(&machine.entry).unwrap();
    assert!(!rules.hide.contains(&secret));
    assert!(rules.hide.contains(&machine.root.join("home/.npmrc")));
}

#[test]
fn profiles_cannot_write_the_home_or_read_what_contains_it() {
    let machine = machine();
    for (read, write) in [(None, Some("~")), (None, Some("/")), (Some("/"), None)] {
        let mut profile = Profile::new(Level::Strict);
        profile.read.extend(read.map(str::to_owned));
        profile.write.extend(write.map(str::to_owned));
        let error = profile.resolve(&machine.entry).unwrap_err().to_string();
        assert!(error.contains("contains the home folder"), "{error}");
    }
}

#[test]
fn the_home_is_never_the_project() {
    let mut machine = machine();
    machine.entry.project = Some(machine.root.join("home"));
    let Resolved { rules, notes } = resolve(&machine, Level::Standard);
    assert!(rules.write.is_empty(), "{:?}", rules.write);
    assert!(notes[0].contains("is not granted"), "{notes:?}");
}

#[test]
fn off_and_relative_paths_have_no_rules() {
    let mut machine = machine();
    assert!(Profile::new(Level::Off).resolve(&machine.entry).is_err());
    machine.entry.state = "state".into();
    assert!(Profile::new(Level::Strict).resolve(&machine.entry).is_err());
}
