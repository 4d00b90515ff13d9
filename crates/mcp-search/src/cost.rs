//! The tokens that tools take in a model's context, and the savings of loading them on demand.

use std::{collections::BTreeMap, iter::Sum, ops::Add};

mod session;
mod tokens;

pub use self::{
    session::SessionCost,
    tokens::{CountTokens, Estimate},
};

/// The texts of one tool, for counting tokens.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolText<'a> {
    /// The tool's server.
    pub server: &'a str,
    /// The tool's id.
    pub id: &'a str,
    /// The text shown to a model for a tool that is not loaded, next to its id.
    pub summary: &'a str,
    /// The text shown to a model for a loaded tool: name, description and schema.
    pub definition: &'a str,
    /// Whether it is loaded.
    pub loaded: bool,
}

/// Tokens of one tool, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Cost {
    /// The number of tools.
    pub tools: usize,
    /// The number of loaded tools.
    pub loaded: usize,
    /// Tokens if only the name and summary of every tool were shown.
    pub summaries: usize,
    /// Tokens if every tool were loaded.
    pub definitions: usize,
    /// Tokens in the context now: definitions of loaded tools, summaries of the others.
    pub now: usize,
}

/// Costs per tool, per server and in total.
///
/// ```
/// use mcp_search::cost::{Estimate, Statistics, ToolText};
///
/// let read = ToolText::new("files", "read_file", "Read a file", r#"{"name":"read_file"}"#);
/// let mut write = ToolText::new("files", "write_file", "Write a file", r#"{"name":"write_file"}"#);
/// write.loaded = true;
/// let statistics = Statistics::of([read, write], &Estimate);
/// assert_eq!(statistics.total().loaded, 1);
/// assert_eq!(statistics.total().tools, 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    servers: BTreeMap<String, BTreeMap<String, Cost>>,
    instructions: BTreeMap<String, usize>,
}

impl<'a> ToolText<'a> {
    /// The texts of a tool that is not loaded.
    pub fn new(server: &'a str, id: &'a str, summary: &'a str, definition: &'a str) -> Self {
        Self { server, id, summary, definition, loaded: false }
    }

    /// Sets whether it is loaded.
    #[must_use]
    pub fn with_loaded(mut self, loaded: bool) -> Self {
        self.loaded = loaded;
        self
    }
}

impl Cost {
    /// Tokens that are saved by not loading everything.
    pub fn saved(self) -> usize {
        self.definitions.saturating_sub(self.now)
    }
}

impl Statistics {
    /// Counts the tokens of `tools`. Of tools with the same server and id the last counts.
    pub fn of<'a>(
        tools: impl IntoIterator<Item = ToolText<'a>>,
        counter: &dyn CountTokens,
    ) -> Self {
        let mut statistics = Self::default();
        for tool in tools {
            let summaries = counter.tokens(&format!("{}: {}", tool.id, tool.summary));
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

    /// Counts the instructions of a server, which are in every prompt. Replaces an earlier count.
    pub fn set_instructions(&mut self, server: &str, text: &str, counter: &dyn CountTokens) {
        self.instructions.insert(server.to_owned(), counter.tokens(text));
    }

    /// The tokens of each server's instructions, by name of the server.
    pub fn instructions(&self) -> impl Iterator<Item = (&str, usize)> {
        self.instructions.iter().map(|(server, &tokens)| (server.as_str(), tokens))
    }

    /// The cost of all tools.
    pub fn total(&self) -> Cost {
        self.tools().map(|(_, _, cost)| cost).sum()
    }

    /// The cost of one server's tools; zero for a server without tools.
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

    /// The differences to `before`: server, id, and the earlier and current cost of every tool that was
    /// added, removed or changed.
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

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::{CountTokens, Statistics, ToolText};

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
        // Each summary is `x: sum`.
        assert_eq!((total.summaries, total.definitions, total.now, total.saved()), (18, 18, 18, 0));
        assert_eq!(statistics.server("a").definitions, 14);
        assert_eq!(statistics.server("none").tools, 0);
        assert_eq!(statistics.tool("b", "z").unwrap().definitions, 4);
        assert_eq!(statistics.servers().count(), 2);
    }

    #[test]
    fn names_count_in_summaries() {
        let short = Statistics::of([tool("a", "x", "", false)], &Letters).total();
        let long = Statistics::of([tool("a", "x_with_a_long_name", "", false)], &Letters).total();
        assert_eq!(long.summaries - short.summaries, "_with_a_long_name".len());
    }

    #[test]
    fn instructions_have_rows_of_their_own() {
        let mut statistics = Statistics::of([tool("a", "x", "1", false)], &Letters);
        let tools = statistics.total();
        statistics.set_instructions("a", "12345", &Letters);
        statistics.set_instructions("b", "123", &Letters);
        statistics.set_instructions("b", "1234", &Letters);
        assert_eq!(statistics.instructions().collect::<Vec<_>>(), [("a", 5), ("b", 4)]);
        assert_eq!(statistics.total(), tools);
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
