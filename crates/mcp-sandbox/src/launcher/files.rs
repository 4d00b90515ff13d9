//! Access to files, by Landlock.

use std::{os::fd::AsFd, path::Path};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::paths;
use crate::rules::Rules;

/// The newest version of Landlock that the rules are written for.
const NEWEST: ABI = ABI::V7;
/// The version since which everything below is enforced: Linux 6.12.
const COMPLETE: i32 = 6;

/// Devices that any program may read and write.
const DEVICES: &[&str] = &["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];
/// Folders that are private if the mounts worked.
const PRIVATE: &[&str] = &["/dev/shm", "/tmp", "/var/tmp"];

/// What the file system of this process looks like.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Whether home and temporary folders are private ones.
    pub(super) is_private: bool,
    /// Whether pseudo terminals are private ones.
    pub(super) has_terminals: bool,
}

/// Restricts this process. Returns what an old kernel leaves open.
pub(super) fn restrict(rules: &Rules, view: View) -> Result<Option<String>, String> {
    let status = build(rules, view).map_err(|error| format!("Landlock: {error}"))?;
    let version = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as i32,
        LandlockStatus::NotEnabled => return Err("Landlock is disabled in this kernel".into()),
        LandlockStatus::NotImplemented => {
            return Err("this kernel has no Landlock; it needs Linux 5.13".into());
        }
    };
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("Landlock was not enforced".into());
    }
    let lacks =
        "truncating, devices, signals and abstract sockets are restricted only by newer versions";
    Ok((version < COMPLETE)
        .then(|| format!("Landlock has version {version} of {COMPLETE}: {lacks}")))
}

fn build(rules: &Rules, view: View) -> Result<RestrictionStatus, landlock::RulesetError> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    let reading = AccessFs::from_read(NEWEST);
    let device_nodes = AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev;
    let writing = AccessFs::from_all(NEWEST) & !device_nodes;
    for path in &rules.read {
        ruleset = allow_granted(ruleset, path, rules, reading)?;
    }
    for path in &rules.write {
        ruleset = allow_granted(ruleset, path, rules, writing)?;
    }
    for path in DEVICES {
        ruleset = allow(ruleset, Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    ruleset = allow_dir_only(ruleset, Path::new("/dev"))?;
    if view.has_terminals {
        let terminal =
            AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::ReadDir;
        ruleset = allow(ruleset, Path::new("/dev/pts"), terminal)?;
        ruleset = allow(ruleset, Path::new("/dev/ptmx"), terminal)?;
    }
    if view.is_private {
        for path in PRIVATE {
            ruleset = allow(ruleset, Path::new(path), writing)?;
        }
        ruleset = allow(ruleset, Path::new("/run"), reading)?;
        if !rules.shows_home() {
            ruleset = allow(ruleset, &rules.home, writing)?;
        }
    } else {
        ruleset = allow(ruleset, &rules.state.join("home"), writing)?;
        for path in resolvers() {
            ruleset = allow(ruleset, path, reading)?;
        }
    }
    for path in &rules.caches {
        let access = if view.is_private { writing } else { reading };
        ruleset = allow_granted(ruleset, path, rules, access)?;
    }
    ruleset.restrict_self()
}

/// Allows the listing of a folder. The right also covers folders below, which have nothing to hide.
fn allow_dir_only(
    ruleset: RulesetCreated,
    path: &Path,
) -> Result<RulesetCreated, landlock::RulesetError> {
    allow(ruleset, path, AccessFs::ReadDir.into())
}

/// Adds a rule for a path of the rules. They hold real paths: a link was put there since, and grants nothing.
fn allow_granted(
    ruleset: RulesetCreated,
    path: &Path,
    rules: &Rules,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    if !rules.names(path) {
        return allow(ruleset, path, access);
    }
    match paths::open(path) {
        Ok(fd) => allow_opened(ruleset, fd, access),
        Err(_) => Ok(ruleset),
    }
}

/// Adds a rule for a path, if it exists. A missing path needs none: it is refused.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    match PathFd::new(path) {
        Ok(fd) => allow_opened(ruleset, fd, access),
        Err(_) => Ok(ruleset),
    }
}

fn allow_opened(
    ruleset: RulesetCreated,
    fd: impl AsFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let is_folder = nix::sys::stat::fstat(fd.as_fd())
        .is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFDIR);
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
    ruleset.add_rule(PathBeneath::new(fd, access))
}

/// Parts of `/run` that name resolution reads.
pub(super) fn resolvers() -> impl Iterator<Item = &'static Path> {
    let all = [
        "/run/systemd/resolve",
        "/run/resolvconf",
        "/run/NetworkManager/resolv.conf",
        "/run/connman/resolv.conf",
    ];
    all.into_iter().map(Path::new).filter(|path| path.exists())
}
