//! `cargo xtask deny`: checks the dependencies with cargo-deny and `deny.toml`.
//!
//! Bans, licences and sources are always checked. Advisories need a database that is downloaded: its age is printed,
//! or that it is missing.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use crate::{
    pinned::Pinned,
    process::{capture, run},
};

const TOOL: Pinned = Pinned { name: "cargo-deny", version: "0.20.2" };

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let program = TOOL.ready()?;
    if !arguments.is_empty() {
        return run(Command::new(&program).arg("check").args(arguments));
    }
    let tree = ["check", "--hide-inclusion-graph", "bans", "licenses", "sources"];
    run(Command::new(&program).args(tree))?;
    let fetched = run(Command::new(&program).args(["fetch", "db"]));
    let changed = databases()?.iter().filter_map(|database| last_change(database)).max();
    println!("{}", told(changed, SystemTime::now(), fetched.is_ok()));
    match changed {
        Some(_) => run(Command::new(&program).args(["--offline", "check", "advisories"])),
        None => Ok(()),
    }
}

/// The clones of advisory databases that cargo-deny keeps.
fn databases() -> Result<Vec<PathBuf>, String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let folder = home.ok_or("neither CARGO_HOME nor a home folder is known")?.join("advisory-dbs");
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let clones = entries.flatten().map(|entry| entry.path());
    Ok(clones.filter(|path| path.join(".git").exists()).collect())
}

/// When the newest advisory of a clone was written.
fn last_change(database: &Path) -> Option<SystemTime> {
    let mut git = Command::new("git");
    git.arg("-C").arg(database).args(["log", "-1", "--format=%ct"]);
    let seconds = capture(&mut git).ok()?.trim().parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn told(changed: Option<SystemTime>, now: SystemTime, is_fetched: bool) -> String {
    let Some(changed) = changed else {
        return "advisories: NOT CHECKED: the database is missing and could not be fetched".into();
    };
    let days = now.duration_since(changed).unwrap_or_default().as_secs() / 86_400;
    let fetched = if is_fetched { "fetched now" } else { "could not be fetched again" };
    format!("advisories: the database was last changed {days} days ago, and {fetched}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_or_absence_of_the_database_is_printed() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 * 86_400);
        let then = now - Duration::from_secs(3 * 86_400 + 5);
        assert!(told(None, now, false).contains("NOT CHECKED"));
        assert_eq!(
            told(Some(then), now, false),
            "advisories: the database was last changed 3 days ago, and could not be fetched again"
        );
        assert!(told(Some(then), now, true).ends_with("fetched now"));
    }
}
