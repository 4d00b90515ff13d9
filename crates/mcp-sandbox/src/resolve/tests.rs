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
fn shims_bring_their_version_manager() {
    let mut machine = machine();
    machine.entry.program = machine.root.join("managed/shims/python3");
    fs::create_dir_all(machine.root.join("managed/shims")).unwrap();
    fs::write(&machine.entry.program, "").unwrap();
    let Resolved { rules, .. } = resolve(&machine, Level::Standard);
    assert!(rules.read.contains(&machine.root.join("managed")), "{:?}", rules.read);
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

/// What a server may have done to its project between two starts.
fn plant(machine: &Machine, link: &str, target: &str) {
    symlink(machine.root.join(target), machine.root.join(link)).unwrap();
}

#[test]
fn planted_link_in_place_of_a_missing_path_of_the_profile_grants_nothing() {
    for access in ["write", "read"] {
        let machine = machine();
        let profile = Profile::from_json(&serde_json::json!({ access: ["out"] })).unwrap();
        let before = profile.resolve(&machine.entry).unwrap();
        assert!(before.notes[0].contains("does not exist"), "{:?}", before.notes);
        plant(&machine, "home/proj/out", "home/.ssh");
        let Resolved { rules, notes } = profile.resolve(&machine.entry).unwrap();
        let key = machine.root.join("home/.ssh");
        let granted: Vec<_> = rules.readable().chain(rules.writable()).collect();
        assert!(!granted.contains(&key.as_path()), "{granted:?}");
        assert!(notes[0].contains("is a link in a folder that the server may write"), "{notes:?}");
    }
}

#[test]
fn planted_link_in_place_of_an_argument_variable_or_folder_grants_nothing() {
    let mut machine = machine();
    let root = machine.root.clone();
    for path in ["home/Documents/deep", "home/work/bin"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for path in ["home/Documents/diary", "home/work/bin/tool", "home/work/package.json"] {
        fs::write(root.join(path), "").unwrap();
    }
    plant(&machine, "home/proj/data", "home/Documents");
    plant(&machine, "home/proj/file", "home/Documents/diary");
    plant(&machine, "home/proj/run.py", "home/work/bin/tool");
    machine.entry.program = root.join("home/proj/run.py");
    machine.entry.args = vec![
        "./data".into(),
        "--root=./data/deep".into(),
        root.join("home/proj/file").into(),
        "run.py".into(),
    ];
    machine.entry.variables.insert("FILE".into(), root.join("home/proj/file").into());
    machine.entry.variables.insert("PYTHONPATH".into(), root.join("home/proj/data").into());
    machine.entry.variables.insert("UV_CACHE_DIR".into(), root.join("home/proj/data").into());
    machine.entry.cwd = Some(root.join("home/proj/data"));
    for level in [Level::Standard, Level::Strict] {
        let Resolved { rules, notes } = resolve(&machine, level);
        let granted: Vec<_> = rules.readable().chain(rules.writable()).collect();
        for path in ["home/Documents", "home/work"] {
            let path = root.join(path);
            assert!(!granted.iter().any(|granted| granted.starts_with(&path)), "{granted:?}");
        }
        assert!(notes.iter().any(|note| note.contains("is a link")), "{notes:?}");
    }
}

#[test]
fn links_of_a_project_lead_to_what_the_server_has_anyway() {
    let mut machine = machine();
    let root = machine.root.clone();
    // A virtual environment: its interpreter is a link to that of a version manager.
    fs::create_dir_all(root.join("home/proj/.venv/bin")).unwrap();
    fs::write(root.join("home/.nvm/versions/bin/python"), "").unwrap();
    plant(&machine, "home/proj/.venv/bin/python", "home/.nvm/versions/bin/python");
    plant(&machine, "home/proj/same", "home/proj/server.py");
    machine.entry.program = root.join("home/proj/.venv/bin/python");
    machine.entry.args = vec!["./same".into()];
    let Resolved { rules, notes } = resolve(&machine, Level::Standard);
    assert!(rules.read.contains(&root.join("home/.nvm")));
    assert!(notes.is_empty(), "{notes:?}");
    // The user may name the target, and then the link is as good.
    fs::create_dir_all(root.join("home/shared")).unwrap();
    plant(&machine, "home/proj/shared", "home/shared");
    machine.entry.args = vec!["./shared".into()];
    let mut profile = Profile::new(Level::Standard);
    assert_eq!(profile.resolve(&machine.entry).unwrap().notes.len(), 1);
    profile.read = vec!["~/shared".into()];
    assert!(profile.resolve(&machine.entry).unwrap().notes.is_empty());
}

#[test]
fn links_of_the_user_are_followed_and_do_not_lift_secrets() {
    let machine = machine();
    let root = &machine.root;
    fs::create_dir(root.join("data")).unwrap();
    plant(&machine, "home/reports", "data");
    plant(&machine, "home/keys", "home/.ssh");
    let mut profile = Profile::new(Level::Standard);
    profile.write = vec!["~/reports".into()];
    profile.read = vec!["~/keys".into(), "~/keys/id".into()];
    let Resolved { rules, notes } = profile.resolve(&machine.entry).unwrap();
    assert!(rules.write.contains(&root.join("data")));
    assert!(rules.links.contains(&(root.join("home/reports"), root.join("data"))));
    assert!(!rules.read.iter().any(|path| path.starts_with(root.join("home/.ssh"))));
    assert!(notes[0].contains("leads to"), "{notes:?}");
    assert_eq!(notes.len(), 2, "{notes:?}");
    // A link in a folder that the server writes may be its own.
    plant(&machine, "data/in", "home/Downloads");
    profile.read = vec!["~/reports/in".into()];
    let Resolved { rules, .. } = profile.resolve(&machine.entry).unwrap();
    assert!(!rules.read.contains(&root.join("home/Downloads")));
}

#[test]
fn links_keep_their_real_places() {
    let mut machine = machine();
    let root = machine.root.clone();
    fs::write(root.join("tools/f"), "").unwrap();
    plant(&machine, "home/lnk", "tools/bin");
    machine.entry.program = "/usr/bin/env".into();
    machine.entry.args = vec![root.join("home/lnk/../f").into()];
    let Resolved { rules, .. } = resolve(&machine, Level::Standard);
    assert!(rules.read.contains(&root.join("tools/f")));
    assert_eq!(rules.links, [(root.join("home/lnk"), root.join("tools/bin"))]);
}

#[test]
fn tokens_in_caches_and_settings_are_not_granted() {
    let machine = machine();
    let root = &machine.root;
    for path in [".cache/huggingface/hub", ".local/share/uv/credentials", ".local/share/uv/python"]
    {
        fs::create_dir_all(root.join("home").join(path)).unwrap();
    }
    for path in [".cache/huggingface/token", ".local/share/uv/credentials/a", ".gitconfig"] {
        fs::write(root.join("home").join(path), "[user]\nname = A\n").unwrap();
    }
    let Resolved { rules, notes } = resolve(&machine, Level::Standard);
    let readable: Vec<_> = rules.readable().collect();
    for (path, is) in [
        (".cache/huggingface/hub", true),
        (".cache/huggingface/token", false),
        (".local/share/uv/python", true),
        (".local/share/uv/credentials/a", false),
        (".gitconfig", true),
    ] {
        let path = root.join("home").join(path);
        let is_granted = readable.iter().any(|granted| path.starts_with(granted));
        assert_eq!(is_granted, is, "{}", path.display());
    }
    assert!(notes.is_empty(), "{notes:?}");
    fs::write(root.join("home/.gitconfig"), "[url \"https://t0k@github.com/\"]\n").unwrap();
    let Resolved { rules, notes } = resolve(&machine, Level::Standard);
    assert!(!rules.read.contains(&root.join("home/.gitconfig")));
    assert!(notes[0].contains("it holds credentials"), "{notes:?}");
}
