//! The servers to run.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

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
}

/// Reads a folder: our own corpus has a `server.py` that lists its names; in others each executable file is a server.
pub(crate) fn load(folder: &str) -> Result<Corpus, Box<dyn Error>> {
    let folder = Path::new(folder).canonicalize()?;
    let script = folder.join("server.py");
    if script.is_file() {
        let python = python()?;
        let output = Command::new(&python).arg(&script).arg("--list").output()?;
        let list = String::from_utf8(output.stdout)?;
        let servers =
            list.lines().filter_map(|line| line.split_once(' ')).map(|(class, name)| Server {
                name: name.to_owned(),
                class: class.to_owned(),
                program: python.clone(),
                args: vec!["-B".into(), script.to_string_lossy().into_owned(), name.to_owned()],
            });
        return Ok(Corpus { servers: servers.collect(), must_succeed: true });
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
            });
        }
    }
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Corpus { servers, must_succeed: false })
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
