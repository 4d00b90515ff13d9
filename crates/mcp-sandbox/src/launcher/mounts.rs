//! A private view of the file system: an own home, empty temporary folders, no sockets of the session.
//!
//! Everything that stays visible is opened first, as a path only. Then folders are covered, from the root downwards,
//! and what stays visible is mounted again at its place.

mod plan;

use std::{
    fs::{self, File},
    io,
    os::fd::AsRawFd as _,
    os::unix::fs::{OpenOptionsExt as _, symlink},
    path::{Path, PathBuf},
};

use nix::{
    mount::{MsFlags, mount},
    sys::statvfs::{FsFlags, statvfs},
};

use self::plan::{Kind, Step};
use crate::rules::Rules;

/// Names of overlays of a server's caches: one for each process of it that runs at the same time.
const SLOTS: usize = 8;

/// What the mounts left behind.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Held while the process lives: no other process uses the same overlay.
    pub(super) lock: Option<File>,
    pub(super) has_terminals: bool,
    /// Parts that failed and are worth a remark.
    pub(super) partly: Vec<String>,
}

/// Builds the view in the mount namespace of this process.
pub(super) fn build(rules: &Rules, has_processes: bool) -> Result<Built, String> {
    let mut built = Built::default();
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    attach(None, Path::new("/"), None, private, None)?;
    let caches = caches(rules, &mut built);
    let steps = plan::steps(rules, &caches);
    let opened: Vec<(Step, Option<File>)> = steps
        .into_iter()
        .map(|step| {
            let file = step.source().map(open_path).transpose();
            file.map(|file| (step, file))
        })
        .collect::<Result<_, _>>()?;
    for (step, file) in &opened {
        apply(step, file.as_ref())?;
    }
    for (link, target) in &rules.links {
        // A link that is outside of what was covered is there already.
        let _ = link.parent().map(fs::create_dir_all);
        let _ = symlink(target, link);
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
            place_for(path, file)?;
            bind(&format!("/proc/self/fd/{}", file.as_raw_fd()), path)?;
            if *is_read_only { read_only(path) } else { Ok(()) }
        }
        (Kind::Bind { .. }, None) => Ok(()),
    }
}

/// Creates what a mount needs at its place, if something above was covered.
fn place_for(path: &Path, source: &File) -> Result<(), String> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    if source.metadata().map_err(failed)?.is_dir() {
        return fs::create_dir_all(path).map_err(failed);
    }
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
    File::create_new(path).map(drop).map_err(failed)
}

fn bind(source: &str, path: &Path) -> Result<(), String> {
    attach(Some(source), path, None, MsFlags::MS_BIND | MsFlags::MS_REC, None)
}

/// Makes a mount and all mounts below it read-only.
fn read_only(path: &Path) -> Result<(), String> {
    let table = fs::read_to_string("/proc/self/mountinfo").map_err(|error| error.to_string())?;
    for place in plan::mounts_at_or_below(&table, path) {
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
        built.partly.push(
            "this server runs too often at the same time: it cannot write package caches".into(),
        );
        return Vec::new();
    };
    built.lock = Some(lock);
    let mut ready = Vec::new();
    for (number, cache) in rules.caches.iter().enumerate() {
        match overlay(cache, &folder, number) {
            Ok(merged) => ready.push((cache.clone(), merged)),
            Err(problem) => built.partly.push(problem),
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

fn open_path(path: &Path) -> Result<File, String> {
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC);
    options.open(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn attach(
    source: Option<&str>,
    target: &Path,
    kind: Option<&str>,
    flags: MsFlags,
    options: Option<&str>,
) -> Result<(), String> {
    mount(source, target, kind, flags, options).map_err(|error| {
        let kind = kind.unwrap_or("bind");
        format!("mounting {kind} on {}: {}", target.display(), error.desc())
    })
}
