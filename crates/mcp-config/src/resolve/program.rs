//! Finds the programs and files of a command line, and which of them are inside the project.

use std::path::{Path, PathBuf};

use mcp_safe::fs::{find_program, read};

use super::fingerprint::Fingerprint;

/// The size limit for files whose content an approval covers.
const MOST_BYTES: usize = 4 << 20;

/// The maximum number of files checked per command line.
const MOST_FILES: usize = 32;

/// A command line, resolved like the transport does: relative to `cwd`, or to this process's working
/// directory.
pub(super) struct CommandLine<'l> {
    pub(super) words: &'l [String],
    pub(super) cwd: Option<&'l Path>,
    /// The value of `PATH`.
    pub(super) path: Option<&'l str>,
}

impl CommandLine<'_> {
    pub(super) fn program(&self) -> &str {
        self.words.first().map(String::as_str).unwrap_or_default()
    }

    /// The path of the program.
    pub(super) fn find(&self) -> Option<PathBuf> {
        let path = self.path.map(AsRef::as_ref);
        let found = find_program(self.program().as_ref(), self.cwd, path).ok()?;
        std::path::absolute(found).ok()
    }

    /// The shell that the command line contains, if any.
    pub(super) fn shell(&self) -> Option<&'static str> {
        self.words.iter().find_map(|word| shell(word))
    }

    /// The program and argument files inside `project`, each with the hash of its content if it is small
    /// enough.
    pub(super) fn inside(&self, project: &Path) -> Vec<(PathBuf, Option<Fingerprint>)> {
        let named = self.words.iter().skip(1).take(MOST_FILES).flat_map(|arg| {
            // `--require=./evil.js` also refers to a file.
            let value = arg.split_once('=').map(|(_, value)| value);
            [Some(arg.as_str()), value].into_iter().flatten().map(|arg| self.absolute(arg))
        });
        let files = self.find().into_iter().chain(named.flatten());
        files
            .filter_map(|file| {
                let real = inside(&file, project)?;
                let content = read(&real, MOST_BYTES).ok().flatten();
                Some((file, content.map(|bytes| Fingerprint::of_bytes(&bytes))))
            })
            .collect()
    }

    fn absolute(&self, file: &str) -> Option<PathBuf> {
        std::path::absolute(self.cwd.unwrap_or(Path::new("")).join(file)).ok()
    }
}

/// The real path of `file` if a repository at `project` may have supplied it: a link leads into the project, or out of it.
pub(super) fn inside(file: &Path, project: &Path) -> Option<PathBuf> {
    let real_project = project.canonicalize().ok()?;
    let real = file.canonicalize().ok().filter(|real| real.is_file())?;
    (file.starts_with(project) || real.starts_with(&real_project)).then_some(real)
}

const SHELLS: [&str; 14] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "fish",
    "csh",
    "tcsh",
    "ash",
    "busybox",
    "cmd",
    "powershell",
    "pwsh",
];

/// The shell that `word` refers to, if any.
fn shell(word: &str) -> Option<&'static str> {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    SHELLS.into_iter().find(|shell| *shell == name)
}
