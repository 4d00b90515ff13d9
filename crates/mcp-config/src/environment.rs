//! The variables expansion may see, as a value.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
};

use crate::template::{Part, Template};

/// A snapshot of what templates may refer to. Its `Debug` prints no value.
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
    /// What `${workspaceFolder}` is.
    pub workspace: Option<PathBuf>,
    /// What `~` and `${userHome}` are.
    pub home: Option<PathBuf>,
}

impl Environment {
    /// No variables at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// This process's variables and home directory, as they are now. Names or values that are not
    /// UTF-8 are left out.
    pub fn current() -> Self {
        let text = std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Self { variables: text.collect(), workspace: None, home: std::env::home_dir() }
    }

    /// The same with one variable set.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same with the project's folder known.
    #[must_use]
    pub fn in_workspace(mut self, folder: &Path) -> Self {
        self.workspace = Some(folder.to_owned());
        self
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// `template` as far as it can be known without asking anyone: what is unset stays as written.
    ///
    /// For comparing and matching, where a guess is better than nothing; never for connecting.
    pub(crate) fn guess<'t>(&self, template: &'t Template) -> Cow<'t, str> {
        if template.is_final() {
            return Cow::Borrowed(template.expose());
        }
        let mut text = String::new();
        for part in template.parts() {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Variable { name, default } => match (self.get(name), default) {
                    (Some(value), _) => text.push_str(value),
                    (None, Some(default)) => text.push_str(&self.guess(default)),
                    (None, None) => part.write_own(&mut text),
                },
                Part::WorkspaceFolder => match &self.workspace {
                    Some(folder) => text.push_str(&folder.to_string_lossy()),
                    None => part.write_own(&mut text),
                },
                Part::UserHome => match &self.home {
                    Some(home) => text.push_str(&home.to_string_lossy()),
                    None => part.write_own(&mut text),
                },
                other => other.write_own(&mut text),
            }
        }
        Cow::Owned(text)
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
