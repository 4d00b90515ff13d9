//! `cargo xtask platforms`: the libraries and the command on the systems that CI does not run on.
//!
//! Nothing is linked or run: the compiler and clippy look at the code that is meant for each system. What is
//! built on C (the cryptography of TLS) needs a compiler for that system; without one the rest is looked at.

use std::{env, path::Path, process::Command};

use crate::{
    no_arguments,
    process::{capture, cargo, exists, run},
};

struct Target {
    name: &'static str,
    /// A C compiler that would do, if it is in the PATH.
    compiler: Option<&'static str>,
}

const TARGETS: &[Target] = &[
    Target { name: "x86_64-pc-windows-gnu", compiler: Some("x86_64-w64-mingw32-gcc") },
    Target { name: "x86_64-pc-windows-msvc", compiler: None },
    Target { name: "aarch64-apple-darwin", compiler: None },
];

/// All that is shipped, whole.
const EVERYTHING: &[&str] =
    &["--workspace", "--exclude=mcp-tests", "--exclude=xtask", "--all-features"];

/// The cuts that need no C compiler.
const WITHOUT_C: &[&[&str]] = &[
    &["--package=mcp-jsonrpc", "--package=mcp-config", "--package=mcp-search", "--all-features"],
    &[
        "--package=mcp-transport",
        "--package=mcp-client",
        "--package=mcp-bridge",
        "--no-default-features",
        "--features=mcp-transport/stdio,mcp-transport/testing,mcp-client/stdio,mcp-client/skills",
        "--features=mcp-bridge/stdio,mcp-bridge/validate,mcp-bridge/serve-http",
    ],
    &["--package=mcp-auth", "--no-default-features"],
];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = capture(Command::new(rustc).args(["--print", "sysroot"]))?;
    let (mut looked, mut left_out) = (Vec::new(), Vec::new());
    for target in TARGETS {
        let name = target.name;
        let std = Path::new(sysroot.trim()).join("lib/rustlib").join(name);
        if !std.exists() {
            left_out
                .push(format!("{name}: all of it; `rustup target add {name}` makes it possible"));
            continue;
        }
        if has_compiler(target) {
            check(name, EVERYTHING)?;
            looked.push(name.to_owned());
        } else {
            for cut in WITHOUT_C {
                check(name, cut)?;
            }
            left_out.push(format!(
                "{name}: mcp-cli, and what needs TLS: HTTP, WebSocket, OAuth; {} names a C compiler",
                variable(name)
            ));
            looked.push(format!("{name} (in part)"));
        }
    }
    let list = |all: &[String]| if all.is_empty() { "nothing".into() } else { all.join("\n  ") };
    println!("looked at:\n  {}\nleft out:\n  {}", list(&looked), list(&left_out));
    Ok(())
}

fn check(target: &str, cut: &[&str]) -> Result<(), String> {
    let mut clippy = cargo(["clippy", "--quiet", "--lib", "--bins", "--target", target]);
    run(clippy.args(cut).args(["--", "-Dwarnings"]))
}

/// The one that was named, one that everybody calls the same, or the system's own on that system.
fn has_compiler(target: &Target) -> bool {
    let is_here = target.name.contains(env::consts::OS)
        || (target.name.contains("apple") && env::consts::OS == "macos");
    is_here || env::var_os(variable(target.name)).is_some() || target.compiler.is_some_and(exists)
}

/// Where the `cc` crate looks for a compiler.
fn variable(target: &str) -> String {
    format!("CC_{}", target.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_of_this_system_is_not_asked_for() {
        let here = TARGETS.iter().filter(|target| target.name.contains(env::consts::OS));
        assert!(here.clone().all(has_compiler), "{}", here.count());
    }

    #[test]
    fn the_variable_is_the_one_that_cc_reads() {
        assert_eq!(variable("aarch64-apple-darwin"), "CC_aarch64_apple_darwin");
    }

    #[test]
    fn without_c_there_is_no_tls() {
        for cut in WITHOUT_C {
            let line = cut.join(" ");
            for heavy in ["/http", "/ws", "reqwest", "oauth"] {
                let found = line.replace("serve-http", "").contains(heavy);
                assert!(!found, "{line}: {heavy}");
            }
        }
    }
}
