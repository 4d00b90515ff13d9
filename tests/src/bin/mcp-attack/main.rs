//! Runs hostile servers with and without a sandbox, and reports what they read, wrote, sent and left running.
//!
//! `cargo xtask attack` starts it in a network namespace without a way out; it refuses to run elsewhere. Each server
//! of our own corpus is run three times: `off` must give a finding, which shows that the attack works at all, `standard`
//! and `strict` must give none.

#![expect(clippy::print_stdout, reason = "stdout is the report")]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod corpus;
#[cfg(target_os = "linux")]
mod drive;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(target_os = "linux")]
mod traps;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    if let Some(code) = mcp_sandbox::launcher::run() {
        return code;
    }
    match run() {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("mcp-attack: {problem}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("mcp-attack runs on Linux");
    ExitCode::FAILURE
}

/// A run that takes longer has not terminated something. The whole corpus takes a few minutes.
#[cfg(target_os = "linux")]
const LONGEST: std::time::Duration = std::time::Duration::from_secs(1200);

/// Arguments: an empty folder to work in, the folder of a corpus, then names to select, or `--sample NUMBER` for that many
/// servers of each class.
#[cfg(target_os = "linux")]
fn run() -> Result<ExitCode, Box<dyn std::error::Error>> {
    use mcp_sandbox::Level;

    check_isolation()?;
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("the folder to work in is missing")?;
    let corpus = corpus::load(&args.next().ok_or("the folder of the corpus is missing")?)?;
    let mut wanted: Vec<String> = args.collect();
    let mut sample = usize::MAX;
    if let Some(at) = wanted.iter().position(|word| word == "--sample") {
        sample = wanted.get(at + 1).ok_or("`--sample` needs a number")?.parse()?;
        wanted.drain(at..at + 2);
    }
    let is_wanted = |server: &corpus::Server| {
        wanted.is_empty()
            || wanted.iter().any(|part| server.name.contains(part) || server.class == *part)
    };
    let began = std::time::Instant::now();
    let mut of_class: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    let (mut servers, mut findings, mut ineffective) = (0, 0, 0);
    for server in corpus.servers.iter().filter(|server| is_wanted(server)) {
        let count = of_class.entry(&server.class).or_default();
        *count += 1;
        if *count > sample {
            continue;
        }
        if began.elapsed() > LONGEST {
            return Err(format!("stopped after {} s, at {}", LONGEST.as_secs(), server.name).into());
        }
        servers += 1;
        // The servers of others never run without a sandbox, which would leave them the files of this machine.
        let levels = [Level::Off, Level::Standard, Level::Strict];
        for &level in &levels[usize::from(!corpus.must_succeed)..] {
            let found = drive::run(server, level, folder.as_ref())?;
            let found: Vec<_> = found.into_iter().filter(|finding| finding.counts(level)).collect();
            let shown: Vec<_> = found.iter().map(ToString::to_string).collect();
            let (name, class, level_name) = (&server.name, &server.class, level.name());
            if level == Level::Off {
                if found.is_empty() && corpus.must_succeed {
                    ineffective += 1;
                    println!("INEFFECTIVE {class} {name}: no finding without a sandbox");
                }
            } else if !found.is_empty() {
                findings += found.len();
                println!("FINDING {class} {name} under {level_name}: {}", shown.join("; "));
            }
        }
    }
    println!(
        "{servers} servers, {findings} findings under standard and strict, {ineffective} ineffective without, in {:.0} s",
        began.elapsed().as_secs_f64()
    );
    let is_good = servers > 0 && findings == 0 && ineffective == 0;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Nothing that a server does may leave this machine, whatever its profile.
#[cfg(target_os = "linux")]
fn check_isolation() -> Result<(), Box<dyn std::error::Error>> {
    let devices = std::fs::read_to_string("/proc/net/dev")?;
    let names: Vec<&str> =
        devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    let routes = std::fs::read_to_string("/proc/net/route")?.lines().count();
    if names != ["lo"] || routes > 1 || std::process::id() != 1 {
        return Err(
            "needs network and process namespaces of its own: run `cargo xtask attack`".into()
        );
    }
    Ok(())
}
