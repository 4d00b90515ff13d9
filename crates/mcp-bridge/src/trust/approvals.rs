//! The user's permanent approvals, and the pinned hashes of definitions.

mod file;

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use mcp_safe::fs::{Lock, create_folder, replace};

use super::binding::Binding;

/// The interval between checks for changes by other processes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait for the lock of the file.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
/// The maximum number of pins, because a server may publish new names with every list.
const MOST_PINS: usize = 20_000;

/// The tools that the user approved permanently, each bound to its server and to its definition at that time.
///
/// Stored in memory or in a file. The file must be outside the project, belong to the user, and not be writable by others;
/// otherwise it is neither read nor written.
#[derive(Debug, Default)]
pub struct ToolApprovals {
    path: Option<PathBuf>,
    /// The project that must not contain the file.
    project: Option<PathBuf>,
    known: Mutex<Known>,
}

/// The approvals and the state of the file they were read from.
#[derive(Debug, Default)]
struct Known {
    tools: Tools,
    /// The modification time of the file when it was read.
    written: Option<SystemTime>,
    /// When the file was last checked.
    checked: Option<Instant>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tools {
    approved: BTreeMap<Key, Approved>,
    /// The hash of each definition when it was first seen or last accepted.
    pins: BTreeMap<Key, String>,
}

/// A permission and its server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    permission: String,
    /// Empty: any server, as written by earlier versions.
    server: String,
}

impl Key {
    fn new(permission: &str, server: &str) -> Self {
        Self { permission: permission.to_owned(), server: server.to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Approved {
    pub(crate) hash: String,
    pub(crate) definition: String,
}

/// Why approvals could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolApprovalsError {
    /// The file is inside the project, which may have supplied it.
    InsideProject(PathBuf),
    /// The file could not be read, or others can write to it.
    Io(PathBuf, std::io::Error),
    /// The file is malformed.
    Malformed(PathBuf),
}

impl fmt::Display for ToolApprovalsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolApprovalsError::InsideProject(path) => {
                write!(f, "approvals inside the project are ignored: {}", path.display())
            }
            ToolApprovalsError::Io(path, _) => write!(f, "cannot read {}", path.display()),
            ToolApprovalsError::Malformed(path) => {
                write!(f, "{} is not a valid approvals file", path.display())
            }
        }
    }
}

impl std::error::Error for ToolApprovalsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ToolApprovalsError::Io(_, error) => Some(error),
            ToolApprovalsError::InsideProject(_) | ToolApprovalsError::Malformed(_) => None,
        }
    }
}

impl ToolApprovals {
    /// Creates approvals in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads approvals from a file. The file is created on first use. A host with a project uses
    /// [`load_for`](Self::load_for).
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, ToolApprovalsError> {
        Self::open(path.into(), None)
    }

    /// Loads approvals from a file, for use in `project`. A file inside the project is an error.
    pub fn load_for(
        path: impl Into<PathBuf>,
        project: impl Into<PathBuf>,
    ) -> Result<Self, ToolApprovalsError> {
        Self::open(path.into(), Some(project.into()))
    }

    fn open(path: PathBuf, project: Option<PathBuf>) -> Result<Self, ToolApprovalsError> {
        let mut known = Known { written: written(&path), ..Known::default() };
        known.tools = file::read(&path, project.as_deref())?;
        Ok(Self { path: Some(path), project, known: Mutex::new(known) })
    }

    /// Whether the file is inside `project`, which may have supplied it.
    pub(crate) fn is_inside(&self, project: &Path) -> bool {
        self.path.as_deref().is_some_and(|path| file::is_inside(path, project))
    }

    /// Revokes an approval for every server, also for other processes that share the file.
    ///
    /// # Errors
    /// Returns an error if the file could not be written. The change then applies to this process only.
    pub fn revoke(&self, permission: &str) -> std::io::Result<()> {
        self.change(|tools| tools.approved.retain(|key, _| key.permission != permission))
    }

    /// The permissions of all approvals.
    pub fn permissions(&self) -> Vec<String> {
        let mut all: Vec<_> =
            self.lock().tools.approved.keys().map(|key| key.permission.clone()).collect();
        all.dedup();
        all
    }

    /// The approval of this permission for this server.
    pub(crate) fn approved(&self, permission: &str, server: &Binding) -> Option<Approved> {
        let mut known = self.lock();
        self.reload_if_changed(&mut known);
        let approved = &known.tools.approved;
        if approved.is_empty() {
            return None;
        }
        let bound = approved.get(&Key::new(permission, &server.key));
        let unbound = || approved.get(&Key::new(permission, "")).filter(|_| server.takes_unbound);
        bound.or_else(unbound).cloned()
    }

    /// Records an approval. Blocks while the file is written.
    pub(crate) fn approve(&self, permission: &str, server: &Binding, hash: &str, definition: &str) {
        let key = Key::new(permission, &server.key);
        let entry = Approved { hash: hash.into(), definition: definition.into() };
        let change = |tools: &mut Tools| {
            tools.pins.insert(key.clone(), hash.to_owned());
            tools.approved.insert(key, entry);
        };
        if let Err(error) = self.change(change) {
            tracing::warn!(%error, "could not write the approvals file");
        }
    }

    /// Whether a definition differs from the pinned one.
    pub(crate) fn differs_from_pin(&self, permission: &str, server: &Binding, hash: &str) -> bool {
        let key = Key::new(permission, &server.key);
        self.lock().tools.pins.get(&key).is_some_and(|pin| pin != hash)
    }

    /// Pins definitions, given as permission and hash, in memory. Returns whether [`save`](Self::save) has
    /// something to write.
    pub(crate) fn pin(&self, server: &Binding, tools: &[(String, String)]) -> bool {
        let mut known = self.lock();
        let pins = &mut known.tools.pins;
        let mut is_new = false;
        for (permission, hash) in tools {
            let key = Key::new(permission, &server.key);
            if pins.get(&key) != Some(hash) && (pins.len() < MOST_PINS || pins.contains_key(&key)) {
                pins.insert(key, hash.clone());
                is_new = true;
            }
        }
        is_new && self.path.is_some()
    }

    /// Writes the pins to the file. Blocks.
    pub(crate) fn save(&self) -> std::io::Result<()> {
        let pins = self.lock().tools.pins.clone();
        self.change(|tools| tools.pins.extend(pins))
    }

    /// Applies a change to the current content of the file, so that approvals and revocations of other
    /// processes are preserved.
    fn change(&self, change: impl FnOnce(&mut Tools)) -> std::io::Result<()> {
        let Some(path) = &self.path else {
            change(&mut self.lock().tools);
            return Ok(());
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)?;
        }
        // The file lock is taken before the mutex, which every call needs. If it is not available in time, the
        // change is made anyway, because the user is waiting.
        let _held = Lock::acquire(&path.with_extension("lock"), LOCK_TIMEOUT).ok();
        let mut known = self.lock();
        let now = match file::read(path, self.project.as_deref()) {
            Ok(now) => now,
            // Never add an approval to a file that the project or another user may have supplied.
            Err(error) => {
                change(&mut known.tools);
                return Err(std::io::Error::other(error));
            }
        };
        known.tools = now;
        change(&mut known.tools);
        replace(path, file::encode(&known.tools).as_bytes())?;
        known.written = written(path);
        Ok(())
    }

    /// Reloads the file if another process has changed it.
    fn reload_if_changed(&self, known: &mut Known) {
        let Some(path) = &self.path else { return };
        if known.checked.is_some_and(|checked| checked.elapsed() < CHECK_INTERVAL) {
            return;
        }
        known.checked = Some(Instant::now());
        let now = written(path);
        if now != known.written
            && let Ok(tools) = file::read(path, self.project.as_deref())
        {
            (known.tools, known.written) = (tools, now);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(key: &str) -> Binding {
        Binding { key: key.into(), takes_unbound: false }
    }

    fn hash(approvals: &ToolApprovals, permission: &str, of: &Binding) -> Option<String> {
        approvals.approved(permission, of).map(|approved| approved.hash)
    }

    #[test]
    fn approval_survives_restart_and_applies_to_its_server_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        let (one, other) = (server("one"), server("other"));
        ToolApprovals::load(&path).unwrap().approve("mcp:a:b", &one, "h1", "{\"x\":1}");
        let again = ToolApprovals::load(&path).unwrap();
        assert_eq!(hash(&again, "mcp:a:b", &one).as_deref(), Some("h1"));
        assert_eq!(hash(&again, "mcp:a:b", &other), None, "another server of the same name");
        assert_eq!(hash(&again, "mcp:a:c", &one), None);
        again.revoke("mcp:a:b").unwrap();
        assert_eq!(ToolApprovals::load(&path).unwrap().permissions().len(), 0);
        fs::write(&path, "[]").unwrap();
        assert!(matches!(ToolApprovals::load(&path), Err(ToolApprovalsError::Malformed(_))));
    }

    #[test]
    fn unbound_approvals_apply_to_user_entries_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        replace(&path, br#"{"mcp:a:b":{"hash":"h","definition":"{}"}}"#).unwrap();
        let approvals = ToolApprovals::load(&path).unwrap();
        let own = Binding { key: "k".into(), takes_unbound: true };
        assert_eq!(hash(&approvals, "mcp:a:b", &own).as_deref(), Some("h"));
        assert_eq!(hash(&approvals, "mcp:a:b", &server("k")), None, "an entry of a project");
        approvals.approve("mcp:c:d", &server("k"), "h", "{}");
        assert_eq!(ToolApprovals::load(&path).unwrap().permissions(), ["mcp:a:b", "mcp:c:d"]);
    }

    #[cfg(unix)]
    #[test]
    fn approvals_file_writable_by_others_is_rejected() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        ToolApprovals::load(&path).unwrap().approve("mcp:a:b", &server("k"), "h", "{}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(ToolApprovals::load(&path), Err(ToolApprovalsError::Io(..))));
    }

    #[test]
    fn approvals_inside_the_project_do_not_count_on_load_or_on_save() {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let inside = project.path().join("state/tools.json");
        ToolApprovals::load(&inside).unwrap().approve("mcp:a:b", &server("k"), "h", "{}");
        let refused = ToolApprovals::load_for(&inside, project.path());
        assert!(matches!(refused, Err(ToolApprovalsError::InsideProject(_))), "{refused:?}");
        let missing = project.path().join("none/tools.json");
        assert!(ToolApprovals::load_for(&missing, project.path()).is_err(), "not written yet");
        let outside = state.path().join("tools.json");
        let approvals = ToolApprovals::load_for(&outside, project.path()).unwrap();
        approvals.approve("mcp:c:d", &server("k"), "h", "{}");
        assert_eq!(
            ToolApprovals::load_for(&outside, project.path()).unwrap().permissions(),
            ["mcp:c:d"]
        );
    }

    /// The folder is replaced by a link into the project after the approvals were loaded.
    #[cfg(unix)]
    #[test]
    fn approval_is_not_saved_to_a_file_that_moved_into_the_project() {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = state.path().join("mcp");
        fs::create_dir(&folder).unwrap();
        let approvals = ToolApprovals::load_for(folder.join("tools.json"), project.path()).unwrap();
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(project.path(), &folder).unwrap();
        assert!(approvals.revoke("mcp:a:b").is_err());
        assert!(!project.path().join("tools.json").exists());
    }

    #[cfg(unix)]
    #[test]
    fn approval_is_not_added_to_a_file_that_others_can_write_to() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        let approvals = ToolApprovals::load(&path).unwrap();
        approvals.approve("mcp:a:b", &server("k"), "h", "{}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let before = fs::read(&path).unwrap();
        assert!(approvals.revoke("mcp:a:b").is_err());
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(hash(&approvals, "mcp:a:b", &server("k")), None, "revoked in this process");
    }

    #[test]
    fn pin_is_saved_and_changed_definition_differs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        let approvals = ToolApprovals::load(&path).unwrap();
        let tools = [("mcp:a:b".to_owned(), "h1".to_owned())];
        assert!(approvals.pin(&server("k"), &tools) && !approvals.pin(&server("k"), &tools));
        approvals.save().unwrap();
        let again = ToolApprovals::load(&path).unwrap();
        assert!(again.differs_from_pin("mcp:a:b", &server("k"), "h2"));
        assert!(!again.differs_from_pin("mcp:a:b", &server("k"), "h1"));
        assert!(
            !again.differs_from_pin("mcp:a:b", &server("other"), "h2"),
            "a server without a pin"
        );
        assert_eq!(again.permissions().len(), 0, "a pin is not an approval");
    }

    #[test]
    fn concurrent_processes_preserve_each_others_approvals() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        let (one, other) =
            (ToolApprovals::load(&path).unwrap(), ToolApprovals::load(&path).unwrap());
        let of = server("k");
        one.approve("mcp:a:b", &of, "h", "{}");
        other.approve("mcp:c:d", &of, "h", "{}");
        assert_eq!(ToolApprovals::load(&path).unwrap().permissions(), ["mcp:a:b", "mcp:c:d"]);
        // A revocation by another process must survive the next change here.
        other.revoke("mcp:a:b").unwrap();
        one.lock().checked = None;
        assert_eq!(hash(&one, "mcp:a:b", &of), None, "the revocation is visible here");
        one.approve("mcp:e:f", &of, "h", "{}");
        assert_eq!(one.permissions(), ["mcp:c:d", "mcp:e:f"]);
        assert_eq!(ToolApprovals::load(&path).unwrap().permissions(), one.permissions());
    }

    #[test]
    fn pins_are_limited_and_known_ones_can_still_change() {
        let approvals = ToolApprovals::new();
        let tool = |number: usize, hash: &str| (format!("mcp:a:{number}"), hash.to_owned());
        let all: Vec<_> = (0..=MOST_PINS).map(|number| tool(number, "h1")).collect();
        assert!(!approvals.pin(&server("k"), &all), "there is no file to save to");
        assert_eq!(approvals.lock().tools.pins.len(), MOST_PINS);
        approvals.pin(&server("k"), &[tool(0, "h2"), tool(MOST_PINS, "h2")]);
        assert!(approvals.differs_from_pin("mcp:a:0", &server("k"), "h1"));
        assert_eq!(approvals.lock().tools.pins.len(), MOST_PINS);
        assert!(!approvals.differs_from_pin(&tool(MOST_PINS, "").0, &server("k"), "h3"));
    }

    #[test]
    fn file_is_checked_for_changes_at_intervals_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        let (one, other) =
            (ToolApprovals::load(&path).unwrap(), ToolApprovals::load(&path).unwrap());
        let of = server("k");
        other.approve("mcp:a:b", &of, "h", "{}");
        one.lock().checked = Some(Instant::now() + Duration::from_secs(600));
        assert_eq!(hash(&one, "mcp:a:b", &of), None, "checked just now");
        one.lock().checked = Instant::now().checked_sub(CHECK_INTERVAL);
        assert_eq!(hash(&one, "mcp:a:b", &of).as_deref(), Some("h"));
        // What was loaded is not read again until the file changes.
        let loaded = ToolApprovals::load(&path).unwrap();
        loaded.lock().tools.approved.clear();
        loaded.lock().tools.approved.insert(
            Key::new("mcp:c:d", "k"),
            Approved { hash: "memory".into(), definition: String::new() },
        );
        assert_eq!(hash(&loaded, "mcp:c:d", &of).as_deref(), Some("memory"));
        loaded.approve("mcp:e:f", &of, "h", "{}");
        loaded.lock().tools.approved.insert(
            Key::new("mcp:c:d", "k"),
            Approved { hash: "memory".into(), definition: String::new() },
        );
        loaded.lock().checked = None;
        assert_eq!(hash(&loaded, "mcp:c:d", &of).as_deref(), Some("memory"), "its own change");
    }

    #[test]
    fn permissions_are_listed_once_and_errors_name_the_file() {
        use std::error::Error as _;
        let approvals = ToolApprovals::new();
        for key in ["k", "other"] {
            approvals.approve("mcp:a:b", &server(key), "h", "{}");
        }
        assert_eq!(approvals.permissions(), ["mcp:a:b"]);
        approvals.revoke("mcp:c:d").unwrap();
        assert_eq!(hash(&approvals, "mcp:a:b", &server("other")).as_deref(), Some("h"));
        let error = ToolApprovalsError::Malformed("x.json".into());
        assert_eq!(error.to_string(), "x.json is not a valid approvals file");
        assert!(error.source().is_none());
        let error = ToolApprovalsError::Io("x.json".into(), std::io::Error::other("cause"));
        assert_eq!(error.to_string(), "cannot read x.json");
        assert_eq!(error.source().unwrap().to_string(), "cause");
    }

    #[test]
    fn only_known_versions_of_the_file_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        for (text, is_read) in [
            (r#"{"version":2,"approved":[],"seen":[]}"#, true),
            (r#"{"version":3,"approved":[],"seen":[]}"#, false),
            (r#"{"version":2,"approved":[]}"#, false),
            (r#"{"version":2,"approved":[{"permission":"p"}],"seen":[]}"#, false),
            (r#"{"version":{"hash":"h","definition":"{}"}}"#, true),
            ("{}", true),
        ] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(ToolApprovals::load(&path).is_ok(), is_read, "{text}");
        }
    }
}
