//! A home with secrets, a project, files outside of both, and what changed in them.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

/// Files of the home that must be neither read nor changed.
const SECRETS: &[&str] = &[
    ".aws/credentials",
    ".bash_history",
    ".bashrc",
    ".claude.json",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".config/mcp/mcp.json",
    ".config/mcp/vault.json",
    ".docker/config.json",
    ".git-credentials",
    ".gnupg/private-keys-v1.d/key",
    ".kube/config",
    ".local/share/keyrings/login.keyring",
    ".local/state/mcp/approvals.json",
    ".mozilla/firefox/default/cookies.sqlite",
    ".netrc",
    ".npmrc",
    ".profile",
    ".ssh/id_ed25519",
    "Documents/diary.txt",
];
/// Files of the project that other programs obey.
const OBEYED: &[&str] =
    &[".envrc", ".git/config", ".git/hooks/sample", ".mcp.json", ".vscode/tasks.json"];

pub(crate) struct Machine {
    root: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) state: PathBuf,
    /// A word that only secrets contain.
    pub(crate) canary: String,
}

/// The type, permissions and content of each file.
pub(crate) type Snapshot = BTreeMap<PathBuf, (u32, Vec<u8>)>;

impl Machine {
    /// Makes the machine anew in `folder`.
    pub(crate) fn make(folder: &Path, number: u64) -> Result<Self, Box<dyn Error>> {
        let root = folder.canonicalize()?.join("machine");
        let _ = fs::remove_dir_all(&root);
        let home = root.join("home");
        let machine = Self {
            project: home.join("work/project"),
            outside: root.join("outside"),
            state: home.join(".local/state/mcp/sandbox/server"),
            canary: format!("loot-{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            root,
            home,
        };
        for path in SECRETS {
            machine
                .put(&machine.home.join(path), &format!("canary {} {path}\n", machine.canary))?;
        }
        for path in OBEYED {
            machine.put(&machine.project.join(path), "{}\n")?;
        }
        for path in [
            machine.home.join(".npm/_npx/run.js"),
            machine.home.join("Documents/deep/plain.txt"),
            machine.project.join("data/deep/plain.txt"),
            machine.outside.join("deep/plain.txt"),
            machine.home.join(".gitconfig"),
            machine.home.join(".local/bin/tool"),
        ] {
            machine.put(&path, "plain\n")?;
        }
        machine
            .put(&machine.outside.join("ledger.txt"), &format!("canary {}\n", machine.canary))?;
        machine.put(&machine.outside.join("launcher"), "program")?;
        symlink(machine.home.join(".ssh/id_ed25519"), machine.project.join("docs-link"))?;
        Ok(machine)
    }

    #[expect(clippy::unused_self, reason = "files are put on a machine")]
    fn put(&self, path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        Ok(fs::write(path, text)?)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut found = Snapshot::new();
        self.collect(&self.root, &mut found);
        found
    }

    fn collect(&self, folder: &Path, found: &mut Snapshot) {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            let Ok(about) = path.symlink_metadata() else { continue };
            // The sandbox's own folder: the server has a private home there.
            if path.starts_with(&self.state) || self.state.starts_with(&path) && about.is_dir() {
                if !path.starts_with(&self.state) {
                    self.collect(&path, found);
                }
                continue;
            }
            let content =
                if about.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
            found.insert(path.clone(), (about.permissions().mode(), content));
            if about.is_dir() {
                self.collect(&path, found);
            }
        }
    }

    /// Whether a server of `standard` may change this path.
    pub(crate) fn may_change(&self, path: &Path) -> bool {
        let is_obeyed = |rest: &Path| {
            OBEYED.iter().any(|known| rest.starts_with(known))
                || rest.starts_with(".git")
                || rest.starts_with(".vscode")
        };
        path.strip_prefix(&self.project).is_ok_and(|rest| !is_obeyed(rest))
    }
}
