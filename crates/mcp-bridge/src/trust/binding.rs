//! Identifies the server that an approval is bound to.

use std::path::Path;

use mcp_config::{ServerConfig, Transport, approval::Fingerprint};
use sha2::{Digest, Sha256};

use crate::digest::hex;

/// The identity of a server in approvals, pins and catalogues: its configuration as written, and its project if
/// the same entry means a different server in another project.
///
/// The default is for tools of the host, which do not depend on a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Binding {
    /// Empty: a tool of the host.
    pub(crate) key: String,
    /// Whether approvals of earlier versions, which are not bound to a server, apply. They do not for entries
    /// of a project.
    pub(crate) takes_unbound: bool,
}

impl Binding {
    /// The binding of `config` in `project`. `from_project`: the entry is in the project's own file.
    pub(crate) fn of(config: &ServerConfig, project: Option<&Path>, from_project: bool) -> Self {
        let fingerprint = Fingerprint::of(config).to_string();
        let project = project.filter(|_| from_project || is_relative(config));
        let key = match project {
            Some(project) => {
                let hash = Sha256::digest(project.as_os_str().as_encoded_bytes());
                format!("{fingerprint}@{}", hex(&hash))
            }
            None => fingerprint,
        };
        Self { takes_unbound: project.is_none(), key }
    }
}

/// Whether a program or its arguments depend on the working directory, so that the same entry starts a
/// different program in another project.
fn is_relative(config: &ServerConfig) -> bool {
    let Transport::Stdio(program) = &config.transport else { return false };
    let words = std::iter::once(&program.command).chain(&program.args).chain(&program.cwd);
    words.map(|word| value_of(word.unexpanded())).any(|word| {
        let is_package = word.starts_with('@') || word.contains("://");
        let is_path = word.contains(['/', '\\']) || word.starts_with('.') || has_extension(word);
        word.contains("${workspaceFolder") || is_path && !is_package && !is_absolute(word)
    })
}

/// The value of an option such as `--root=./data`, or the word itself.
fn value_of(word: &str) -> &str {
    if word.starts_with('-') { word.split_once('=').map_or("", |(_, value)| value) } else { word }
}

fn is_absolute(word: &str) -> bool {
    Path::new(word).is_absolute() || word.starts_with(['~', '$'])
}

/// Whether a word looks like a file name, as in `python server.py`.
fn has_extension(word: &str) -> bool {
    let extension = word.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|text| text.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use mcp_config::Stdio;

    use super::*;

    fn key(words: &[&str], project: &str) -> String {
        let mut program = Stdio::new(words[0]);
        program.args = words[1..].iter().map(|word| (*word).into()).collect();
        let config = ServerConfig::new("s".parse().unwrap(), Transport::Stdio(program));
        Binding::of(&config, Some(Path::new(project)), false).key
    }

    #[test]
    fn relative_program_has_a_different_key_per_project() {
        for (words, differs) in [
            (&["./server.py"][..], true),
            (&["python3", "server.py"], true),
            (&["node", "build/index.js"], true),
            (&["bin/server", "--stdio"], true),
            (&["server", "--root=./data", "-v"], true),
            (&["sh", "-c", "${workspaceFolder}/run"], true),
            (&["mcp-server-time"], false),
            (&["npx", "-y", "@modelcontextprotocol/server-everything"], false),
            (&["/usr/bin/python3", "/opt/server.py"], false),
        ] {
            assert_eq!(key(words, "/a") != key(words, "/b"), differs, "{words:?}");
        }
    }

    #[test]
    fn project_entry_is_bound_to_its_project() {
        let program = Transport::Stdio(Stdio::new("mcp-server-time"));
        let config = ServerConfig::new("s".parse().unwrap(), program);
        let of = |project: &str, from| Binding::of(&config, Some(Path::new(project)), from);
        assert_ne!(of("/a", true).key, of("/b", true).key);
        assert_eq!(of("/a", false).key, of("/b", false).key);
        assert!(of("/a", false).takes_unbound && !of("/a", true).takes_unbound);
    }

    #[test]
    fn remote_and_absolute_words_do_not_depend_on_the_project() {
        for (words, differs) in [
            (&["~/bin/server"][..], false),
            (&["$HOME/bin/server", "run"], false),
            (&["server", "https://example.com/a.json"], false),
            (&["server", "--config=/etc/server.json"], false),
            (&["server", "--config.path"], false),
            (&["server", "@scope/package"], false),
            (&["server", r"build\server"], true),
            (&["server", ".hidden folder"], true),
            (&["server", "v1.0 beta"], false),
        ] {
            assert_eq!(key(words, "/a") != key(words, "/b"), differs, "{words:?}");
        }
        let mut program = Stdio::new("server");
        program.cwd = Some("tools/x".into());
        let config = ServerConfig::new("s".parse().unwrap(), Transport::Stdio(program));
        let of = |project: &str| Binding::of(&config, Some(Path::new(project)), false);
        assert_ne!(of("/a").key, of("/b").key);
        assert_ne!(Binding::of(&config, None, false).key, of("/a").key);
        assert!(!of("/a").takes_unbound && Binding::of(&config, None, true).takes_unbound);
    }
}
