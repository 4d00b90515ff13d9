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
/// Arguments: an empty folder, what to keep if it is below `/tmp` (a checkout may be there), `--`, and the command.
const PREPARE: &str = "\
set -e
ip link set lo up
ip address add 203.0.113.7/32 dev lo
stage=$1
shift
mount -t tmpfs tmpfs \"$stage\"
while [ \"$1\" != -- ]; do
    case $1 in /tmp/*) mkdir -p \"$stage/${1#/tmp/}\"; mount --bind \"$1\" \"$stage/${1#/tmp/}\" ;; esac
    shift
done
shift
mount --rbind \"$stage\" /tmp
cd \"$PWD\"
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
    let real =
        |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let corpus = real(&corpus)?;
    let target = Workspace::load()?.target;
    let (folder, stage) = (target.join("attack/machine"), target.join("attack/tmp"));
    for folder in [&folder, &stage] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let (root, target) = (real(Path::new("."))?, real(&target)?);
    let in_namespaces = |program: &Path| {
        let mut command = Command::new("unshare");
        command.args(UNSHARE).args(["sh", "-c", PREPARE, "sh"]);
        command.arg(&stage).args([&root, &target, &corpus]).arg("--").arg(program);
        command
    };
    capture(&mut in_namespaces(Path::new("true"))).map_err(|error| {
        format!("this system refuses the namespaces that keep the servers from the network; nothing was run ({error})")
    })?;
    run(&mut cargo(["build", "--quiet", "--package", "mcp-tests", "--bin", "mcp-attack"]))?;
    let program = target.join("debug/mcp-attack");
    run(in_namespaces(&program).arg(folder).arg(&corpus).args(names))
}
