//! The order of mounts: parents before children.

use std::path::{Path, PathBuf};

use crate::{
    launcher::files,
    rules::{Network, Rules},
};

/// Covered with empty folders.
const EMPTY: &[(&str, &str)] = &[
    ("/dev/shm", "size=256m,mode=1777"),
    ("/run", "size=16m,mode=0755"),
    ("/tmp", "size=1g,mode=1777"),
    ("/var/run", "size=16m,mode=0755"),
    ("/var/tmp", "size=1g,mode=1777"),
];
/// Folders of the root that keep their content: Landlock and permissions decide about it.
const KEPT: &[&str] = &[
    "bin", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "run",
    "sbin", "snap", "sys", "tmp", "usr", "var",
];
/// Folders of `/var` that are covered too.
const VARIABLE: &[&str] =
    &["/var/backups", "/var/lib", "/var/log", "/var/mail", "/var/snap", "/var/spool", "/var/www"];
/// Folders that root owns, and that a server of root could change the permissions of.
const OWNED_BY_ROOT: &[&str] = &["/etc", "/opt", "/usr"];
/// Parts of `/run` that programs of the system are started through.
const RUN: &[&str] = &["/run/current-system", "/run/opengl-driver"];

/// One mount.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An empty folder that forgets its content.
    Empty { options: &'static str },
    /// Another file or folder, or itself.
    Bind { source: PathBuf, is_read_only: bool },
    /// Nothing to see.
    Hidden,
}

impl Step {
    pub(super) fn source(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Bind { source, .. } => Some(source),
            Kind::Empty { .. } | Kind::Hidden => None,
        }
    }

    fn bind(path: &Path, source: &Path, is_read_only: bool) -> Self {
        Self { path: path.into(), kind: Kind::Bind { source: source.into(), is_read_only } }
    }
}

/// The mounts for these rules. `caches` are pairs of a place and what to mount there.
pub(super) fn steps(rules: &Rules, caches: &[(PathBuf, PathBuf)]) -> Vec<Step> {
    let empty = |path: PathBuf, options| Step { path, kind: Kind::Empty { options } };
    let mut steps: Vec<Step> =
        EMPTY.iter().map(|(path, options)| empty(path.into(), *options)).collect();
    // Landlock judges neither connections to sockets nor changes of permissions, so that nothing is left to see.
    let other = roots().into_iter().chain(VARIABLE.iter().map(PathBuf::from));
    steps.extend(other.map(|path| empty(path, "size=1m,mode=0755")));
    let covers: Vec<PathBuf> = steps.iter().map(|step| step.path.clone()).collect();
    if nix::unistd::geteuid().is_root() {
        let owned = OWNED_BY_ROOT.iter().map(Path::new).filter(|path| path.is_dir());
        steps.extend(owned.map(|path| Step::bind(path, path, true)));
    }
    steps.push(if rules.shows_home() {
        Step::bind(&rules.home, &rules.home, true)
    } else {
        Step::bind(&rules.home, &rules.state.join("home"), false)
    });
    let resolvers = files::resolvers().filter(|_| rules.network == Network::Open);
    for path in resolvers.chain(RUN.iter().map(Path::new).filter(|path| path.exists())) {
        steps.push(Step::bind(path, path, true));
    }
    let is_covered = |path: &Path| {
        path.starts_with(&rules.home) || covers.iter().any(|covered| path.starts_with(covered))
    };
    let is_cache = |path: &Path| caches.iter().any(|(cache, _)| cache == path);
    let is_written = |path: &Path| rules.write.iter().any(|written| path.starts_with(written));
    for path in rules.read.iter().chain(&rules.caches).filter(|path| is_covered(path)) {
        if path.exists() && !is_cache(path) && *path != rules.home && !is_written(path) {
            steps.push(Step::bind(path, path, true));
        }
    }
    for (cache, merged) in caches {
        steps.push(Step::bind(cache, merged, false));
    }
    // A folder with protected parts is a mount itself: otherwise it could be moved away and replaced.
    for path in rules.write.iter().filter(|path| path.exists()) {
        let has_protected = rules.protect.iter().any(|protected| protected.starts_with(path));
        if is_covered(path) || has_protected {
            steps.push(Step::bind(path, path, false));
        }
    }
    let mut anchored = Vec::new();
    for path in rules.protect.iter().filter(|path| path.exists()) {
        let is_written_itself =
            |parent: &&Path| rules.write.iter().any(|written| written == parent);
        let parent = path.parent().filter(|parent| !is_written_itself(parent));
        if let Some(parent) = parent.filter(|parent| !anchored.contains(parent)) {
            anchored.push(parent);
            steps.push(Step::bind(parent, parent, false));
        }
        steps.push(Step::bind(path, path, true));
    }
    steps.extend(rules.hide.iter().map(|path| Step { path: path.clone(), kind: Kind::Hidden }));
    // The sort is stable: at the same place a later step wins.
    steps.sort_by_key(|step| step.path.components().count());
    steps
}

/// Folders of the root with content of users and services.
fn roots() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/") else { return Vec::new() };
    let folders = entries.filter_map(Result::ok).filter(|entry| {
        let is_kept = entry.file_name().to_str().is_some_and(|name| KEPT.contains(&name));
        !is_kept && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    folders.map(|entry| entry.path()).collect()
}

/// Places of mounts in `/proc/self/mountinfo`, at a path and below it.
pub(super) fn mounts_at_or_below(table: &str, path: &Path) -> Vec<PathBuf> {
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape);
    let mut found: Vec<PathBuf> = places.filter(|place| place.starts_with(path)).collect();
    found.sort();
    found.dedup();
    found
}

/// Spaces, tabs, newlines and backslashes are written as octal numbers.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &tail[3..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_before_children_and_protected_parts_last() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("p");
        std::fs::create_dir_all(project.join(".git/hooks")).unwrap();
        let rules = Rules {
            write: vec![project.clone()],
            protect: vec![project.join(".git/hooks")],
            hide: vec![project.join("secret")],
            caches: vec![],
            ..crate::rules::tests::rules()
        };
        let steps = steps(&rules, &[("/users/u/.npm".into(), "/merged".into())]);
        let place = |path: &Path| {
            steps
                .iter()
                .position(|step| step.path == path)
                .unwrap_or_else(|| panic!("{path:?} in {steps:?}"))
        };
        assert!(place(Path::new("/tmp")) < place(&project));
        assert!(place(&project) < place(&project.join(".git")));
        assert!(place(&project.join(".git")) < place(&project.join(".git/hooks")));
        assert!(place(Path::new("/users/u")) < place(Path::new("/users/u/.npm")));
        let hooks = &steps[place(&project.join(".git/hooks"))].kind;
        assert_eq!(*hooks, Kind::Bind { source: project.join(".git/hooks"), is_read_only: true });
        assert_eq!(steps[place(&project.join("secret"))].kind, Kind::Hidden);
    }

    #[test]
    fn mounts_below_a_path_are_found_by_their_real_names() {
        let table = "1 0 8:1 / / rw - ext4 a rw\n2 1 8:1 / /a\\040b rw - ext4 a rw\n\
                     3 1 8:1 / /a\\040b/c rw - ext4 a rw\n4 1 8:1 / /a\\040bc rw - ext4 a rw\nodd\n";
        let found = mounts_at_or_below(table, Path::new("/a b"));
        assert_eq!(found, [PathBuf::from("/a b"), PathBuf::from("/a b/c")]);
    }
}
