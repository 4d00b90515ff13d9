//! The text that a user sees before deciding about an entry, and the hash that the decision is bound to.

use std::{fmt, path::Path};

use super::{
    facts::{Fact, facts},
    fingerprint::Fingerprint,
};
use crate::{
    expand::{Environment, Expanded},
    model::{ServerConfig, ServerName, lines},
};

/// A complete entry as written, with the facts needed to decide whether it is safe.
///
/// Nothing is cut or redacted: it is the text of a repository's file, not the user's secret, and all of it
/// takes effect. Variables are shown by name, never by value. Every line is escaped.
///
/// ```
/// use mcp_config::{Environment, Remote, ServerConfig, Transport, approval::Disclosure};
/// let mut remote = Remote::new("https://${HOST}/mcp");
/// remote.headers.insert("X-Key", "${TOKEN}".into());
/// let config = ServerConfig::new("x".parse()?, Transport::Http(remote));
/// let env = Environment::empty().with("HOST", "evil.test").with("TOKEN", "s3cret");
/// let shown = Disclosure::of(&config, &env, "/code/app".as_ref()).to_string();
/// assert!(shown.contains(r#"headers.X-Key "${TOKEN}""#));
/// assert!(shown.contains("sends your variable $TOKEN to evil.test"));
/// assert!(!shown.contains("s3cret"));
/// # Ok::<(), mcp_config::model::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disclosure {
    /// The server.
    pub name: ServerName,
    /// Every setting of the entry, as `path value`.
    pub lines: Vec<String>,
    /// The effects of the entry on this machine.
    pub facts: Vec<Fact>,
}

impl Disclosure {
    /// Discloses the current state of `config`: reads variables, looks for its program, and hashes the files
    /// of `project` that its command line refers to.
    pub fn of(config: &ServerConfig, env: &Environment, project: &Path) -> Self {
        Self::with(config, facts(config, env, project, None))
    }

    /// Discloses `entry` with the facts about its expansion, which is what would be started or connected to.
    pub(super) fn of_expanded(
        entry: &ServerConfig,
        expanded: &Expanded,
        env: &Environment,
        project: &Path,
    ) -> Self {
        Self::with(entry, facts(expanded, env, project, expanded.env_file.as_ref()))
    }

    fn with(entry: &ServerConfig, facts: Vec<Fact>) -> Self {
        Self { name: entry.name.clone(), lines: lines(entry), facts }
    }

    /// The hash that an approval is bound to: the entry as written and the facts. A rotated secret does not
    /// change it; a different host, program, script or recipient of a secret does.
    pub fn fingerprint(&self) -> Fingerprint {
        let facts: Vec<String> = self.facts.iter().map(Fact::to_string).collect();
        // Without the number of lines, the last line of one entry could be the first fact of another.
        let count = self.lines.len().to_string();
        let texts = self.lines.iter().chain(&facts).map(String::as_str);
        Fingerprint::of_texts("mcp-config approval 2", std::iter::once(&*count).chain(texts))
    }
}

/// The lines of the entry, then the facts.
impl fmt::Display for Disclosure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        self.facts.iter().try_for_each(|fact| writeln!(out, "  * {fact}"))
    }
}
