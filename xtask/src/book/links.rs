//! A small parser for links and headings in Markdown.

use std::{collections::BTreeSet, ops::Range};

/// A link in round brackets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) line: usize,
    /// The part before `#`; empty for an anchor on the same page.
    target: String,
    pub(crate) anchor: Option<String>,
    place: Range<usize>,
}

impl Link {
    /// The linked file as a path from the root, for a link in the file at `path`. `None` for a URL.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        if self.target.contains(':') {
            return None;
        }
        if self.target.is_empty() {
            return Some(path.to_owned());
        }
        let mut parts: Vec<&str> = path.split('/').collect();
        parts.pop();
        for part in self.target.trim_end_matches('/').split('/') {
            match part {
                "." => {}
                ".." => drop(parts.pop()),
                name => parts.push(name),
            }
        }
        Some(parts.join("/"))
    }
}

/// All links of a page, except those in code.
pub(crate) fn find(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut start = 0;
    let mut in_fence = false;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence {
            links.extend(in_line(line, index + 1, start));
        }
        start += line.len();
    }
    links
}

fn in_line(line: &str, number: usize, start: usize) -> Vec<Link> {
    let mut links = Vec::new();
    let mut in_code = false;
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'`' => in_code = !in_code,
            b']' if !in_code && bytes.get(at + 1) == Some(&b'(') => {
                let from = at + 2;
                let Some(length) = line[from..].find(')') else { break };
                let whole = &line[from..from + length];
                let (target, anchor) =
                    whole.split_once('#').map_or((whole, None), |(a, b)| (a, Some(b)));
                links.push(Link {
                    line: number,
                    target: target.to_owned(),
                    anchor: anchor.map(str::to_owned),
                    place: start + from..start + from + length,
                });
                at = from + length;
            }
            _ => {}
        }
        at += 1;
    }
    links
}

/// Replaces each link for which `change` returns another.
pub(crate) fn rewrite(text: &str, change: impl Fn(&Link) -> Option<String>) -> String {
    let mut out = String::new();
    let mut done = 0;
    for link in find(text) {
        if let Some(new) = change(&link) {
            out.push_str(&text[done..link.place.start]);
            out.push_str(&new);
            done = link.place.end;
        }
    }
    out.push_str(&text[done..]);
    out
}

/// The anchors of a page's headings, as GitHub and mdbook spell them.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut in_fence = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        let heading = line.trim_start_matches('#');
        if in_fence || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect();
        // A repeated heading gets a number.
        let names = std::iter::once(slug.clone()).chain((1..100).map(|n| format!("{slug}-{n}")));
        for name in names {
            if anchors.insert(name) {
                break;
            }
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_from_the_file_of_the_link() {
        let link = |text: &str| find(text).remove(0);
        assert_eq!(link("[a](../b.md#c)").file("docs/x.md").unwrap(), "b.md");
        assert_eq!(link("[a](./b/)").file("docs/x.md").unwrap(), "docs/b");
        assert_eq!(link("[a](#c)").file("docs/x.md").unwrap(), "docs/x.md");
        assert_eq!(link("[a](https://example.org/x)").file("docs/x.md"), None);
    }

    #[test]
    fn headings_are_anchors_and_repeated_ones_are_numbered() {
        let anchors = anchors("# The `mcp` command, and more\n## A\n## A\n```\n# no\n```\n#no\n");
        assert_eq!(
            anchors.into_iter().collect::<Vec<_>>(),
            ["a", "a-1", "the-mcp-command-and-more"]
        );
    }
}
