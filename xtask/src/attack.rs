//! `cargo xtask attack`: hostile servers with and without a sandbox, in namespaces without a way out.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    process::{capture, cargo, run},
    workspace::Workspace,
};

/// Our own servers.
const CORPUS: &str = "tests/attack";
/// Makes the namespaces usable: loopback with an address that stands for the internet, and private folders and terminals.
const PREPARE: &str = "\
set -e
ip link set lo up
ip address add 203.0.113.7/32 dev lo
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts
mount --bind /dev/pts/ptmx /dev/ptmx
exec \"$@\"";
const UNSHARE: &[&str] =
    &["--user", "--map-root-user", "--net", "--ipc", "--mount", "--pid", "--fork", "--mount-proc"];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let mut corpus = PathBuf::from(CORPUS);
    let mut names = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--corpus" {
            corpus = rest.next().ok_or("`--corpus` needs a folder")?.into();
        } else {
            names.push(argument);
        }
    }
    if !corpus.is_dir() {
        return Err(format!("`{}` is not a folder", corpus.display()));
    }
    let in_namespaces = |program: &Path| {
        let mut command = Command::new("unshare");
        command.args(UNSHARE).args(["sh", "-c", PREPARE, "sh"]).arg(program);
        command
    };
    capture(&mut in_namespaces(Path::new("true"))).map_err(|error| {
        format!("this system refuses the namespaces that keep the servers from the network; nothing was run ({error})")
    })?;
    run(&mut cargo(["build", "--quiet", "--package", "mcp-tests", "--bin", "mcp-attack"]))?;
    let target = Workspace::load()?.target;
    let folder = target.join("attack");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    run(in_namespaces(&target.join("debug/mcp-attack")).arg(folder).arg(corpus).args(names))
}
