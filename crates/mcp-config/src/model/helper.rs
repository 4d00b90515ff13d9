//! The command that prints the headers of a remote server, as it is run.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::{
    secret_map::SecretMap,
    server::Remote,
    template::{SecretText, Template},
};

/// How [`Remote::headers_helper`] is run. Disclosures look up its program with this value and hosts start it with
/// this value, so that the program shown is the program that runs.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HelperCommand {
    /// The program and its arguments; empty if the text is blank. It is not run by a shell, so quotes have no
    /// meaning.
    pub line: Vec<String>,
    /// The directory to start it in, which relative paths of the program and its arguments begin at.
    pub cwd: Option<PathBuf>,
    /// Variables set for it, in order: a later one replaces an earlier one of its name.
    pub env: Vec<(String, String)>,
}

impl Remote {
    /// The command of [`Remote::headers_helper`]: it runs in the folder of the project, with the variables of `host`
    /// that the entry passes on and those that the entry sets.
    ///
    /// ```
    /// use mcp_config::Remote;
    ///
    /// let mut remote = Remote::new("https://example.com/mcp");
    /// remote.headers_helper = Some("./headers.sh --json".into());
    /// remote.env_pass.push("USER".into());
    /// let project = Some("/code/app".as_ref());
    /// let command = remote.helper_command(project, |name| Some(name.to_lowercase())).unwrap();
    /// assert_eq!(command.line, ["./headers.sh", "--json"]);
    /// assert_eq!(command.cwd.as_deref(), project);
    /// assert_eq!(command.env, [("USER".into(), "user".into())]);
    /// ```
    pub fn helper_command(
        &self,
        project: Option<&Path>,
        host: impl Fn(&str) -> Option<String>,
    ) -> Option<HelperCommand> {
        let line = self.headers_helper.as_ref().map(Template::expose)?;
        let passed = self.env_pass.iter().filter_map(|name| Some((name.clone(), host(name)?)));
        let set = self.env.iter().map(|(name, value)| (name.to_owned(), value.expose().to_owned()));
        Some(HelperCommand {
            line: line.split_whitespace().map(str::to_owned).collect(),
            cwd: project.map(Path::to_owned),
            env: passed.chain(set).collect(),
        })
    }
}

impl HelperCommand {
    /// The `PATH` that its program is looked up in, if it is not the host's.
    pub(crate) fn path(&self) -> Option<&str> {
        let mut latest = self.env.iter().rev();
        latest.find(|(name, _)| is_path(name)).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for HelperCommand {
    // Not derived: arguments and values may contain keys.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("HelperCommand")
            .field("program", &self.line.first())
            .field("args", &self.line.len().saturating_sub(1))
            .field("cwd", &self.cwd)
            .field("env", &names)
            .finish()
    }
}

/// The value of `PATH` in the variables of an entry.
pub(crate) fn path_in(env: &SecretMap) -> Option<&SecretText> {
    env.iter().find(|(name, _)| is_path(name)).map(|(_, value)| value)
}

/// Whether a program is looked up in the variable `name`. Windows ignores the case.
pub(crate) fn is_path(name: &str) -> bool {
    if cfg!(windows) { name.eq_ignore_ascii_case("PATH") } else { name == "PATH" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(change: impl FnOnce(&mut Remote)) -> HelperCommand {
        let mut remote = Remote::new("https://h/");
        remote.headers_helper = Some("h --key=CANARY".into());
        change(&mut remote);
        remote.helper_command(None, |name| Some(format!("host {name}"))).unwrap()
    }

    #[test]
    fn path_of_an_entry_replaces_the_path_passed_on() {
        assert_eq!(command(|_| {}).path(), None);
        let passed = command(|remote| remote.env_pass.push("PATH".into()));
        assert_eq!(passed.path(), Some("host PATH"));
        let set = command(|remote| {
            remote.env_pass.push("PATH".into());
            remote.env.insert("PATH", "/entry".into());
            remote.env.insert("ZPATH", "/other".into());
        });
        assert_eq!(set.path(), Some("/entry"));
    }

    #[test]
    fn debug_shows_neither_arguments_nor_values() {
        let command = command(|remote| drop(remote.env.insert("A", "CANARY".into())));
        let shown = format!("{command:?}");
        assert!(shown.contains(r#"args: 1, cwd: None, env: ["A"]"#) && !shown.contains("CANARY"));
    }

    #[test]
    fn entry_without_a_helper_has_no_command() {
        let remote = Remote::new("https://h/");
        assert_eq!(remote.helper_command(None, |_| None), None);
    }
}
