//! Collects what a server gets, and refuses what would give it too much.

use std::{
    ffi::OsStr,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{ResolveError, walk::walk};
use crate::{
    fields::MAX_ENTRIES,
    places::{self, PERSONAL, PROJECT_PROTECTED, SHARED, SPECIAL, SYSTEM, SYSTEM_SECRETS},
    profile::Access,
};

/// How many symbolic links are followed to a program.
const MAX_LINKS: usize = 16;
/// Endings of files that an interpreter runs: the package around them is granted too.
const SCRIPTS: &[&str] = &["cjs", "jar", "js", "mjs", "mts", "php", "pl", "py", "rb", "sh", "ts"];
/// Files at the root of a package.
const MANIFESTS: &[&str] =
    &["package.json", "pyproject.toml", "setup.py", "deno.json", "Gemfile", "composer.json"];

#[derive(Debug)]
pub(super) struct Grants {
    home: PathBuf,
    /// Hidden even before it exists: the first launch creates it.
    state: PathBuf,
    /// Where the server, or a repository, may have put links: real paths.
    foreign: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) caches: Vec<PathBuf>,
    pub(super) protect: Vec<PathBuf>,
    pub(super) hide: Vec<PathBuf>,
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    pub(super) notes: Vec<String>,
}

impl Grants {
    pub(super) fn new(home: PathBuf, state: PathBuf, more_secrets: &[PathBuf]) -> Self {
        let secrets = places::SECRETS.iter().map(|path| home.join(path));
        let secrets =
            secrets.chain(SYSTEM_SECRETS.iter().map(PathBuf::from)).chain([state.clone()]);
        // A secret may be reached by its name and by its real path.
        let mut secrets: Vec<PathBuf> = secrets.chain(more_secrets.iter().cloned()).collect();
        let real: Vec<PathBuf> =
            secrets.iter().filter_map(|path| path.canonicalize().ok()).collect();
        secrets.extend(real);
        secrets.sort();
        secrets.dedup();
        Self {
            home,
            state,
            foreign: Vec::new(),
            secrets,
            read: Vec::new(),
            write: Vec::new(),
            caches: Vec::new(),
            protect: Vec::new(),
            hide: Vec::new(),
            links: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Names a place whose links are not followed to anything more: the server may have put them there in an earlier
    /// start. Called before any grant.
    pub(super) fn foreign(&mut self, place: &Path) {
        // A missing place holds no links. One that contains the home is not granted, and its links are the user's.
        let real = walk(place).map(|walked| walked.real);
        self.foreign.extend(real.filter(|real| !self.is_broad(real)));
    }

    pub(super) fn system(&mut self, path: &Path) {
        if path.exists() {
            self.add(path, Access::Read);
        }
    }

    /// Grants a folder that belongs to the user's tools, if it exists.
    pub(super) fn own(&mut self, path: &Path, access: Access) {
        if let Some(real) =
            self.real(path, access).filter(|real| !self.is_broad(real) && !self.is_secret(real))
        {
            self.add(&real, access);
        }
    }

    /// Grants a file of settings, unless it holds credentials.
    pub(super) fn settings(&mut self, path: &Path) {
        let Some(text) = read_settings(path) else { return };
        if places::holds_credentials(&text) {
            self.notes.push(format!("`{}` is not granted: it holds credentials", path.display()));
        } else {
            self.own(path, Access::Read);
        }
    }

    pub(super) fn cache(&mut self, path: &Path) {
        let real = self.real(path, Access::Read);
        let Some(real) = real.filter(|real| real.is_dir()) else { return };
        if !self.is_broad(&real) && !self.is_secret(&real) && !is_below_any(&real, SYSTEM) {
            push(&mut self.caches, &real);
        }
    }

    /// Grants a program, each symbolic link on the way to it, and the installations around them.
    pub(super) fn program(&mut self, program: &Path) {
        let mut path = program.to_path_buf();
        for _ in 0..MAX_LINKS {
            let folder = path.parent().and_then(|folder| self.real(folder, Access::Read));
            let (Some(folder), Some(name)) = (folder, path.file_name()) else { return };
            let file = folder.join(name);
            let Ok(target) = file.read_link() else { return self.installation(&file) };
            if self.real(&file, Access::Read).is_none() {
                return;
            }
            self.installation(&file);
            path = folder.join(target);
        }
    }

    /// Grants an argument that names an existing file or folder, also in `--option=path`.
    pub(super) fn argument(&mut self, arg: &OsStr, cwd: &Path) {
        let Some(text) = arg.to_str() else { return };
        let value = text
            .split_once('=')
            .filter(|(name, _)| name.starts_with('-'))
            .map_or(text, |(_, value)| value);
        if value.is_empty() || value.len() > crate::fields::MAX_PATH || value.contains('\0') {
            return;
        }
        // A bare word such as `serve` is rarely meant as a path, and a relative path is in the project.
        let path = Path::new(value);
        let path = if path.is_absolute() { path.to_path_buf() } else { cwd.join(path) };
        let is_script =
            path.extension().and_then(OsStr::to_str).is_some_and(|end| SCRIPTS.contains(&end));
        if is_script && path.is_file() {
            self.program(&path);
        } else if value.contains('/') {
            self.named(&path, Access::Read, "an argument");
        }
    }

    pub(super) fn variable(&mut self, name: &OsStr, value: &OsStr) {
        let path = Path::new(value);
        let is_code = name.to_str().is_some_and(|name| places::CODE_VARIABLES.contains(&name));
        if path.is_absolute() && (path.is_file() || is_code) {
            self.named(path, Access::Read, "a variable");
        }
    }

    pub(super) fn project(&mut self, project: &Path, access: Access) {
        if access == Access::None {
            return;
        }
        let Some(real) = self.real(project, access) else {
            self.notes.push(format!("the project folder `{}` does not exist", project.display()));
            return;
        };
        if self.is_broad(&real) || is_in(&real, SHARED) || self.is_secret(&real) {
            let shown = real.display();
            self.notes.push(format!(
                "the project folder `{shown}` is not granted: it is shared with other things"
            ));
            return;
        }
        self.add(&real, access);
        if access == Access::Write {
            self.protect(&real);
        }
    }

    /// Grants something that the entry names, unless that is more than its author may have meant.
    pub(super) fn named(&mut self, path: &Path, access: Access, source: &str) {
        let Some(real) = self.real(path, access) else { return };
        let is_plain = real.is_file() || real.is_dir();
        if self.is_broad(&real) || is_in(&real, SHARED) || is_below_any(&real, SPECIAL) || !is_plain
        {
            // Common and harmless: `/dev/null`, a working directory of `/`.
            return;
        }
        if self.is_secret(&real) {
            self.notes.push(format!(
                "`{}`, named by {source}, is not granted: it holds secrets; add it to `read` if the server needs it",
                real.display()
            ));
            return;
        }
        if !self.is_granted(&real, access) {
            self.add(&real, access);
        }
    }

    /// Grants a path of the profile. The user wrote it, so secrets are granted where the text names them. A link to a
    /// secret does not name it.
    pub(super) fn profile(&mut self, path: &Path, access: Access) -> Result<(), ResolveError> {
        if walk(path).is_none() {
            self.notes.push(format!("`{}` of the profile does not exist", path.display()));
            return Ok(());
        }
        let Some(real) = self.real(path, access) else { return Ok(()) };
        if self.is_broad(&real) && (access == Access::Write || real != self.home) {
            return Err(ResolveError::new(format!(
                "the profile grants `{}`, which contains the home folder; name the folders below it, or use `off`",
                real.display()
            )));
        }
        let named = self.secrets.iter().filter(|secret| path.starts_with(secret));
        let mut named: Vec<PathBuf> = named.cloned().collect();
        named.extend(named.clone().iter().filter_map(|secret| secret.canonicalize().ok()));
        self.hide.retain(|hidden| !named.contains(hidden));
        self.secrets.retain(|secret| !named.contains(secret));
        if self.is_secret(&real) {
            self.notes.push(format!(
                "`{}` of the profile is not granted: it leads to `{}`, which holds secrets; name that path itself if \
                 the server needs it",
                path.display(),
                real.display()
            ));
            return Ok(());
        }
        self.add(&real, access);
        Ok(())
    }

    fn add(&mut self, real: &Path, access: Access) {
        let list = if access == Access::Write { &mut self.write } else { &mut self.read };
        push(list, real);
        let inside: Vec<PathBuf> =
            self.secrets.iter().filter(|secret| secret.starts_with(real)).cloned().collect();
        for secret in inside.iter().filter(|secret| **secret == self.state || secret.exists()) {
            push(&mut self.hide, secret);
        }
    }

    fn protect(&mut self, project: &Path) {
        for path in PROJECT_PROTECTED {
            let path = project.join(path);
            // A link may lead anywhere, and what it leads to has rules already.
            if path.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
                push(&mut self.protect, &path);
            }
        }
    }

    /// Grants the folder that a program, or a link to one, was installed into. The path of its folder is a real one.
    fn installation(&mut self, file: &Path) {
        if self.is_granted(file, Access::Read) || self.is_secret(file) {
            return;
        }
        let Some(real) = file.parent() else { return };
        let folder = self.package_of(file).filter(|folder| !self.is_refused_folder(folder));
        let folder = folder
            .or_else(|| Some(real.to_path_buf()).filter(|real| !self.is_refused_folder(real)));
        match folder {
            Some(folder) => self.add(&folder, Access::Read),
            None if file.exists() => self.add(file, Access::Read),
            None => {}
        }
    }

    /// The root of the package, environment or prefix that a file is part of.
    fn package_of(&self, file: &Path) -> Option<PathBuf> {
        let modules = file.ancestors().filter(|path| path.ends_with("node_modules"));
        if let Some(outermost) = modules.last() {
            return Some(outermost.to_path_buf());
        }
        let folder = file.parent()?;
        // `shims` is a folder of version managers, whose scripts look for the version beside it.
        if matches!(folder.file_name()?.to_str()?, "bin" | "sbin" | ".bin" | "shims") {
            return folder.parent().map(Path::to_path_buf);
        }
        let candidates =
            folder.ancestors().take(6).take_while(|path| !self.is_refused_folder(path));
        let mut roots =
            candidates.filter(|path| MANIFESTS.iter().any(|name| path.join(name).is_file()));
        roots.next().map(Path::to_path_buf)
    }

    fn is_refused_folder(&self, path: &Path) -> bool {
        let is_personal = PERSONAL.iter().any(|name| path == self.home.join(name));
        self.is_broad(path) || is_in(path, SHARED) || is_personal || self.is_secret(path)
    }

    /// Whether a list has reached its bound, so that something may be missing in it.
    pub(super) fn is_full(&self) -> bool {
        let lists = [&self.read, &self.write, &self.caches, &self.protect, &self.hide];
        lists.iter().any(|list| list.len() >= MAX_ENTRIES)
    }

    /// Whether a folder contains the home.
    fn is_broad(&self, path: &Path) -> bool {
        self.home.starts_with(path)
    }

    fn is_secret(&self, path: &Path) -> bool {
        self.secrets.iter().any(|secret| path.starts_with(secret))
    }

    /// Whether the server gets this access already.
    fn is_granted(&self, real: &Path, access: Access) -> bool {
        let is_below = |list: &[PathBuf]| list.iter().any(|granted| real.starts_with(granted));
        let is_read =
            || is_below(&self.read) || is_below(&self.caches) || is_below_any(real, SYSTEM);
        !self.is_secret(real) && (is_below(&self.write) || access == Access::Read && is_read())
    }

    /// The real path of something that exists, for this access. Remembers the links on the way. `None` also if one of
    /// them may have been put there by the server, and leads to something that it does not have anyway.
    fn real(&mut self, path: &Path, access: Access) -> Option<PathBuf> {
        let walked = walk(path)?;
        walked.real.to_str()?;
        let is_foreign = |link: &&PathBuf| self.foreign.iter().any(|place| link.starts_with(place));
        let foreign = walked.links.iter().find(is_foreign);
        if let Some(link) = foreign.filter(|_| !self.is_granted(&walked.real, access)) {
            let note = format!(
                "`{}` is not granted: `{}` is a link in a folder that the server may write; name its target in the \
                 profile if the server needs it",
                walked.real.display(),
                link.display()
            );
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
            return None;
        }
        for link in walked.links {
            self.link(link);
        }
        Some(walked.real)
    }

    /// Remembers a link, by its real place.
    fn link(&mut self, link: PathBuf) {
        let Ok(target) = link.canonicalize() else { return };
        let is_text = link.to_str().is_some() && target.to_str().is_some();
        let has_room = self.links.len() < MAX_ENTRIES / 2;
        if is_text && has_room && !self.links.iter().any(|(known, _)| *known == link) {
            self.links.push((link, target));
        }
    }
}

/// The longest file of settings that is examined.
const MAX_SETTINGS: u64 = 1 << 20;

/// The text of a file, if it can be read as a whole.
fn read_settings(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|of| of.is_file()))?;
    file.take(MAX_SETTINGS + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= MAX_SETTINGS).then_some(text)
}

fn push(list: &mut Vec<PathBuf>, path: &Path) {
    if list.len() < MAX_ENTRIES && !list.iter().any(|known| known == path) {
        list.push(path.to_path_buf());
    }
}

fn is_in(path: &Path, list: &[&str]) -> bool {
    list.iter().any(|known| path == Path::new(known))
}

fn is_below_any(path: &Path, list: &[&str]) -> bool {
    list.iter().any(|known| path.starts_with(known))
}
