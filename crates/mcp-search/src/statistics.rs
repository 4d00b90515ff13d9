//! What tools cost in a model's context, and what loading them on demand saves.

use std::{
    collections::BTreeMap,
    iter::Sum,
    ops::{Add, AddAssign},
};

use crate::tokens::CountTokens;

/// The texts of one tool whose tokens are counted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolText<'a> {
    /// The tool's server.
    pub server: &'a str,
    /// The tool's id.
    pub id: &'a str,
    /// What a model is shown of a tool that is not loaded; empty if nothing.
    pub summary: &'a str,
    /// What a model is shown of a tool that is loaded: name, description and schema.
    pub definition: &'a str,
    /// Whether it is loaded now.
    pub loaded: bool,
}

/// Tokens of one tool, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// How many tools.
    pub tools: usize,
    /// How many of them are loaded.
    pub loaded: usize,
    /// Tokens if every tool were a summary.
    pub summaries: usize,
    /// Tokens if every tool were loaded.
    pub definitions: usize,
    /// Tokens in the context now: definitions of what is loaded, summaries of the rest.
    pub now: usize,
}

/// Costs per tool, per server and in all.
///
/// ```
/// use mcp_search::{Estimate, Statistics, ToolText};
///
/// let read = ToolText::new("files", "read_file", "Read a file", r#"{"name":"read_file"}"#);
/// let mut write = ToolText::new("files", "write_file", "Write a file", r#"{"name":"write_file"}"#);
/// write.loaded = true;
/// let statistics = Statistics::of([read, write], &Estimate);
/// assert_eq!(statistics.total().loaded, 1);
/// assert_eq!(statistics.total().tools, 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    servers: BTreeMap<String, BTreeMap<String, Cost>>,
}

impl<'a> ToolText<'a> {
    /// The texts of a tool that is not loaded.
    pub fn new(server: &'a str, id: &'a str, summary: &'a str, definition: &'a str) -> Self {
        Self { server, id, summary, definition, loaded: false }
    }
}

impl Cost {
    /// Tokens that the context is spared now by not loading everything.
    pub fn saved(self) -> usize {
        self.definitions.saturating_sub(self.now)
    }
}

impl Statistics {
    /// Counts the tokens of `tools`. A tool told twice counts once, as it was told last.
    pub fn of<'a>(
        tools: impl IntoIterator<Item = ToolText<'a>>,
        counter: &dyn CountTokens,
    ) -> Self {
        let mut statistics = Self::default();
        for tool in tools {
            let summaries = counter.tokens(tool.summary);
            let definitions = counter.tokens(tool.definition);
            let cost = Cost {
                tools: 1,
                loaded: usize::from(tool.loaded),
                summaries,
                definitions,
                now: if tool.loaded { definitions } else { summaries },
            };
            let server = statistics.servers.entry(tool.server.to_owned()).or_default();
            server.insert(tool.id.to_owned(), cost);
        }
        statistics
    }

    /// The cost of everything.
    pub fn total(&self) -> Cost {
        self.tools().map(|(_, _, cost)| cost).sum()
    }

    /// The cost of one server's tools: nothing for a server that has none.
    pub fn server(&self, server: &str) -> Cost {
        self.servers.get(server).into_iter().flat_map(BTreeMap::values).copied().sum()
    }

    /// The servers and their costs, by name.
    pub fn servers(&self) -> impl Iterator<Item = (&str, Cost)> {
        self.servers.iter().map(|(name, tools)| (name.as_str(), tools.values().copied().sum()))
    }

    /// Server, id and cost of every tool, by name.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &str, Cost)> {
        self.servers.iter().flat_map(|(server, tools)| {
            tools.iter().map(move |(id, &cost)| (server.as_str(), id.as_str(), cost))
        })
    }

    /// What changed since `before`: server, id, and the cost then and now of every tool that came,
    /// went or costs something else.
    pub fn changes<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (&'a str, &'a str, Option<Cost>, Option<Cost>)> {
        let came =
            self.tools().map(|(server, id, now)| (server, id, before.tool(server, id), Some(now)));
        let went = before
            .tools()
            .filter(|&(server, id, _)| self.tool(server, id).is_none())
            .map(|(server, id, then)| (server, id, Some(then), None));
        came.chain(went).filter(|(_, _, then, now)| then != now)
    }

    /// The cost of one tool.
    pub fn tool(&self, server: &str, id: &str) -> Option<Cost> {
        self.servers.get(server)?.get(id).copied()
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tools: self.tools + other.tools,
            loaded: self.loaded + other.loaded,
            summaries: self.summaries + other.summaries,
            definitions: self.definitions + other.definitions,
            now: self.now + other.now,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::{Statistics, ToolText};
    use crate::tokens::CountTokens;

    struct Letters;

    impl CountTokens for Letters {
        fn tokens(&self, text: &str) -> usize {
            text.len()
        }
    }

    fn tool<'a>(server: &'a str, id: &'a str, definition: &'a str, loaded: bool) -> ToolText<'a> {
        ToolText { loaded, ..ToolText::new(server, id, "sum", definition) }
    }

    #[test]
    fn costs_add_up_per_tool_per_server_and_in_all() {
        let all = [
            tool("a", "x", "123456", true),
            tool("a", "y", "12345678", false),
            tool("b", "z", "1234", false),
        ];
        let statistics = Statistics::of(all, &Letters);
        let total = statistics.total();
        assert_eq!((total.tools, total.loaded), (3, 1));
        assert_eq!((total.summaries, total.definitions, total.now, total.saved()), (9, 18, 12, 6));
        assert_eq!(statistics.server("a").definitions, 14);
        assert_eq!(statistics.server("none").tools, 0);
        assert_eq!(statistics.tool("b", "z").unwrap().definitions, 4);
        assert_eq!(statistics.servers().count(), 2);
    }

    #[test]
    fn a_change_of_catalogue_reports_what_it_costs() {
        let before = Statistics::of(
            [tool("a", "same", "1", false), tool("a", "went", "1", false)],
            &Letters,
        );
        let after = Statistics::of(
            [tool("a", "same", "1", false), tool("a", "came", "22", false)],
            &Letters,
        );
        let changes: Vec<_> = after
            .changes(&before)
            .map(|(_, id, then, now)| (id, then.is_some(), now.is_some()))
            .collect();
        assert_eq!(changes, [("came", false, true), ("went", true, false)]);
    }
}
