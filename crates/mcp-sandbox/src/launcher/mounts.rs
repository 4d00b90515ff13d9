//! A private view of the file system: an own home, empty temporary folders, no sockets of the session.
//!
//! Everything that stays visible is opened first, as a path only. Then folders are covered, from the root downwards,
//! and what stays visible is mounted again at its place.

mod plan;

use std::{
    fs::{self, File},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::OpenOptionsExt as _,
    },
    path::{Path, PathBuf},
};

use nix::{
    mount::{MsFlags, mount},
    sys::statvfs::{FsFlags, statvfs},
};

use self::plan::{Kind, Step};
use super::paths;
use crate::rules::Rules;

/// Names of overlays of a server's caches: one for each process of it that runs at the same time.
const SLOTS: usize = 8;

/// What the mounts left behind.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Held while the process lives: no other process uses the same overlay.
    pub(super) lock: Option<File>,
    pub(super) has_terminals: bool,
    /// Parts that are missing: the server has more than it should.
    pub(super) partly: Vec<String>,
    /// Parts that the server cannot use: it has less.
    pub(super) remarks: Vec<String>,
}

/// Keeps the mounts of this process from the system. The system may refuse it; nothing has changed then.
pub(super) fn separate() -> Result<(), String> {
    attach(None, Path::new("/"), None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None)
}

/// Builds the view in the mount namespace of this process. After an error it is incomplete: no server may see it.
pub(super) fn build(rules: &Rules, has_processes: bool) -> Result<Built, String> {
    let mut built = Built::default();
    let caches = caches(rules, &mut built);
    let steps = plan::steps(rules, &caches);
    let links = plan::links(rules);
    let opened: Vec<(Step, Option<File>)> = steps
        .into_iter()
        .map(|step| {
            let file = step.source().map(|source| open_path(source, rules)).transpose();
            file.map(|file| (step, file))
        })
        .collect::<Result<_, _>>()?;
    for (step, file) in &opened {
        apply(step, file.as_ref())?;
    }
    for (link, target) in links {
        if let (Some(folder), Some(name)) = (link.parent(), link.file_name()) {
            // In the private home the link may be there already, or something else of the server.
            let _ = paths::folder(folder).and_then(|folder| paths::link(&folder, name, target));
        }
    }
    if let Err(problem) = terminals() {
        built.partly.push(problem);
    } else {
        built.has_terminals = true;
    }
    if has_processes {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        if let Err(problem) = attach(Some("proc"), Path::new("/proc"), Some("proc"), flags, None) {
            built.partly.push(problem);
        }
    }
    Ok(built)
}

fn apply(step: &Step, file: Option<&File>) -> Result<(), String> {
    let path = &step.path;
    match (&step.kind, file) {
        (Kind::Empty { options }, _) => {
            if is_folder(path) {
                let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
                attach(Some("tmpfs"), path, Some("tmpfs"), flags, Some(options))?;
            }
            Ok(())
        }
        (Kind::Hidden, _) => hide(path),
        (Kind::Bind { is_read_only, .. }, Some(file)) => {
            let place = place_for(path, file)?;
            let [source, target] = [file.as_raw_fd(), place.as_raw_fd()].map(own_descriptor);
            attach(Some(&source), &target, None, MsFlags::MS_BIND | MsFlags::MS_REC, None)
                .map_err(|problem| format!("{}: {problem}", path.display()))?;
            if *is_read_only { read_only(path) } else { Ok(()) }
        }
        (Kind::Bind { .. }, None) => Ok(()),
    }
}

/// Opens the place of a mount, and creates it if something above was covered.
fn place_for(path: &Path, source: &File) -> Result<OwnedFd, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    match paths::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        opened => return opened.map_err(failed),
    }
    if source.metadata().map_err(failed)?.is_dir() {
        return paths::folder(path).map_err(failed);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(format!("{}: is not a file", path.display()));
    };
    paths::folder(folder)
        .and_then(|folder| paths::file(&folder, name))
        .and_then(|()| paths::open(path))
        .map_err(failed)
}

fn own_descriptor(number: i32) -> String {
    format!("/proc/self/fd/{number}")
}

fn bind(source: &str, path: &Path) -> Result<(), String> {
    attach(Some(source), path, None, MsFlags::MS_BIND | MsFlags::MS_REC, None)
}

/// Makes a mount and all mounts below it read-only.
fn read_only(path: &Path) -> Result<(), String> {
    let table = fs::read_to_string("/proc/self/mountinfo").map_err(|error| error.to_string())?;
    let places = plan::mounts_at_or_below(&table, path);
    if places.first().is_none_or(|place| place != path) {
        return Err(format!("{}: is not where it was mounted", path.display()));
    }
    for place in places {
        let flags =
            MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | locked_flags(&place);
        attach(None, &place, None, flags, None)?;
    }
    Ok(())
}

/// The flags of a mount that this namespace must not take away.
fn locked_flags(path: &Path) -> MsFlags {
    let Ok(found) = statvfs(path) else { return MsFlags::empty() };
    [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ]
    .into_iter()
    .filter(|(flag, _)| found.flags().contains(*flag))
    .fold(MsFlags::empty(), |all, (_, flag)| all | flag)
}

fn hide(path: &Path) -> Result<(), String> {
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        // Hidden by its real path.
        Ok(found) if found.is_symlink() => Ok(()),
        Ok(found) if found.is_dir() => {
            let flags =
                MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
            attach(Some("tmpfs"), path, Some("tmpfs"), flags, Some("size=4k,mode=0555"))
        }
        Ok(_) => bind("/dev/null", path),
    }
}

/// Pseudo terminals of this sandbox alone. Those of the user would accept text from the server.
fn terminals() -> Result<(), String> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = "newinstance,ptmxmode=0666,mode=0620";
    attach(Some("devpts"), Path::new("/dev/pts"), Some("devpts"), flags, Some(options))?;
    bind("/dev/pts/ptmx", Path::new("/dev/ptmx"))
}

/// Puts an overlay on each cache, so that what the server writes is kept in its state folder.
/// Returns the caches and what to mount at their places.
fn caches(rules: &Rules, built: &mut Built) -> Vec<(PathBuf, PathBuf)> {
    let slots = (0..SLOTS).map(|slot| rules.state.join(format!("caches/{slot}")));
    let Some((folder, lock)) =
        slots.into_iter().find_map(|folder| Some((folder.clone(), lock(&folder)?)))
    else {
        built.remarks.push(
            "this server runs too often at the same time: it cannot write package caches".into(),
        );
        return Vec::new();
    };
    built.lock = Some(lock);
    let mut ready = Vec::new();
    for (number, cache) in rules.caches.iter().enumerate() {
        match overlay(cache, &folder, number) {
            Ok(merged) => ready.push((cache.clone(), merged)),
            // The cache is read-only then.
            Err(problem) => built.remarks.push(problem),
        }
    }
    ready
}

fn lock(folder: &Path) -> Option<File> {
    fs::create_dir_all(folder).ok()?;
    let file = File::create(folder.join("lock")).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

fn overlay(cache: &Path, folder: &Path, number: usize) -> Result<PathBuf, String> {
    // Named by the cache, because the list of caches changes between starts.
    let name: String = cache.to_string_lossy().replace('%', "%25").replace('/', "%2F");
    let name = if name.len() < 200 { name } else { format!("long-{number}") };
    let folder = folder.join(name);
    let [upper, work, merged] = ["upper", "work", "merged"].map(|part| folder.join(part));
    for part in [&upper, &work, &merged] {
        fs::create_dir_all(part).map_err(|error| format!("{}: {error}", part.display()))?;
    }
    // In the options these characters have a meaning.
    let is_plain = |path: &Path| !path.to_string_lossy().contains([':', ',', '\\']);
    if ![cache, &upper].into_iter().all(is_plain) {
        return Err(format!("{}: an overlay cannot be mounted on this name", cache.display()));
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        cache.display(),
        upper.display(),
        work.display()
    );
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    attach(Some("overlay"), &merged, Some("overlay"), flags, Some(&options))?;
    Ok(merged)
}

/// Opens what a mount shows. What the rules name is what the host found, and not a link that was put there since.
fn open_path(path: &Path, rules: &Rules) -> Result<File, String> {
    let failed = |error| format!("{}: {error}", path.display());
    if rules.names(path) {
        return paths::open(path).map(File::from).map_err(failed);
    }
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC);
    options.open(path).map_err(failed)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn attach(
    source: Option<&str>,
    target: impl AsRef<Path>,
    kind: Option<&str>,
    flags: MsFlags,
    options: Option<&str>,
) -> Result<(), String> {
    let target = target.as_ref();
    mount(source, target, kind, flags, options).map_err(|error| {
        let kind = kind.unwrap_or("bind");
        format!("mounting {kind} on {}: {}", target.display(), error.desc())
    })
}
