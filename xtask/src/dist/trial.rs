//! Installs each package into a clean folder and runs the command from there.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::files;
use crate::process::capture;

/// Installs each package into a separate folder, and runs `demo` under both names.
pub(super) fn run(made: &[PathBuf], folder: &Path) -> Result<(), String> {
    files::empty(folder)?;
    for package in made {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(install) = installer(&name) else { continue };
        let prefix = folder.join(&name);
        files::empty(&prefix)?;
        let installed = install(package, &prefix)?;
        check(&name, &installed, &prefix)?;
        println!("{name}: installed and runs");
    }
    Ok(())
}

/// The folders of an installation.
struct Installed {
    programs: PathBuf,
    share: PathBuf,
}

type Install = fn(&Path, &Path) -> Result<Installed, String>;

fn installer(name: &str) -> Option<Install> {
    let kinds: &[(&str, Install)] =
        &[(".tar.gz", unpack), (".deb", dpkg), (".whl", pip), (".tgz", npm)];
    kinds.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, install)| *install)
}

fn unpack(package: &Path, prefix: &Path) -> Result<Installed, String> {
    let mut tar = Command::new("tar");
    capture(
        tar.args(["--extract", "--strip-components=1", "--file"])
            .arg(package)
            .arg("--directory")
            .arg(prefix),
    )?;
    Ok(Installed { programs: prefix.join("bin"), share: prefix.join("share") })
}

/// Installs with dpkg, with a separate database instead of the system's.
fn dpkg(package: &Path, prefix: &Path) -> Result<Installed, String> {
    let database = prefix.join("var/lib/dpkg");
    for name in ["status", "available"] {
        files::write(&database.join(name), "")?;
    }
    for name in ["info", "updates"] {
        files::empty(&database.join(name))?;
    }
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--instdir={}", prefix.display()));
    dpkg.arg(format!("--admindir={}", database.display()));
    // The empty database has no C library, which the dev profile depends on.
    dpkg.args([
        "--force-not-root",
        "--force-depends",
        "--force-bad-path",
        "--log=/dev/null",
        "--install",
    ]);
    capture(dpkg.arg(package))?;
    Ok(Installed { programs: prefix.join("usr/bin"), share: prefix.join("usr/share") })
}

fn pip(package: &Path, prefix: &Path) -> Result<Installed, String> {
    capture(Command::new("python3").args(["-m", "venv"]).arg(prefix))?;
    let mut pip = Command::new(prefix.join("bin/python"));
    pip.args(["-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check"]);
    capture(pip.arg(package))?;
    Ok(Installed { programs: prefix.join("bin"), share: prefix.join("share") })
}

fn npm(package: &Path, prefix: &Path) -> Result<Installed, String> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    capture(npm.arg(prefix).arg(package))?;
    let modules = prefix.join("node_modules");
    Ok(Installed { programs: modules.join(".bin"), share: modules.join("mcph/share") })
}

fn check(name: &str, installed: &Installed, prefix: &Path) -> Result<(), String> {
    let home = prefix.join("home");
    files::empty(&home)?;
    let demo = |program: &str| {
        let mut command = Command::new(installed.programs.join(program));
        // Without this machine's configuration and variables.
        command.arg("demo").env_clear().env("HOME", &home).env("PATH", "/usr/bin:/bin");
        capture(command.current_dir(&home))
    };
    let (first, second) = (demo("mcp")?, demo("mcph")?);
    if !first.contains("weekday") || !second.contains("weekday") {
        return Err(format!("{name}: `mcp demo` did not show its tools:\n{first}"));
    }
    for place in ["man/man1/mcp.1", "bash-completion/completions/mcp", "doc/mcph/LICENSE-MIT"] {
        if !installed.share.join(place).is_file() {
            return Err(format!("{name}: share/{place} is missing after the installation"));
        }
    }
    Ok(())
}
