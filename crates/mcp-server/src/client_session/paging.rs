//! Pagination of lists: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination>

use std::hash::{DefaultHasher, Hash, Hasher};

use mcp_jsonrpc::RawJson;

use crate::error::ServeError;

/// The page of `items` at `cursor`, and the cursor of the next page.
///
/// A cursor contains a hash of all names. If the list has changed since, the cursor is rejected: its client starts
/// over and misses no entry.
pub(crate) fn page<'a, T>(
    items: &'a [T],
    name: impl Fn(&T) -> &str,
    cursor: Option<&RawJson>,
    size: usize,
) -> Result<(&'a [T], Option<String>), ServeError> {
    let size = size.max(1);
    let cursor = cursor.filter(|cursor| !cursor.is_null());
    if cursor.is_none() && items.len() <= size {
        return Ok((items, None));
    }
    let mut hasher = DefaultHasher::new();
    for item in items {
        name(item).hash(&mut hasher);
    }
    let edition = hasher.finish();
    let start = match cursor {
        None => 0,
        Some(cursor) => read(cursor, edition)
            .filter(|start| *start < items.len())
            .ok_or_else(|| ServeError::InvalidParams("invalid cursor".into()))?,
    };
    let end = items.len().min(start + size);
    let next = (end < items.len()).then(|| format!("{edition:016x}.{end}"));
    Ok((&items[start..end], next))
}

fn read(cursor: &RawJson, edition: u64) -> Option<usize> {
    let text: String = cursor.decode().ok()?;
    let (of, start) = text.split_once('.')?;
    (u64::from_str_radix(of, 16).ok()? == edition).then_some(())?;
    start.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(items: &[&str], size: usize) -> Vec<String> {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let (part, next) = page(items, |item| item, cursor.as_ref(), size).unwrap();
            seen.extend(part.iter().map(ToString::to_string));
            let Some(next) = next else { return seen };
            cursor = Some(RawJson::encode(&next).unwrap());
        }
    }

    #[test]
    fn pages_make_up_the_list() {
        let items = ["a", "b", "c", "d", "e"];
        for size in 1..7 {
            assert_eq!(all(&items, size), items);
        }
        assert!(all(&[], 3).is_empty());
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let (_, next) = page(&["a", "b"], |item| item, None, 1).unwrap();
        let next = RawJson::encode(&next.unwrap()).unwrap();
        assert!(page(&["a", "c"], |item| item, Some(&next), 1).is_err());
        for wrong in ["7", r#""""#, r#""x.y""#, r#""0.0""#, "{}"] {
            let cursor = RawJson::parse(wrong).unwrap();
            assert!(page(&["a", "b"], |item| item, Some(&cursor), 1).is_err(), "{wrong}");
        }
    }
}
