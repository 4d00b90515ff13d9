//! `cargo xtask platforms`: checks the libraries and the command for systems that CI does not run on.
//!
//! Only clippy runs, for each target. Crates with C code (the cryptography of TLS) need a C compiler for the target;
//! without one the other crates are checked. Targets that are not installed are named, `NOT CHECKED`; with `--strict`
//! they are an error.

use std::{env, path::Path, process::Command};

use crate::{
    process::{capture, cargo, exists, run},
    strict::{self, Unchecked},
};

struct Target {
    name: &'static str,
    /// A suitable C compiler, if it is in the PATH.
    compiler: Option<&'static str>,
}

const TARGETS: &[Target] = &[
    Target { name: "x86_64-pc-windows-gnu", compiler: Some("x86_64-w64-mingw32-gcc") },
    Target { name: "x86_64-pc-windows-msvc", compiler: None },
    Target { name: "aarch64-apple-darwin", compiler: None },
];

/// All published packages with all features.
const EVERYTHING: &[&str] =
    &["--workspace", "--exclude=mcp-tests", "--exclude=xtask", "--all-features"];

/// The selections that do not need a C compiler.
const WITHOUT_C: &[&[&str]] = &[
    &[
        "--package=mcp-safe",
        "--package=mcp-jsonrpc",
        "--package=mcp-types",
        "--package=mcp-tool",
        "--package=mcp-providers",
        "--package=mcp-config",
        "--package=mcp-search",
        "--package=mcp-schema",
        "--package=mcp-sandbox",
        "--all-features",
    ],
    &[
        "--package=mcp-transport",
        "--package=mcp-client",
        "--package=mcp-bridge",
        "--package=mcp-server",
        "--package=mcp-gateway",
        "--no-default-features",
        "--features=mcp-transport/stdio,mcp-transport/record,mcp-transport/testing,mcp-client/stdio,mcp-client/skills",
        "--features=mcp-bridge/stdio,mcp-bridge/validate,mcp-server/http,mcp-gateway/stdio",
    ],
    &["--package=mcp-auth", "--no-default-features"],
];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let mut unchecked = Unchecked::new(strict::parse(arguments)?);
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = capture(Command::new(rustc).args(["--print", "sysroot"]))?;
    let mut checked = Vec::new();
    for target in TARGETS {
        let name = target.name;
        let std = Path::new(sysroot.trim()).join("lib/rustlib").join(name);
        if !std.exists() {
            unchecked.add(&format!("{name}; `rustup target add {name}` makes it possible"));
        } else if has_compiler(target) {
            check(name, EVERYTHING)?;
            checked.push(name.to_owned());
        } else {
            for cut in WITHOUT_C {
                check(name, cut)?;
            }
            // Not an error of `--strict`: compilers for these targets are not to be had on every system.
            println!(
                "{name}: NOT CHECKED: mcp-cli, and what needs TLS: HTTP, WebSocket, OAuth; {} names a C compiler",
                variable(name)
            );
            checked.push(format!("{name} (in part)"));
        }
    }
    if !checked.is_empty() {
        println!("checked: {}", checked.join(", "));
    }
    unchecked.judge()
}

fn check(target: &str, cut: &[&str]) -> Result<(), String> {
    let mut clippy = cargo(["clippy", "--quiet", "--lib", "--bins", "--target", target]);
    run(clippy.args(cut).args(["--", "-Dwarnings"]))
}

/// Whether a C compiler is configured, found under its usual name, or the system's own for this target.
fn has_compiler(target: &Target) -> bool {
    let is_here = target.name.contains(env::consts::OS)
        || (target.name.contains("apple") && env::consts::OS == "macos");
    is_here || env::var_os(variable(target.name)).is_some() || target.compiler.is_some_and(exists)
}

/// The variable in which the `cc` crate looks for a compiler.
fn variable(target: &str) -> String {
    format!("CC_{}", target.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_target_needs_no_cross_compiler() {
        let here = TARGETS.iter().filter(|target| target.name.contains(env::consts::OS));
        assert!(here.clone().all(has_compiler), "{}", here.count());
    }

    #[test]
    fn the_variable_is_the_one_that_cc_reads() {
        assert_eq!(variable("aarch64-apple-darwin"), "CC_aarch64_apple_darwin");
    }

    #[test]
    fn selections_without_c_do_not_include_tls() {
        for cut in WITHOUT_C {
            let line = cut.join(" ");
            for heavy in ["/http", "/ws", "reqwest", "oauth"] {
                let found = line.replace("mcp-server/http", "").contains(heavy);
                assert!(!found, "{line}: {heavy}");
            }
        }
    }
}
