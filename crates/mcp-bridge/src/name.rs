//! Names a provider takes, from names nobody checked.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use sha2::{Digest, Sha256};

/// No provider takes more.
pub(crate) const LONGEST: usize = 64;

/// How a tool's name is made from its server's and its own.
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
    /// `tool`, for a bridge that stands in for one server. Of two servers' tools of one name the second
    /// gets a suffix.
    Own,
}

/// Gives out names, each once, and the same one to the same tool for as long as it lives.
#[derive(Debug, Default)]
pub(crate) struct Namer {
    scheme: NameScheme,
    /// Parts that servers go by, unique among them.
    servers: HashMap<String, String>,
    given: HashMap<(String, String), String>,
    taken: HashSet<String>,
    commands: HashSet<String>,
}

impl Namer {
    pub(crate) fn new(scheme: NameScheme) -> Self {
        Self { scheme, ..Self::default() }
    }

    /// Keeps a name for the host. Returns whether it was free.
    pub(crate) fn reserve(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Lets a reserved name be given again.
    pub(crate) fn release(&mut self, name: &str) {
        self.taken.remove(name);
    }

    /// The name of a server's tool, and whether another had the plain one.
    pub(crate) fn name(&mut self, server: &str, tool: &str) -> (String, bool) {
        self.keyed(server, tool, tool.to_owned())
    }

    /// The name of a tool of ours that belongs to a server, whatever the server calls its own.
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
            // Not by count: the suffix depends on the tool alone, so it is the same in every session.
            name = suffixed(&plain, &[server, tool], round);
            round += 1;
        }
        self.taken.insert(name.clone());
        self.given.insert(key, name.clone());
        (name, round > 0)
    }

    /// Takes back the names of a server's tools that are gone.
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

    /// The name of a server's prompt as a command. Commands and tools do not share names.
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
        let tool_part = sanitise(tool);
        let full = match self.scheme {
            NameScheme::Double => format!("mcp__{server_part}__{tool_part}"),
            NameScheme::Plain => format!("{server_part}_{tool_part}"),
            NameScheme::Single => format!("mcp_{server_part}_{tool_part}"),
            NameScheme::Own => tool_part,
        };
        if full.len() > LONGEST { suffixed(&full, &[server, tool], 0) } else { full }
    }

    /// Two servers whose names differ only in what is replaced must not share a prefix.
    fn server_part(&mut self, server: &str) -> String {
        if let Some(part) = self.servers.get(server) {
            return part.clone();
        }
        let mut part = sanitise(server);
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

/// Replaces every character that some provider refuses.
pub(crate) fn sanitise(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    // What is cut anyway need not be replaced: a name may be megabytes long.
    let name: String = name.chars().take(LONGEST * 4).map(safe).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// The beginning of `name`, and eight digits that depend on all of `parts`.
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
    digest.finalize().iter().take(4).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_safe(name: &str) -> bool {
        (1..=LONGEST).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
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
    fn names_that_collide_after_sanitising_all_stay_reachable() {
        let mut namer = Namer::new(NameScheme::Double);
        let all: Vec<_> = ["a.b", "a/b", "a b", "a_b", "", "日本", "本日"]
            .map(|tool| namer.name("s", tool).0)
            .to_vec();
        let unique: HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len(), "{all:?}");
        assert!(all.iter().all(|name| is_safe(name)), "{all:?}");
        assert_eq!(all[0], "mcp__s__a_b");
        assert_eq!(namer.name("s", "a/b").0, all[1], "the same tool keeps its name");
    }

    #[test]
    fn servers_that_collide_have_prefixes_of_their_own_and_reserved_names_stay_the_hosts() {
        let mut namer = Namer::new(NameScheme::Plain);
        assert!(namer.reserve("files_read"));
        assert!(!namer.reserve("files_read"));
        assert!(namer.name("files", "read").1);
        let (one, other) = (namer.name("my server", "x").0, namer.name("my_server", "x").0);
        assert_ne!(one, other);
        assert_ne!(namer.name("a", "b__c").0, namer.name("a__b", "c").0);
    }

    #[test]
    fn tools_under_their_own_names_stay_apart() {
        let mut namer = Namer::new(NameScheme::Own);
        let (one, other) = (namer.name("a", "read").0, namer.name("b", "read").0);
        assert_eq!(one, "read");
        assert!(other.starts_with("read_") && is_safe(&other), "{other}");
        assert_eq!(namer.name("b", "read").0, other, "the same tool keeps its name");
    }

    #[test]
    fn long_names_are_cut_with_a_hash_and_differ_where_the_names_do() {
        let mut namer = Namer::new(NameScheme::Double);
        let (long, longer) = ("x".repeat(10_000), "x".repeat(10_001));
        let (one, other) = (namer.name("s", &long).0, namer.name("s", &longer).0);
        assert!(is_safe(&one) && is_safe(&other) && one != other);
        assert_eq!(one, Namer::new(NameScheme::Double).name("s", &long).0, "in every session");
    }

    #[test]
    fn names_that_were_taken_back_are_free_and_our_own_stay() {
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
        fn any_names_give_safe_and_distinct_ones(
            pairs in prop::collection::hash_set((".{0,80}", ".{0,80}"), 1..20),
        ) {
            let mut namer = Namer::new(NameScheme::Double);
            let names: HashSet<_> = pairs.iter().map(|(s, t)| namer.name(s, t).0).collect();
            prop_assert_eq!(names.len(), pairs.len());
            prop_assert!(names.iter().all(|name| is_safe(name)));
        }
    }
}
