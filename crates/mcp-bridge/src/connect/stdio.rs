//! Options for local server programs.

use std::{ffi::OsString, path::PathBuf};

use mcp_config::model::InheritEnv;
use mcp_transport::{StdioOptions, process::Environment};

/// Options for starting a program. Its variables are already expanded.
pub(super) fn options(program: &mcp_config::Stdio, is_trusted: bool) -> StdioOptions {
    let mut options = StdioOptions::new(program.command.expose());
    options.environment = environment(program, is_trusted);
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
        // Variables that are not inherited need no removal. For the others an empty value is as good as unset.
        options.env.insert(name.into(), OsString::new());
    }
    options
}

fn environment(program: &mcp_config::Stdio, is_trusted: bool) -> Environment {
    match program.inherit_env {
        InheritEnv::All => Environment::All,
        _ if is_trusted => Environment::Trusted,
        _ => Environment::Safe,
    }
}

/// The names of variables that programs often need, that are set and that this program does not get.
pub(crate) fn withheld(program: &mcp_config::Stdio, is_trusted: bool) -> Vec<String> {
    let mut options = StdioOptions::new(program.command.unexpanded());
    options.environment = environment(program, is_trusted);
    let given = program.env.iter().map(|(name, _)| name);
    let named = program.env_pass.iter().chain(&program.env_unset).map(String::as_str);
    for name in given.chain(named) {
        options.env.insert(name.into(), OsString::new());
    }
    options.withheld()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_environment_depends_on_entry_and_trust() {
        let mut program = mcp_config::Stdio::new("server");
        assert_eq!(options(&program, false).environment, Environment::Safe);
        assert_eq!(options(&program, true).environment, Environment::Trusted);
        program.inherit_env = InheritEnv::All;
        assert_eq!(options(&program, false).environment, Environment::All);
    }
}
