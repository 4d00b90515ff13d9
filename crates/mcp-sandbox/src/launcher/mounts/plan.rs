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
    let covers = covers();
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
    // A folder with guarded parts is a mount itself, and so is each folder on the way to one: otherwise it could be
    // moved away and replaced, for this start or for the next one.
    let guarded: Vec<&Path> = rules
        .protect
        .iter()
        .chain(&rules.hide)
        .map(PathBuf::as_path)
        .filter(|path| path.exists())
        .collect();
    for path in rules.write.iter().filter(|path| path.exists()) {
        let is_guarded = guarded.iter().any(|guarded| guarded.starts_with(path));
        if is_covered(path) || is_guarded {
            steps.push(Step::bind(path, path, false));
        }
    }
    let mut anchored: Vec<&Path> = Vec::new();
    for path in &guarded {
        let above = path.ancestors().skip(1).filter(|folder| is_written(folder));
        for folder in above.filter(|folder| !rules.write.iter().any(|written| written == folder)) {
            if !anchored.contains(&folder) {
                anchored.push(folder);
                steps.push(Step::bind(folder, folder, false));
            }
        }
    }
    let protected = rules.protect.iter().filter(|path| path.exists());
    steps.extend(protected.map(|path| Step::bind(path, path, true)));
    steps.extend(rules.hide.iter().map(|path| Step { path: path.clone(), kind: Kind::Hidden }));
    // The sort is stable: at the same place a later step wins.
    steps.sort_by_key(|step| step.path.components().count());
    steps
}

/// The links to create: those in folders that were covered. Others are there already, and a link is never created in a
/// folder of the user.
pub(super) fn links(rules: &Rules) -> impl Iterator<Item = (&Path, &Path)> {
    let covers = covers();
    let is_covered = move |path: &Path| {
        let is_private = path.starts_with(&rules.home) && !rules.shows_home();
        is_private || covers.iter().any(|covered| path.starts_with(covered))
    };
    let is_created =
        move |link: &Path| link.parent().is_some_and(is_covered.clone()) && !rules.names(link);
    let links = rules.links.iter().filter(move |(link, _)| is_created(link));
    links.map(|(link, target)| (link.as_path(), target.as_path()))
}

/// The folders that are covered, without the home.
fn covers() -> Vec<PathBuf> {
    let named = EMPTY.iter().map(|(path, _)| path).chain(VARIABLE).map(PathBuf::from);
    named.chain(roots()).collect()
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
        assert!(steps.iter().all(|step| step.path != project.join(".git/hooks/x")));
        let hooks = &steps[place(&project.join(".git/hooks"))].kind;
        assert_eq!(*hooks, Kind::Bind { source: project.join(".git/hooks"), is_read_only: true });
        assert_eq!(steps[place(&project.join("secret"))].kind, Kind::Hidden);
    }

    #[test]
    fn folders_above_guarded_parts_are_mounts_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("c");
        std::fs::create_dir_all(config.join("git/deep")).unwrap();
        std::fs::write(config.join("git/deep/credentials"), "").unwrap();
        let rules = Rules {
            write: vec![config.clone()],
            protect: vec![],
            hide: vec![config.join("git/deep/credentials")],
            caches: vec![],
            ..crate::rules::tests::rules()
        };
        let steps = steps(&rules, &[]);
        for path in [config.clone(), config.join("git"), config.join("git/deep")] {
            let kind = Kind::Bind { source: path.clone(), is_read_only: false };
            assert!(steps.contains(&Step { path, kind }), "{steps:?}");
        }
    }

    #[test]
    fn links_are_created_in_covered_folders_only() {
        let rules = Rules {
            links: ["/users/u/.nvm", "/users/u/p/link", "/opt/link", "/tmp/link", "/etc/link"]
                .map(|link| (link.into(), "/data".into()))
                .to_vec(),
            write: vec!["/users/u/p".into()],
            ..crate::rules::tests::rules()
        };
        let created: Vec<_> = links(&rules).map(|(link, _)| link).collect();
        assert_eq!(created, [Path::new("/users/u/.nvm"), Path::new("/tmp/link")]);
    }

    #[test]
    fn mounts_below_a_path_are_found_by_their_real_names() {
        let table = "1 0 8:1 / / rw - ext4 a rw\n2 1 8:1 / /a\\040b rw - ext4 a rw\n\
                     3 1 8:1 / /a\\040b/c rw - ext4 a rw\n4 1 8:1 / /a\\040bc rw - ext4 a rw\nodd\n";
        let found = mounts_at_or_below(table, Path::new("/a b"));
        assert_eq!(found, [PathBuf::from("/a b"), PathBuf::from("/a b/c")]);
    }
}
