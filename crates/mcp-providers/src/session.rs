//! A conversation with a stable prefix, so that an API can cache it.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use mcp_jsonrpc::{ObjectWriter, RawJson, ShapeError};
use mcp_tool::ToolSpec;

use crate::{
    api::{Api, AsSpec, CallResult, array},
    call::ModelCall,
    loss::Loss,
};

/// An API that can load tools during a conversation.
pub trait Deferral: Api {
    /// The definition of the tool with which the model searches for others.
    fn search_tool(&self, tool: &ToolSpec) -> crate::Definition;

    /// The entry of the request's `tools` for a tool that is loaded later, if the API requires one.
    fn deferred(&self, tool: &Loaded) -> Option<RawJson>;

    /// The messages that answer the calls of one response. The answer to a search carries its tools.
    fn answers(&self, answers: &[Answer<'_>]) -> Vec<RawJson>;

    /// The messages that announce changes of loaded tools to the model.
    fn announce(&self, changes: &Changes) -> Vec<RawJson>;
}

/// A tool that is loaded into the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loaded {
    /// Its name in the API.
    pub name: String,
    /// The server it belongs to.
    pub server: Option<String>,
    /// The definition that was sent to the model.
    pub definition: RawJson,
}

/// The answer to one call.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "an API must answer both")]
pub enum Answer<'a> {
    /// A tool's outcome.
    Outcome(CallResult<'a>),
    /// The tools that a search found, and its outcome.
    Found {
        /// The search and its own outcome.
        search: CallResult<'a>,
        /// The tools to load.
        tools: Vec<Loaded>,
    },
}

/// The difference between the tools that were sent to the model and the current tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Tools that were not sent yet.
    pub added: Vec<Loaded>,
    /// Tools with a new definition.
    pub changed: Vec<Loaded>,
    /// Names of tools that no longer exist.
    pub gone: Vec<String>,
    /// Names of tools that exist again, unchanged.
    pub back: Vec<String>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sentences about removed and restored tools.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for (names, what) in [(&self.gone, "not available now"), (&self.back, "available again")] {
            if !names.is_empty() {
                remarks.push(format!("These tools are {what}: {}.", names.join(", ")));
            }
        }
        remarks
    }
}

/// The tools of one conversation, in the order in which they were first sent.
///
/// Entries are only appended: each request begins with the previous one. Changes of tools become messages at
/// the end. The session does not store messages; the host appends those that it returns.
///
/// ```
/// use mcp_providers::{CallResult, ModelCall, Session, anthropic::Anthropic};
/// use mcp_tool::{ToolOutcome, ToolSpec};
///
/// let (search, clock) = (ToolSpec::new("tool_search", "Finds tools."), ToolSpec::new("clock", "Tells the time."));
/// let mut session = Session::new(Anthropic::default(), [], &search);
/// let call = ModelCall::new("toolu_1", "tool_search", r#"{"query":"time"}"#);
/// let outcome = ToolOutcome::text("clock");
/// let messages = session.results(&[CallResult { call: &call, outcome: &outcome }], &[&clock]);
/// assert!(messages[0].as_str().contains(r#"{"type":"tool_reference","tool_name":"clock"}"#));
/// assert!(session.tools().as_str().contains(r#""defer_loading":true"#));
/// ```
#[derive(Clone, Debug)]
pub struct Session<A> {
    api: A,
    /// The name of the search tool in the API.
    search: String,
    /// The entries of the request's `tools`. Only appended to.
    tools: Vec<RawJson>,
    known: HashMap<String, Known>,
}

#[derive(Clone, Debug)]
struct Known {
    /// The definition that was last sent to the model.
    definition: RawJson,
    is_gone: bool,
}

impl<A: Deferral> Session<A> {
    /// A conversation with permanent tools, and a tool that searches for others.
    pub fn new<'t>(
        api: A,
        always: impl IntoIterator<Item = &'t ToolSpec>,
        search: &ToolSpec,
    ) -> Self {
        let searching = api.search_tool(search);
        let mut session =
            Self { api, search: searching.name, tools: Vec::new(), known: HashMap::new() };
        for tool in always {
            let (tool, _) = session.loaded(tool);
            if !session.known.contains_key(&tool.name) && tool.name != session.search {
                session.tools.push(tool.definition.clone());
                session.learn(tool);
            }
        }
        session.tools.push(searching.json);
        session
    }

    /// The request's `tools`.
    pub fn tools(&self) -> RawJson {
        self.api.tools(&self.tools)
    }

    /// The API.
    pub fn api(&self) -> &A {
        &self.api
    }

    /// Whether a call is a search for tools.
    pub fn is_search(&self, call: &ModelCall) -> bool {
        call.name == self.search
    }

    /// The losses of a tool's definition, as [`Api::definition`] reports them.
    pub fn losses(&self, tool: &ToolSpec) -> Vec<Loss> {
        self.loaded(tool).1
    }

    /// The messages that answer all calls of one response. `found` are the tools found by its searches; the
    /// model can call them from now on. With several searches at once, the first answer has all of the tools; see
    /// [`results_of_searches`](Self::results_of_searches).
    pub fn results(&mut self, results: &[CallResult<'_>], found: &[&ToolSpec]) -> Vec<RawJson> {
        let mut found = found.to_vec();
        let mut tools_of = |result: &CallResult<'_>| {
            if self.is_search(result.call) { mem::take(&mut found) } else { Vec::new() }
        };
        let results: Vec<_> = results.iter().map(|result| (*result, tools_of(result))).collect();
        self.results_of_searches(&results)
    }

    /// The messages that answer all calls of one response, each with the tools that it found if it is a search. The
    /// model can call them from now on.
    pub fn results_of_searches<T: AsSpec>(
        &mut self,
        results: &[(CallResult<'_>, Vec<T>)],
    ) -> Vec<RawJson> {
        let mut answers = Vec::with_capacity(results.len());
        for (result, found) in results {
            if !self.is_search(result.call) {
                answers.push(Answer::Outcome(*result));
                continue;
            }
            let tools: Vec<Loaded> =
                found.iter().map(|tool| self.loaded(tool.as_spec()).0).collect();
            for tool in &tools {
                self.add(tool);
            }
            answers.push(Answer::Found { search: *result, tools });
        }
        self.api.answers(&answers)
    }

    /// Compares the tools that were sent with the tools of the turn. Append the messages to the conversation;
    /// there are none if nothing changed.
    ///
    /// `turn` are descriptions or the tools themselves, such as those of a snapshot of `mcp-bridge`.
    pub fn refresh<'t, T: AsSpec + ?Sized + 't>(
        &mut self,
        turn: impl IntoIterator<Item = &'t T>,
    ) -> Vec<RawJson> {
        let changes = self.changes(turn.into_iter().map(AsSpec::as_spec));
        if changes.is_empty() { Vec::new() } else { self.api.announce(&changes) }
    }

    fn changes<'t>(&mut self, turn: impl IntoIterator<Item = &'t ToolSpec>) -> Changes {
        let mut changes = Changes::default();
        let mut present = HashSet::new();
        for tool in turn {
            let (tool, _) = self.loaded(tool);
            if tool.name == self.search || !present.insert(tool.name.clone()) {
                continue;
            }
            match self.known.get_mut(&tool.name) {
                None => {
                    self.add(&tool);
                    changes.added.push(tool);
                }
                Some(known) if known.definition != tool.definition => {
                    (known.definition, known.is_gone) = (tool.definition.clone(), false);
                    changes.changed.push(tool);
                }
                Some(known) if known.is_gone => {
                    known.is_gone = false;
                    changes.back.push(tool.name);
                }
                Some(_) => {}
            }
        }
        for (name, known) in &mut self.known {
            if !known.is_gone && !present.contains(name) {
                known.is_gone = true;
                changes.gone.push(name.clone());
            }
        }
        changes.gone.sort();
        changes
    }

    fn loaded(&self, tool: &ToolSpec) -> (Loaded, Vec<Loss>) {
        let definition = self.api.definition(tool);
        let server = tool.server().map(str::to_owned);
        let loaded = Loaded { name: definition.name, server, definition: definition.json };
        (loaded, definition.losses)
    }

    /// Adds a tool. A known one keeps its entry.
    fn add(&mut self, tool: &Loaded) {
        if tool.name == self.search {
            return;
        }
        let entry = self.api.deferred(tool);
        match self.known.get_mut(&tool.name) {
            // The entry is not changed, so a new definition must be announced.
            Some(known) if entry.is_some() => known.is_gone = false,
            _ => {
                self.tools.extend(entry);
                self.learn(tool.clone());
            }
        }
    }

    fn learn(&mut self, tool: Loaded) {
        self.known.insert(tool.name, Known { definition: tool.definition, is_gone: false });
    }

    /// The state of the conversation as JSON, for [`Session::resume`]. Store its text unchanged: a JSON library may
    /// reorder members, and then the prefix differs.
    pub fn save(&self) -> RawJson {
        let mut known: Vec<(&String, &Known)> = self.known.iter().collect();
        known.sort_by_key(|(name, _)| *name);
        let entry = |(name, known): (&String, &Known)| {
            let mut entry = ObjectWriter::new();
            entry.string("name", name).raw("definition", &known.definition);
            entry.boolean("gone", known.is_gone);
            entry.finish()
        };
        let known: Vec<RawJson> = known.into_iter().map(entry).collect();
        let mut saved = ObjectWriter::new();
        saved.string("search", &self.search).raw("tools", &array(&self.tools));
        saved.raw("known", &array(&known));
        saved.finish()
    }

    /// Resumes a conversation from the output of [`Session::save`]: the next request begins with the same
    /// bytes as the last one.
    pub fn resume(api: A, saved: &RawJson) -> Result<Self, ShapeError> {
        let member = |name| saved.get(name).unwrap_or_else(RawJson::null);
        let known: Vec<RawJson> = member("known").decode()?;
        let known = known.iter().map(|entry| {
            let member = |name| entry.get(name).unwrap_or_else(RawJson::null);
            let known =
                Known { definition: member("definition"), is_gone: member("gone").decode()? };
            Ok((member("name").decode()?, known))
        });
        Ok(Self {
            api,
            search: member("search").decode()?,
            tools: member("tools").decode()?,
            known: known.collect::<Result<_, ShapeError>>()?,
        })
    }
}
