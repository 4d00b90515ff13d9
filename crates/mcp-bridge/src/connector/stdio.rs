//! Programs to start.

use std::{ffi::OsString, path::PathBuf};

use mcp_transport::{Stdio, StdioOptions};

/// A way to a program whose variables are replaced already.
pub(super) fn connect(program: &mcp_config::Stdio) -> Stdio {
    let mut options = StdioOptions::new(program.command.expose());
    options.args = program.args.iter().map(|arg| OsString::from(arg.expose())).collect();
    options.cwd = program.cwd.as_ref().map(|cwd| PathBuf::from(cwd.expose()));
    for name in &program.env_pass {
        if let Some(value) = std::env::var_os(name) {
            options.env.insert(name.into(), value);
        }
    }
    for (name, value) in program.env.iter() {
        options.env.insert(name.into(), value.expose().into());
    }
    for name in &program.env_unset {
        // What is not passed on need not be removed, and what is set to nothing is as good as unset.
        options.env.insert(name.into(), OsString::new());
    }
    Stdio::new(options)
}
