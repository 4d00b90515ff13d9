//! Tool names that are valid for all providers.

use std::collections::{HashMap, HashSet};

use mcp_config::model::glob_matches;
use sha2::{Digest, Sha256};

use crate::digest::hex;

/// The maximum length of a name that all providers accept.
pub(crate) const LONGEST: usize = 64;

/// How the name of a tool is composed of the server's name and the tool's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameScheme {
    /// `mcp__server__tool`.
    #[default]
    Double,
    /// `server_tool`.
    Plain,
    /// `mcp_server_tool`.
    Single,
    /// `tool`, for a bridge with one server. If two servers have tools of the same name, the second gets a
    /// suffix.
    Own,
}

/// Assigns unique names. A tool keeps its name as long as its server is known.
#[derive(Debug, Default)]
pub(crate) struct Namer {
    scheme: NameScheme,
    keep_hyphens: bool,
    /// The server's part of each name, unique among servers.
    servers: HashMap<String, String>,
    given: HashMap<(String, String), String>,
    taken: HashSet<String>,
    commands: HashSet<String>,
}

impl Namer {
    pub(crate) fn new(scheme: NameScheme) -> Self {
        Self { scheme, ..Self::default() }
    }

    /// Sets whether hyphens in names are kept.
    pub(crate) fn keep_hyphens(mut self, keep: bool) -> Self {
        self.keep_hyphens = keep;
        self
    }

    /// Reserves a name for the host. Returns whether it was free.
    pub(crate) fn reserve(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Releases a reserved name.
    pub(crate) fn release(&mut self, name: &str) {
        self.taken.remove(name);
    }

    /// The name of a server's tool, and whether its plain name was taken by another tool.
    pub(crate) fn name(&mut self, server: &str, tool: &str) -> (String, bool) {
        self.keyed(server, tool, tool.to_owned())
    }

    /// The name of a built-in tool that belongs to a server, independent of the server's tool names.
    pub(crate) fn own(&mut self, server: &str, tool: &str) -> String {
        self.keyed(server, tool, format!("\0{tool}")).0
    }

    fn keyed(&mut self, server: &str, tool: &str, key: String) -> (String, bool) {
        let key = (server.to_owned(), key);
        if let Some(name) = self.given.get(&key) {
            return (name.clone(), false);
        }
        let plain = self.compose(server, tool);
        let mut name = plain.clone();
        let mut round = 0_u32;
        while self.taken.contains(&name) {
            // The suffix depends on the tool only, not on a counter, so it is the same in every session.
            name = suffixed(&plain, &[server, tool], round);
            round += 1;
        }
        self.taken.insert(name.clone());
        self.given.insert(key, name.clone());
        (name, round > 0)
    }

    /// Releases the names of a server's tools for which `is_gone` is true.
    pub(crate) fn forget(&mut self, server: &str, is_gone: impl Fn(&str) -> bool) {
        let taken = &mut self.taken;
        self.given.retain(|(of, key), name| {
            let stays = of != server || key.starts_with('\0') || !is_gone(key);
            if !stays {
                taken.remove(name);
            }
            stays
        });
    }

    /// The name of a server's prompt as a command. Commands and tools have separate namespaces.
    pub(crate) fn command(&mut self, server: &str, prompt: &str, key: &str) -> String {
        let key = (server.to_owned(), key.to_owned());
        if let Some(name) = self.given.get(&key) {
            return name.clone();
        }
        let plain = self.compose(server, prompt);
        let mut name = plain.clone();
        let mut round = 0;
        while self.commands.contains(&name) {
            name = suffixed(&plain, &[server, prompt], round);
            round += 1;
        }
        self.commands.insert(name.clone());
        self.given.insert(key, name.clone());
        name
    }

    fn compose(&mut self, server: &str, tool: &str) -> String {
        let server_part = self.server_part(server);
        let tool_part = self.part(tool);
        let full = match self.scheme {
            NameScheme::Double => format!("mcp__{server_part}__{tool_part}"),
            NameScheme::Plain => format!("{server_part}_{tool_part}"),
            NameScheme::Single => format!("mcp_{server_part}_{tool_part}"),
            NameScheme::Own => tool_part,
        };
        if full.len() > LONGEST { suffixed(&full, &[server, tool], 0) } else { full }
    }

    /// The prefix of the names of a server's tools, if the scheme has one.
    pub(crate) fn prefix(&mut self, server: &str) -> Option<String> {
        let part = self.server_part(server);
        match self.scheme {
            NameScheme::Double => Some(format!("mcp__{part}__")),
            NameScheme::Plain => Some(format!("{part}_")),
            NameScheme::Single => Some(format!("mcp_{part}_")),
            NameScheme::Own => None,
        }
    }

    fn part(&self, name: &str) -> String {
        let name = sanitise(name);
        if self.keep_hyphens { name } else { name.replace('-', "_") }
    }

    /// The server's part of its tool names. Servers with names that become equal when sanitized get different
    /// parts.
    fn server_part(&mut self, server: &str) -> String {
        if let Some(part) = self.servers.get(server) {
            return part.clone();
        }
        let mut part = self.part(server);
        if part != server && part.len() + 5 > LONGEST / 2 {
            part.truncate(LONGEST / 2);
        }
        if self.servers.values().any(|known| *known == part) {
            part = format!("{part}_{}", &hash(&[server])[..4]);
        }
        self.servers.insert(server.to_owned(), part.clone());
        part
    }
}

/// Replaces every character except ASCII letters, digits, `_` and `-`. Also used for file names.
pub(crate) fn sanitise(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    // Truncate first: a name may be megabytes long.
    let name: String = name.chars().take(LONGEST * 4).map(safe).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// Whether a name is valid for all providers.
pub(crate) fn is_safe(name: &str) -> bool {
    !name.is_empty() && sanitise(name) == name
}

/// Whether a glob matches a tool name. Names used to keep their hyphens, so a glob with hyphens also matches
/// underscores.
pub(crate) fn name_matches(glob: &str, name: &str) -> bool {
    glob_matches(glob, name) || glob.contains('-') && glob_matches(&glob.replace('-', "_"), name)
}

/// Whether `called` is this tool's name, possibly with hyphens in place of underscores.
pub(crate) fn is_called(name: &str, called: &str) -> bool {
    name == called || called.contains('-') && name == called.replace('-', "_")
}

/// Truncates `name` and appends eight hex digits of a hash of all `parts`.
fn suffixed(name: &str, parts: &[&str], round: u32) -> String {
    let digits =
        if round == 0 { hash(parts) } else { hash(&[&parts.join("\0"), &round.to_string()]) };
    let cut = name.len().min(LONGEST - 9);
    format!("{}_{}", &name[..cut], &digits[..8])
}

fn hash(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    hex(&digest.finalize()[..4])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fits(name: &str) -> bool {
        (1..=LONGEST).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    }

    #[test]
    fn schemes() {
        for (scheme, expected) in [
            (NameScheme::Double, "mcp__git_hub__create_issue"),
            (NameScheme::Plain, "git_hub_create_issue"),
            (NameScheme::Single, "mcp_git_hub_create_issue"),
            (NameScheme::Own, "create_issue"),
        ] {
            assert_eq!(Namer::new(scheme).name("git hub", "create.issue").0, expected);
        }
    }

    #[test]
    fn hyphens_become_underscores_unless_kept() {
        let mut namer = Namer::new(NameScheme::Double);
        assert_eq!(namer.name("my-server", "get-sum").0, "mcp__my_server__get_sum");
        let mut kept = Namer::new(NameScheme::Double).keep_hyphens(true);
        assert_eq!(kept.name("my-server", "get-sum").0, "mcp__my-server__get-sum");
    }

    #[test]
    fn globs_and_names_with_hyphens_still_match() {
        let name = "mcp__my_server__get_sum";
        assert!(name_matches("mcp__my-server__*", name) && name_matches("mcp__my_server__*", name));
        assert!(!name_matches("mcp__my-other__*", name));
        assert!(is_called(name, "mcp__my-server__get-sum") && !is_called(name, "get-sum"));
        assert!(
            name_matches("mcp__my-server__*", "mcp__my-server__get-sum"),
            "names that keep hyphens"
        );
    }

    #[test]
    fn names_that_collide_after_sanitizing_stay_distinct() {
        let mut namer = Namer::new(NameScheme::Double);
        let all: Vec<_> = ["a.b", "a/b", "a b", "a_b", "", "日本", "本日"]
            .map(|tool| namer.name("s", tool).0)
            .to_vec();
        let unique: HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len(), "{all:?}");
        assert!(all.iter().all(|name| fits(name)), "{all:?}");
        assert_eq!(all[0], "mcp__s__a_b");
        assert_eq!(namer.name("s", "a/b").0, all[1], "the same tool keeps its name");
    }

    #[test]
    fn colliding_servers_get_distinct_prefixes_and_reserved_names_are_kept() {
        let mut namer = Namer::new(NameScheme::Plain);
        assert!(namer.reserve("files_read"));
        assert!(!namer.reserve("files_read"));
        assert!(namer.name("files", "read").1);
        let (one, other) = (namer.name("my server", "x").0, namer.name("my_server", "x").0);
        assert_ne!(one, other);
        assert_ne!(namer.name("a", "b__c").0, namer.name("a__b", "c").0);
    }

    #[test]
    fn unprefixed_tools_of_two_servers_get_distinct_names() {
        let mut namer = Namer::new(NameScheme::Own);
        let (one, other) = (namer.name("a", "read").0, namer.name("b", "read").0);
        assert_eq!(one, "read");
        assert!(other.starts_with("read_") && fits(&other), "{other}");
        assert_eq!(namer.name("b", "read").0, other, "the same tool keeps its name");
    }

    #[test]
    fn long_names_are_cut_with_a_distinguishing_hash() {
        let mut namer = Namer::new(NameScheme::Double);
        let (long, longer) = ("x".repeat(10_000), "x".repeat(10_001));
        let (one, other) = (namer.name("s", &long).0, namer.name("s", &longer).0);
        assert!(fits(&one) && fits(&other) && one != other);
        assert_eq!(one, Namer::new(NameScheme::Double).name("s", &long).0, "in every session");
    }

    #[test]
    fn released_names_are_free_and_built_in_names_stay() {
        let mut namer = Namer::new(NameScheme::Double);
        let own = namer.own("s", "authenticate");
        namer.name("s", "gone");
        let stays = namer.name("s", "stays").0;
        namer.forget("s", |tool| tool == "gone");
        assert_eq!((namer.own("s", "authenticate"), namer.name("s", "stays").0), (own, stays));
        assert!(namer.reserve("mcp__s__gone") && !namer.reserve("mcp__s__stays"));
    }

    proptest! {
        #[test]
        fn arbitrary_names_become_valid_and_distinct(
            pairs in prop::collection::hash_set((".{0,80}", ".{0,80}"), 1..20),
        ) {
            let mut namer = Namer::new(NameScheme::Double);
            let names: HashSet<_> = pairs.iter().map(|(s, t)| namer.name(s, t).0).collect();
            prop_assert_eq!(names.len(), pairs.len());
            prop_assert!(names.iter().all(|name| fits(name)));
        }
    }
}
