//! Paginated lists, and how long they may be cached.

use std::{fmt, time::Duration};

use mcp_jsonrpc::{DeepJson, Failure, RawJson, ShapeError, wire::Reply};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor},
};

use crate::open::Key;

/// A complete list, fetched page by page.
///
/// It is a sequence: iterate over it, or take the [`items`](Self::items).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Listing<T> {
    /// The entries in the server's order.
    pub items: Vec<T>,
    /// Invalid entries, which were skipped.
    pub rejected: Vec<Rejected>,
    /// How long the list may be cached: the shortest time of all pages.
    pub freshness: Option<Freshness>,
    /// Whether the server has more entries than the client accepts.
    pub truncated: bool,
    /// The error, if the result lacks an array of entries. The list is empty then.
    pub problem: Option<ShapeError>,
}

/// An invalid entry of a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rejected {
    /// The name of the entry, if it is valid.
    pub name: Option<String>,
    /// Why the entry is invalid.
    pub error: ShapeError,
}

impl Rejected {
    /// An invalid entry with this name and error.
    pub fn new(name: Option<String>, error: ShapeError) -> Self {
        Self { name, error }
    }
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            rejected: Vec::new(),
            freshness: None,
            truncated: false,
            problem: None,
        }
    }
}

impl<T> Listing<T> {
    /// Iterates over the items.
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

/// How long a result may be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Freshness {
    /// The time to live, from when the result was received.
    pub ttl: Duration,
    /// Who may share the cached result.
    pub scope: CacheScope,
}

/// Who may share a cached result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol defines these two")]
pub enum CacheScope {
    /// All users.
    Public,
    /// Only users with the same credentials.
    Private,
}

impl Freshness {
    pub(crate) fn new(ttl_ms: Option<f64>, scope: Option<&str>) -> Option<Self> {
        let ttl_ms = ttl_ms?;
        // A negative or absurd value means: do not cache.
        // <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#time-to-live-ttl-field>
        let ttl = Duration::try_from_secs_f64(ttl_ms / 1_000.0).unwrap_or_default();
        // Anything but `public` is private, so that an unknown scope is never shared:
        // <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cache-scope-field>
        let scope = if scope == Some("public") { CacheScope::Public } else { CacheScope::Private };
        Some(Self { ttl, scope })
    }

    /// The combination of two pages: the shorter time, and the narrower scope.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let private = self.scope == CacheScope::Private || other.scope == CacheScope::Private;
        Self {
            ttl: self.ttl.min(other.ttl),
            scope: if private { CacheScope::Private } else { CacheScope::Public },
        }
    }
}

/// An entry of a list. An invalid entry is skipped without affecting the others.
pub trait Rejectable: DeserializeOwned {
    /// The member of the result that holds the entries.
    const MEMBER: &'static str;

    /// The name of an invalid entry.
    fn name(raw: &DeepJson) -> Option<String> {
        raw.get("name")?.decode().ok()
    }
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The entries in the server's order.
    pub items: Vec<T>,
    /// The cursor of the next page. Absent or null ends the list; an empty string is a valid cursor:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination#implementation-guidelines>.
    pub next_cursor: Option<String>,
    /// How long the page may be cached.
    pub freshness: Option<Freshness>,
    /// Invalid entries.
    pub rejected: Vec<Rejected>,
    /// Whether the result is complete (from 2026-07-28).
    pub result_type: Option<RawJson>,
    /// The error, if the result lacks an array of entries.
    pub problem: Option<ShapeError>,
}

impl<T: Rejectable> Page<T> {
    /// Parses a page directly into its type and, if that fails, entry by entry. A result without an array of entries
    /// is an empty page.
    pub fn read(reply: Reply) -> Result<Self, Failure> {
        // Nearly all pages are valid, so the second pass over the text is rare.
        match reply.clone().decode::<Self>() {
            Err(Failure::Malformed(error)) => Self::salvage(reply.clone())
                .or_else(|| Self::without_entries(reply, &error))
                .ok_or(Failure::Malformed(error)),
            read => read,
        }
    }

    fn without_entries(reply: Reply, error: &ShapeError) -> Option<Self> {
        let result = reply.into_raw().ok()?;
        let is_array = |entries: RawJson| entries.as_str().starts_with('[');
        // The entries are an array, so the error is elsewhere, and the page cannot be trusted.
        if result.get(T::MEMBER).is_some_and(is_array) {
            return None;
        }
        Some(Page {
            items: Vec::new(),
            next_cursor: None,
            freshness: None,
            rejected: Vec::new(),
            result_type: result.get("resultType"),
            problem: Some(error.clone()),
        })
    }

    fn salvage(reply: Reply) -> Option<Self> {
        let Page { items, next_cursor, freshness, result_type, .. } =
            reply.decode::<Page<Loose<T>>>().ok()?;
        let mut page = Page {
            items: Vec::new(),
            next_cursor,
            freshness,
            rejected: Vec::new(),
            result_type,
            problem: None,
        };
        for Loose(raw, _) in items {
            match raw.decode() {
                Ok(item) => page.items.push(item),
                Err(error) => {
                    page.rejected.push(Rejected::new(T::name(&raw), error));
                }
            }
        }
        Some(page)
    }
}

/// An unparsed entry of a page, so that an invalid one does not affect the others.
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
            problem: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tool;

    #[test]
    fn too_deeply_nested_entry_is_rejected_alone() {
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
