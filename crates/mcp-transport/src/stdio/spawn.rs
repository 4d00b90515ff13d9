//! Starts a program with its environment, working directory, session and process group.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::Stdio,
    sync::Arc,
};

use tokio::process::{Child, Command};

use super::{
    descendants::{self, Mark},
    environment, lifeline,
    options::StdioOptions,
    process_group::ProcessGroup,
    program, session,
    wrap::ServerCommand,
};
use crate::error::ConnectError;

/// Starts the program of `options`; `connect` sets its standard streams.
pub(super) fn spawn(
    options: &StdioOptions,
    connect: impl FnOnce(&mut Command),
) -> Result<(Child, Arc<ProcessGroup>), ConnectError> {
    if let Some(cwd) = options.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
        return Err(ConnectError::NoSuchDirectory(cwd.into()));
    }
    check_text(options)?;
    let mut env = environment::for_server(options.environment, &options.env);
    if options.cwd.is_some() && !options.env.contains_key(OsStr::new("PWD")) {
        // The host's PWD would be wrong in another directory.
        env.remove(OsStr::new("PWD"));
    }
    let path = env.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let program = program::find(&options.program, options.cwd.as_deref(), path)?;
    let (program, args) = match &options.wrap {
        Some(wrap) => wrap(&ServerCommand {
            program: &program,
            args: &options.args,
            env: &env,
            cwd: options.cwd.as_deref(),
        })?,
        None => (program, options.args.clone()),
    };

    // Started before the server, so that only the moment between a server's start and its entry in the watchdog's
    // list is not covered.
    let lifeline = options.lifeline.then(lifeline::shared).flatten();
    let mark = Mark::new();
    let mut command = session::command(&program);
    command
        .args(args)
        .env_clear()
        .envs(env)
        .env(descendants::VARIABLE, mark.value())
        .kill_on_drop(true);
    connect(&mut command);
    if let Some(cwd) = &options.cwd {
        command.current_dir(cwd);
    }
    let child = command.spawn().map_err(|source| ConnectError::Spawn { program, source })?;
    let group = Arc::new(ProcessGroup::of(&child, mark, lifeline));
    Ok((child, group))
}

/// Uses pipes for all three streams.
pub(super) fn with_pipes(command: &mut Command) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// Rejects text that the system would reject with an unclear error.
fn check_text(options: &StdioOptions) -> Result<(), ConnectError> {
    let has_nul = |text: &OsStr| text.as_encoded_bytes().contains(&0);
    let invalid = |problem: String| Err(ConnectError::InvalidOptions(problem));
    if options.program.is_empty() {
        return invalid("the program's name is empty".into());
    }
    if has_nul(&options.program) || options.cwd.as_deref().map(Path::as_os_str).is_some_and(has_nul)
    {
        return invalid("the program's name or directory holds a NUL character".into());
    }
    if let Some(at) = options.args.iter().position(|arg| has_nul(arg)) {
        return invalid(format!("argument {} holds a NUL character", at + 1));
    }
    for (name, value) in &options.env {
        let bytes = name.as_encoded_bytes();
        if bytes.is_empty() || bytes.contains(&b'=') || has_nul(name) {
            return invalid(format!(
                "`{}` is not a valid name for an environment variable",
                name.display()
            ));
        }
        if has_nul(value) {
            return invalid(format!(
                "environment variable `{}` holds a NUL character",
                name.display()
            ));
        }
    }
    Ok(())
}
