//! The environment for expansion, as a value.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
};

/// A snapshot of the variables and folders that templates may refer to. `Debug` prints no values.
///
/// ```
/// # use mcp_config::Environment;
/// let env = Environment::empty().with("TOKEN", "s3cret");
/// assert_eq!(env.get("TOKEN"), Some("s3cret"));
/// assert!(!format!("{env:?}").contains("s3cret"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: HashMap<String, String>,
    /// The value of `${workspaceFolder}`.
    pub workspace: Option<PathBuf>,
    /// The value of `~` and `${userHome}`.
    pub home: Option<PathBuf>,
}

impl Environment {
    /// An environment without variables.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A snapshot of this process's variables and home directory. Names or values that are not UTF-8 are left
    /// out.
    pub fn current() -> Self {
        let text = std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self { variables: text.collect(), workspace: None, home: std::env::home_dir() }
    }

    /// Sets one variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the project's folder.
    #[must_use]
    pub fn in_workspace(mut self, folder: &Path) -> Self {
        self.workspace = Some(folder.to_owned());
        self
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Environment")
            .field("variables", &self.variables.len())
            .field("workspace", &self.workspace)
            .field("home", &self.home)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_environment_is_that_of_the_process() {
        let current = Environment::current();
        assert_eq!(current.get("PATH"), Some(&*std::env::var("PATH").unwrap()));
        assert_eq!(current.home, std::env::home_dir());
        assert_eq!(current.workspace, None);
    }

    #[test]
    fn debug_counts_variables_and_shows_no_value() {
        let env = Environment::empty().with("TOKEN", "s3cret").in_workspace(Path::new("/code"));
        assert_eq!(
            format!("{env:?}"),
            r#"Environment { variables: 1, workspace: Some("/code"), home: None }"#
        );
    }
}
