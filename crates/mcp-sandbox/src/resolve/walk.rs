//! Follows symbolic links one by one: a link counts for where it lies, not only for where it leads.

use std::{
    collections::VecDeque,
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

/// How many symbolic links are followed, as on Linux.
const MAX_LINKS: usize = 40;

/// A path without links, and the links on the way to it.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) real: PathBuf,
    /// The real place of each link.
    pub(super) links: Vec<PathBuf>,
}

/// Follows an absolute path to something that exists.
pub(super) fn walk(path: &Path) -> Option<Walked> {
    if !path.is_absolute() {
        return None;
    }
    let mut walked = Walked { real: PathBuf::new(), links: Vec::new() };
    let mut rest = VecDeque::new();
    prepend(&mut rest, path);
    while let Some(part) = rest.pop_front() {
        let part = PathBuf::from(part);
        match part.components().next() {
            Some(Component::ParentDir) => {
                walked.real.pop();
            }
            Some(Component::Normal(_)) => {
                let place = walked.real.join(&part);
                if !place.symlink_metadata().ok()?.is_symlink() {
                    walked.real = place;
                    continue;
                }
                if walked.links.len() == MAX_LINKS {
                    return None;
                }
                prepend(&mut rest, &place.read_link().ok()?);
                walked.links.push(place);
            }
            // The root of an absolute path or link starts anew.
            Some(Component::RootDir | Component::Prefix(_)) => walked.real.push(&part),
            Some(Component::CurDir) | None => {}
        }
    }
    Some(walked)
}

fn prepend(rest: &mut VecDeque<OsString>, path: &Path) {
    for part in path.components().rev() {
        rest.push_front(part.as_os_str().to_owned());
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_are_followed_as_the_kernel_follows_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("far/deep")).unwrap();
        fs::write(root.join("far/file"), "").unwrap();
        symlink("far/deep", root.join("lnk")).unwrap();
        symlink(root.join("lnk"), root.join("far/again")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        // `..` after a link leads to the parent of its target.
        let walked = walk(&root.join("lnk/../file")).unwrap();
        assert_eq!(walked.real, root.join("far/file"));
        assert_eq!(walked.links, [root.join("lnk")]);
        let walked = walk(&root.join("far/./again/..")).unwrap();
        assert_eq!(walked.real, root.join("far"));
        assert_eq!(walked.links, [root.join("far/again"), root.join("lnk")]);
        for path in ["loop", "missing", "far/file/x"] {
            assert!(walk(&root.join(path)).is_none(), "{path}");
        }
        assert!(walk(Path::new("relative")).is_none());
        assert_eq!(walk(Path::new("/..")).unwrap().real, Path::new("/"));
    }
}
