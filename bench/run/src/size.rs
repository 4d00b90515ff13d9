//! The static cost of a minimal stdio client: crates, bytes, and the time of a clean build.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use nix::sys::resource::{UsageWho, getrusage};

use crate::{
    catalogue::{Better, Target},
    table::{self, Row},
    worker,
};

/// The target: half of rmcp's client.
const HALF: &[Target] = &[Target::Times(2.0)];

#[derive(Default)]
struct Cost {
    crates: f64,
    bytes: f64,
    wall_s: f64,
    cpu_s: f64,
}

pub(crate) fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let [ours, rmcp] = ["minimal-ours", "minimal-rmcp"].map(|package| cost(&root, package));
    let (ours, rmcp) = (ours?, rmcp?);
    let row = |name: &str, unit, of: fn(&Cost) -> f64| Row {
        name: name.into(),
        unit,
        better: Better::Lower,
        targets: HALF,
        values: [None, Some(of(&ours)), Some(of(&rmcp)), None, None, None],
    };
    let rows = [
        row("dependencies", "crates", |cost| cost.crates),
        row("stripped release binary", "KiB", |cost| cost.bytes / 1024.0),
        row("clean release build", "s", |cost| cost.wall_s),
        row("", "CPU s", |cost| cost.cpu_s),
    ];
    table::print("a minimal stdio client", &rows);
    Ok(())
}

fn cost(root: &Path, package: &str) -> Result<Cost, String> {
    eprintln!("building {package} from nothing");
    // A separate, empty target directory, so that nothing is reused.
    let target = root.join("target").join(format!("size-{package}"));
    if target.exists() {
        fs::remove_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    }
    let cpu = children_cpu_s();
    let begun = Instant::now();
    let profile = ["--profile", "minimal", "--jobs", "2"];
    worker::output(
        cargo(root).args(["build", "-p", package, "--target-dir"]).arg(&target).args(profile),
    )?;
    let wall_s = begun.elapsed().as_secs_f64();
    let cpu_s = children_cpu_s() - cpu;
    let binary: PathBuf = target.join("minimal").join(package);
    let bytes = fs::metadata(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    Ok(Cost { crates: crates(root, package)?, bytes: bytes.len() as f64, wall_s, cpu_s })
}

/// The number of crates in a build, without the client itself.
fn crates(root: &Path, package: &str) -> Result<f64, String> {
    let args = ["tree", "-p", package, "-e", "normal", "--prefix", "none", "--no-dedupe"];
    let output = worker::output(cargo(root).args(args))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let crates: BTreeSet<_> = text.lines().filter(|line| !line.is_empty()).collect();
    Ok(crates.len().saturating_sub(1) as f64)
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Flags in the environment would change the result.
    command.current_dir(root).env_remove("RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
    command
}

/// CPU time of all ended children in seconds: it does not depend on other load.
fn children_cpu_s() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| {
        [usage.user_time(), usage.system_time()]
            .iter()
            .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
            .sum()
    })
}
