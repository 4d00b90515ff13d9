//! Skills a server offers (SEP-2640): instructions for a model, in files with digests.

use std::fmt;

use mcp_jsonrpc::{DeepJson, RawJson};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor},
};

use super::{listing::Rejectable, open::open};

open! {
    /// A skill as its server lists it. It says everything there is to approve: what the skill is, and the
    /// digest of each of its files.
    ///
    /// Its URI means something to its own server only. Whoever keeps skills of several servers keeps the
    /// server's name with each.
    pub struct Skill {
        /// Where its `SKILL.md` is.
        required uri: String = "uri",
        /// What the `SKILL.md` says of itself.
        required frontmatter: SkillFrontmatter = "frontmatter",
        /// All its files, `SKILL.md` among them.
        required resources: SkillResources = "resources",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The front matter of a `SKILL.md`. Fields other than these two are in
    /// [`extra`](SkillFrontmatter::extra).
    pub struct SkillFrontmatter {
        /// What the skill is called. Two skills of one server may share a name.
        required name: String = "name",
        /// What it is for, and when to use it. Foreign text.
        required description: String = "description",
    }

    /// One file of a skill.
    pub struct SkillResource {
        /// What to read it by.
        required uri: String = "uri",
        /// The digest of its bytes: `sha256:` and 64 hexadecimal digits.
        required digest: String = "digest",
        /// How many bytes it has.
        required size: u64 = "size",
    }
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "any other value makes an entry invalid")]
pub enum SkillResources {
    /// These, each of them once.
    Listed(Vec<SkillResource>),
    /// Made up as they are read, so that nobody can tell whether they are what they should be. Such a
    /// skill cannot be loaded.
    Dynamic,
}

const DYNAMIC: &str = "dynamic";

impl SkillResources {
    /// The files, none if they are made up as they are read.
    pub fn listed(&self) -> &[SkillResource] {
        match self {
            SkillResources::Listed(files) => files,
            SkillResources::Dynamic => &[],
        }
    }
}

impl Rejectable for Skill {
    const MEMBER: &'static str = "skills";

    fn name(raw: &DeepJson) -> Option<String> {
        raw.get("frontmatter")?.get("name")?.decode().ok()
    }
}

impl<'de> Deserialize<'de> for SkillResources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ResourcesVisitor)
    }
}

impl Serialize for SkillResources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SkillResources::Listed(files) => files.serialize(serializer),
            SkillResources::Dynamic => serializer.serialize_str(DYNAMIC),
        }
    }
}

struct ResourcesVisitor;

impl<'de> Visitor<'de> for ResourcesVisitor {
    type Value = SkillResources;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array or \"dynamic\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SkillResources, E> {
        match text {
            DYNAMIC => Ok(SkillResources::Dynamic),
            _ => Err(E::invalid_value(de::Unexpected::Other("another string"), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SkillResources, A::Error> {
        let mut files = Vec::new();
        while let Some(file) = seq.next_element()? {
            files.push(file);
        }
        Ok(SkillResources::Listed(files))
    }
}
