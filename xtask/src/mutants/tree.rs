//! A copy of the workspace to change.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use crate::process::capture;

/// The copy. It stays between runs at the same path, and files that are equal are not written, so that cargo compiles
/// nothing twice.
pub(super) struct Tree {
    pub(super) root: PathBuf,
}

impl Tree {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Makes the copy equal to the workspace at `from`.
    pub(super) fn sync(&self, from: &Path) -> Result<(), String> {
        let mut git = std::process::Command::new("git");
        git.current_dir(from);
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = capture(&mut git)?;
        let files: BTreeSet<&Path> =
            listed.split('\0').filter(|file| !file.is_empty()).map(Path::new).collect();
        self.sync_files(from, &files).map_err(|error| {
            format!("no copy of the workspace in {}: {error}", self.root.display())
        })
    }

    fn sync_files(&self, from: &Path, files: &BTreeSet<&Path>) -> io::Result<()> {
        for file in files {
            let (source, target) = (from.join(file), self.root.join(file));
            // Listed, but removed and not committed, or a link to a folder.
            if !source.is_file() {
                continue;
            }
            if fs::read(&target).ok() == Some(fs::read(&source)?) {
                continue;
            }
            fs::create_dir_all(target.parent().unwrap_or(&self.root))?;
            fs::copy(&source, &target)?;
            // A copy may have the time of the original, which cargo would take for unchanged.
            fs::File::options()
                .write(true)
                .open(&target)?
                .set_modified(std::time::SystemTime::now())?;
        }
        remove_others(&self.root, &self.root, from, files)
    }

    /// Writes a file unless it has this text already.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.root.join(file);
        if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(());
        }
        fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// Removes files that are not in the workspace, such as those that tests leave behind.
fn remove_others(
    root: &Path,
    folder: &Path,
    from: &Path,
    files: &BTreeSet<&Path>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Ok(relative) = path.strip_prefix(root) else { continue };
        if path.is_dir() && !path.is_symlink() {
            remove_others(root, &path, from, files)?;
        } else if !files.contains(relative) || !from.join(relative).exists() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_becomes_equal_and_equal_files_are_not_written() {
        let place = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
        let (from, tree) = (place.join("from"), Tree::new(place.join("tree")));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::write(from.join("src/a.rs"), "a").unwrap();
        fs::write(from.join("b.rs"), "b").unwrap();
        let files =
            BTreeSet::from([Path::new("src/a.rs"), Path::new("b.rs"), Path::new("gone.rs")]);
        tree.sync_files(&from, &files).unwrap();
        let when = |file: &str| fs::metadata(tree.root.join(file)).unwrap().modified().unwrap();
        let before = when("src/a.rs");
        tree.write("src/a.rs", "a").unwrap();
        tree.write("b.rs", "changed").unwrap();
        fs::write(tree.root.join("src/left"), "by a test").unwrap();
        tree.sync_files(&from, &files).unwrap();
        assert_eq!(fs::read_to_string(tree.root.join("b.rs")).unwrap(), "b");
        assert_eq!(when("src/a.rs"), before);
        assert!(!tree.root.join("src/left").exists());
        fs::remove_dir_all(place).unwrap();
    }
}
