//! Runs a program in a sandbox: `cargo run -p mcp-sandbox --example run -- standard /bin/sh -c 'ls ~'`.
//!
//! The current folder is the project. The report comes last, on standard error.

use std::{
    env,
    error::Error,
    process::{Command, ExitCode},
};

use mcp_sandbox::{Entry, Launch, Profile, Report, launcher};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = launcher::run() {
        return Ok(code);
    }
    let mut args = env::args_os().skip(1);
    let profile = args.next().ok_or("usage: run PROFILE PROGRAM [ARGUMENTS]")?;
    let profile = profile.to_str().ok_or("the profile is not UTF-8")?;
    // A word, or the JSON of an object.
    let json = serde_json::from_str(profile).unwrap_or_else(|_| profile.into());
    let profile = Profile::from_json(&json)?;

    let program = args.next().ok_or("the program's absolute path is missing")?;
    let home = env::home_dir().ok_or("the home folder is unknown")?;
    let state = home.join(".local/state/mcp-sandbox-example");
    let mut entry = Entry::new(&program, home, state);
    entry.args = args.collect();
    entry.variables = env::vars_os().collect();
    entry.project = Some(env::current_dir()?);
    let resolved = profile.resolve(&entry)?;
    resolved.notes.iter().for_each(|note| eprintln!("note: {note}"));

    let launch = Launch::prepare(resolved.rules)?;
    let (launcher, args) = launch.command(program, entry.args);
    let status = Command::new(launcher).args(args).status()?;
    for missing in Report::read(launch.report())?.into_iter().flat_map(|report| report.missing) {
        eprintln!("missing: {missing}");
    }
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
