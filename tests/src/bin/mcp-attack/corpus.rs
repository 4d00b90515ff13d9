//! The servers to run.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde_json::Value;

pub(crate) struct Corpus {
    pub(crate) servers: Vec<Server>,
    /// Whether each server must give a finding without a sandbox. Not known of the servers of others.
    pub(crate) must_succeed: bool,
}

pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// How often it is started, on the same machine.
    pub(crate) starts: u64,
    /// Paths that its entry grants.
    pub(crate) read: Vec<String>,
    pub(crate) write: Vec<String>,
}

/// Reads a folder: our own corpus has a `server.py` that lists its names; in others each executable file is a server.
pub(crate) fn load(folder: &str) -> Result<Corpus, Box<dyn Error>> {
    let folder = Path::new(folder).canonicalize()?;
    let script = folder.join("server.py");
    if script.is_file() {
        let python = python()?;
        let output = Command::new(&python).arg(&script).arg("--list").output()?;
        let list = String::from_utf8(output.stdout)?;
        let servers = list.lines().map(|line| ours(line, &script, &python));
        let servers = servers.collect::<Option<_>>().ok_or("the list of servers is malformed")?;
        return Ok(Corpus { servers, must_succeed: true });
    }
    let mut servers = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let mode = std::os::unix::fs::PermissionsExt::mode(&entry.metadata()?.permissions());
        if entry.path().is_file() && mode & 0o100 != 0 {
            let name = entry.file_name().to_string_lossy().into_owned();
            servers.push(Server {
                name,
                class: "foreign".into(),
                program: entry.path(),
                args: Vec::new(),
                starts: 1,
                read: Vec::new(),
                write: Vec::new(),
            });
        }
    }
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Corpus { servers, must_succeed: false })
}

/// A line of our list: the class, the name and the settings.
fn ours(line: &str, script: &Path, python: &Path) -> Option<Server> {
    let (class, rest) = line.split_once(' ')?;
    let (name, settings) = rest.split_once(' ')?;
    let settings: Value = serde_json::from_str(settings).ok()?;
    let texts = |key: &str| -> Vec<String> {
        let all = settings[key].as_array().into_iter().flatten();
        all.filter_map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let mut args = vec!["-B".into(), script.to_string_lossy().into_owned(), name.to_owned()];
    args.extend(texts("args"));
    Some(Server {
        name: name.to_owned(),
        class: class.to_owned(),
        program: python.to_path_buf(),
        args,
        starts: settings["starts"].as_u64().unwrap_or(1),
        read: texts("read"),
        write: texts("write"),
    })
}

/// The real path of the interpreter: shims of version managers look into the home, which is another one here.
pub(crate) fn python() -> Result<PathBuf, Box<dyn Error>> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found.clone());
    }
    let output =
        Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()?;
    let found = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    Ok(FOUND.get_or_init(|| found).clone())
}
