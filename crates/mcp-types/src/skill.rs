//! Skills (SEP-2640): instructions for a model, in files with digests.

use std::fmt;

use mcp_jsonrpc::{DeepJson, RawJson};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, SeqAccess, Visitor, value::SeqAccessDeserializer},
};

use crate::{listing::Rejectable, open::open};

open! {
    /// A skill as the server lists it, with everything that the user approves: its description, and the digest of
    /// each of its files.
    ///
    /// Its URI is valid only for its own server. Hosts with several servers store the server's name with it.
    pub struct Skill {
        /// The URI of its `SKILL.md`.
        required uri: String = "uri",
        /// The front matter of its `SKILL.md`.
        required frontmatter: SkillFrontmatter = "frontmatter",
        /// All its files, including `SKILL.md`.
        required resources: SkillResources = "resources",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The front matter of a `SKILL.md`. Fields other than these two are in
    /// [`extra`](SkillFrontmatter::extra).
    pub struct SkillFrontmatter {
        /// The name. Two skills of one server may have the same name.
        required name: String = "name",
        /// The purpose, and when to use it. Foreign text.
        required description: String = "description",
    }

    /// One file of a skill.
    pub struct SkillResource {
        /// The URI, by which it is read.
        required uri: String = "uri",
        /// The digest of its bytes: `sha256:` and 64 hexadecimal digits.
        required digest: String = "digest",
        /// The size in bytes.
        required size: u64 = "size",
    }
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "any other value makes an entry invalid")]
pub enum SkillResources {
    /// These files.
    Listed(Vec<SkillResource>),
    /// Files generated when they are read, so that they cannot be verified. Such a skill cannot be loaded.
    Dynamic,
}

const DYNAMIC: &str = "dynamic";

impl SkillResources {
    /// The files. Empty if they are dynamic.
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

    fn visit_seq<A: SeqAccess<'de>>(self, files: A) -> Result<SkillResources, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(files)).map(SkillResources::Listed)
    }
}
