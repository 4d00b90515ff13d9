//! Collects what a server gets, and refuses what would give it too much.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::ResolveError;
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

    pub(super) fn system(&mut self, path: &Path) {
        if path.exists() {
            self.add(path, Access::Read);
        }
    }

    /// Grants a folder that belongs to the user's tools, if it exists.
    pub(super) fn own(&mut self, path: &Path, access: Access) {
        if let Some(real) =
            self.real(path).filter(|real| !self.is_broad(real) && !self.is_secret(real))
        {
            self.add(&real, access);
        }
    }

    pub(super) fn cache(&mut self, path: &Path) {
        let real = path.is_absolute().then(|| self.real(path)).flatten();
        let Some(real) = real.filter(|real| real.is_dir()) else { return };
        if !self.is_broad(&real) && !self.is_secret(&real) && !is_below_any(&real, SYSTEM) {
            push(&mut self.caches, &real);
        }
    }

    /// Grants a program, each symbolic link on the way to it, and the installations around them.
    pub(super) fn program(&mut self, program: &Path) {
        let mut path = program.to_path_buf();
        for _ in 0..MAX_LINKS {
            self.installation(&path);
            let Ok(target) = path.read_link() else { return };
            let folder = path.parent().unwrap_or(Path::new("/"));
            let target = lexical(&folder.join(target));
            self.link(&path, &target);
            path = target;
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
        let Some(real) = self.real(project) else {
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
        let Some(real) = self.real(path) else { return };
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
        if !is_below_any(&real, SYSTEM) {
            self.add(&real, access);
        }
    }

    /// Grants a path of the profile. The user wrote it, so secrets are granted where they are named themselves.
    pub(super) fn profile(&mut self, path: &Path, access: Access) -> Result<(), ResolveError> {
        let Some(real) = self.real(path) else {
            self.notes.push(format!("`{}` of the profile does not exist", path.display()));
            return Ok(());
        };
        if self.is_broad(&real) && (access == Access::Write || real != self.home) {
            return Err(ResolveError::new(format!(
                "the profile grants `{}`, which contains the home folder; name the folders below it, or use `off`",
                real.display()
            )));
        }
        self.hide.retain(|hidden| !real.starts_with(hidden));
        self.secrets.retain(|secret| !real.starts_with(secret));
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

    /// Grants the folder that a program was installed into.
    fn installation(&mut self, file: &Path) {
        let Some(real) = file.parent().and_then(|folder| folder.canonicalize().ok()) else {
            return;
        };
        let name = file.file_name().unwrap_or_default();
        let file = real.join(name);
        if is_below_any(&file, SYSTEM) || self.is_secret(&file) {
            return;
        }
        let folder = self.package_of(&file).filter(|folder| !self.is_refused_folder(folder));
        let folder = folder.or_else(|| Some(real).filter(|real| !self.is_refused_folder(real)));
        match folder {
            Some(folder) => self.add(&folder, Access::Read),
            None if file.exists() => self.add(&file, Access::Read),
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
        if matches!(folder.file_name()?.to_str()?, "bin" | "sbin" | ".bin") {
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

    /// The real path. Remembers the link if the path is one.
    fn real(&mut self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        real.to_str()?;
        if real != path {
            self.link(path, &real);
        }
        Some(real)
    }

    fn link(&mut self, link: &Path, target: &Path) {
        let is_text = link.to_str().is_some() && target.to_str().is_some();
        let has_room = self.links.len() < MAX_ENTRIES / 2;
        let link = lexical(link);
        if is_text
            && has_room
            && link.is_absolute()
            && !self.links.iter().any(|(known, _)| *known == link)
        {
            self.links.push((link, target.to_path_buf()));
        }
    }
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

/// Resolves `..` without looking at the file system.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part.as_os_str() == ".." {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}
