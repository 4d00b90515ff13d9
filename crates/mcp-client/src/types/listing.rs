//! Lists that come in pages, and how long they are good for.

use std::{fmt, time::Duration};

use mcp_jsonrpc::{DeepJson, Failure, RawJson, Reply, ShapeError};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor},
};

use super::{Prompt, Resource, ResourceTemplate, Tool, open::Key};

/// A whole list, fetched page by page.
///
/// It is a sequence: iterate over it, or take the [`items`](Self::items).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Listing<T> {
    /// In the server's order.
    pub items: Vec<T>,
    /// Entries that could not be read. They cost only themselves.
    pub rejected: Vec<Rejected>,
    /// How long the list may be kept, if the server said so: the shortest of its pages.
    pub freshness: Option<Freshness>,
    /// Whether the server had more than we accept.
    pub truncated: bool,
}

/// An entry of a list that could not be read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rejected {
    /// Its name, if it has one that can be read.
    pub name: Option<String>,
    /// What is wrong with it.
    pub error: ShapeError,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { items: Vec::new(), rejected: Vec::new(), freshness: None, truncated: false }
    }
}

impl<T> Listing<T> {
    /// The items in turn.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
}

impl<T> IntoIterator for Listing<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Listing<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

/// How long something may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Freshness {
    /// From when it was received.
    pub ttl: Duration,
    /// For whom.
    pub scope: CacheScope,
}

/// For whom something may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol's two")]
pub enum CacheScope {
    /// For everybody.
    Public,
    /// For whoever holds the same credentials.
    Private,
}

impl Freshness {
    pub(crate) fn new(ttl_ms: Option<f64>, scope: Option<&str>) -> Option<Self> {
        let ttl_ms = ttl_ms?;
        // Negative or absurd means: not at all.
        let ttl = Duration::try_from_secs_f64(ttl_ms / 1_000.0).unwrap_or_default();
        let scope = if scope == Some("public") { CacheScope::Public } else { CacheScope::Private };
        Some(Self { ttl, scope })
    }

    /// What holds for two pages together.
    pub(crate) fn and(self, other: Self) -> Self {
        let private = self.scope == CacheScope::Private || other.scope == CacheScope::Private;
        Self {
            ttl: self.ttl.min(other.ttl),
            scope: if private { CacheScope::Private } else { CacheScope::Public },
        }
    }
}

/// What a list is made of.
pub(crate) trait Rejectable: DeserializeOwned {
    /// The member the page has its entries in.
    const MEMBER: &'static str;

    /// The name of an entry that cannot be read otherwise.
    fn name(raw: &DeepJson) -> Option<String> {
        raw.get("name")?.decode().ok()
    }
}

impl Rejectable for Tool {
    const MEMBER: &'static str = "tools";
}
impl Rejectable for Resource {
    const MEMBER: &'static str = "resources";
}
impl Rejectable for ResourceTemplate {
    const MEMBER: &'static str = "resourceTemplates";
}
impl Rejectable for Prompt {
    const MEMBER: &'static str = "prompts";
}

/// One page on the wire.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// Absent or null ends the list; an empty string is a cursor like any other.
    pub(crate) next_cursor: Option<String>,
    pub(crate) freshness: Option<Freshness>,
    pub(crate) rejected: Vec<Rejected>,
    pub(crate) result_type: Option<RawJson>,
}

impl<T: Rejectable> Page<T> {
    /// Reads a page straight into its type. Only if that fails, entry by entry.
    pub(crate) fn read(reply: Reply) -> Result<Self, Failure> {
        reply.clone().decode::<Self>().or_else(|error| Self::salvage(reply).ok_or(error))
    }

    fn salvage(reply: Reply) -> Option<Self> {
        let Page { items, next_cursor, freshness, result_type, .. } =
            reply.decode::<Page<Loose<T>>>().ok()?;
        let mut page =
            Page { items: Vec::new(), next_cursor, freshness, rejected: Vec::new(), result_type };
        for Loose(raw, _) in items {
            match raw.decode() {
                Ok(item) => page.items.push(item),
                Err(error) => {
                    page.rejected.push(Rejected { name: T::name(&raw), error });
                }
            }
        }
        Some(page)
    }
}

/// An entry of a page that is not read yet: whatever it is, it costs no other.
struct Loose<T>(DeepJson, std::marker::PhantomData<T>);

impl<'de, T> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DeepJson::deserialize(deserializer).map(|raw| Self(raw, std::marker::PhantomData))
    }
}

impl<T: Rejectable> Rejectable for Loose<T> {
    const MEMBER: &'static str = T::MEMBER;
}

impl<'de, T: Rejectable> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PageVisitor(std::marker::PhantomData))
    }
}

struct PageVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Rejectable> Visitor<'de> for PageVisitor<T> {
    type Value = Page<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Page<T>, A::Error> {
        let (mut items, mut next_cursor, mut result_type) = (None, None, None);
        let (mut ttl_ms, mut scope): (Option<f64>, Option<String>) = (None, None);
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "nextCursor" => next_cursor = map.next_value()?,
                "resultType" => result_type = map.next_value()?,
                "ttlMs" => ttl_ms = map.next_value()?,
                "cacheScope" => scope = map.next_value()?,
                member if member == T::MEMBER => items = Some(map.next_value()?),
                _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
            }
        }
        let missing = || serde::de::Error::custom(format_args!("`{}` is missing", T::MEMBER));
        Ok(Page {
            items: items.ok_or_else(missing)?,
            next_cursor,
            freshness: Freshness::new(ttl_ms, scope.as_deref()),
            rejected: Vec::new(),
            result_type,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_nests_too_deeply_costs_only_itself() {
        let deep = r#"{"items":"#.repeat(300) + "{}" + &"}".repeat(300);
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"a"}},{{"inputSchema":{deep},"name":"b"}},{{"name":"c"}}],"nextCursor":"n"}}}}"#
        );
        let reply = Reply::recognize(&frame.into()).unwrap();
        let page = Page::<Tool>::read(reply).unwrap();
        let names: Vec<_> = page.items.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!((names, page.next_cursor.as_deref()), (vec!["a", "c"], Some("n")));
        let [rejected] = &*page.rejected else { panic!("{:?}", page.rejected) };
        assert_eq!(rejected.name.as_deref(), Some("b"));
        assert!(rejected.error.to_string().contains("nested too deeply"), "{}", rejected.error);
        assert_eq!(rejected.error.path(), "inputSchema");
    }
}
