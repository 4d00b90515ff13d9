//! Putting a query to an index, and what comes back.

use std::{fmt, sync::Arc};

use crate::{
    card::Card,
    explain::{Explainer, Match},
    index::Index,
    pattern,
    plan::Plan,
    query::{Kind, Query, Words},
    rank::{Candidate, Context, order, rank},
    select,
};

/// How much of the answer is wanted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// The most tools to return. Default 10. `select:` returns what it names, up to 64.
    pub limit: usize,
    /// The least score to return, as a share of the best. Default 0.6, which on measured requests
    /// returns half as many tools as no floor and loses two in a hundred of the right ones.
    pub floor: f32,
}

/// The answer to a query.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Results {
    /// The tools found, best first.
    pub hits: Vec<Hit>,
    /// How many tools matched at all, those in `hits` among them.
    pub matched: usize,
    /// Names of a `select:` query that no tool has.
    pub missing: Vec<Missing>,
}

/// A tool that was found, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// The tool.
    pub card: Arc<Card>,
    /// How well it fits. Only the order and the proportion to other hits mean something.
    pub score: f32,
    /// Whether the query called it by its name: such tools always come first.
    pub named: bool,
    /// What each word of the query contributed, and where it was found.
    pub matches: Vec<Match>,
}

/// A name that no tool has, and the ids of tools with names like it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The name as it was asked for.
    pub name: String,
    /// Ids of up to three tools, most alike first.
    pub nearest: Vec<String>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { limit: 10, floor: 0.6 }
    }
}

impl Results {
    /// How many tools matched beyond those returned.
    pub fn more(&self) -> usize {
        self.matched - self.hits.len()
    }
}

impl Index {
    /// The tools that answer `query`, best first.
    ///
    /// An empty index, an empty query and a query of which no word is known give no hits. Equal
    /// scores are ordered by id, so the same cards and query always give the same answer.
    ///
    /// ```
    /// use mcp_search::{Card, Index, Query, SearchOptions};
    ///
    /// let mut index = Index::new();
    /// index.replace_server("git", [Card::new("git/git_log", "git", "git_log"), Card::new("git/git_push", "git", "git_push")]);
    /// let results = index.search(&Query::parse("push to git"), &SearchOptions::default());
    /// assert_eq!(results.hits[0].card.name, "git_push");
    /// assert_eq!(results.more(), 1);
    /// ```
    pub fn search(&self, query: &Query, options: &SearchOptions) -> Results {
        match &query.kind {
            Kind::Words(words) if words.terms.is_empty() && !words.servers.is_empty() => {
                self.list(words, options)
            }
            Kind::Words(words) => self.find(words, options),
            Kind::Select(names) => select::select(self, names),
            Kind::Pattern { pattern, words } => pattern::find(self, pattern, words, options),
        }
    }

    fn find(&self, words: &Words, options: &SearchOptions) -> Results {
        let plan = Plan::new(words, self);
        let (head, matched) = rank(self, words, &plan, options);
        let mut explainer = Explainer::new(self, words, &plan);
        let hits: Vec<Hit> = head
            .iter()
            .map(|candidate| self.hit(candidate, explainer.matches(candidate)))
            .collect();
        Results { matched: matched.max(hits.len()), hits, missing: Vec::new() }
    }

    /// All tools of the servers a query names when it says nothing else.
    fn list(&self, words: &Words, options: &SearchOptions) -> Results {
        let plan = Plan::new(words, self);
        let mut all = Vec::new();
        Context::new(self, words, &plan)
            .tools(|slot, doc| all.push(Candidate { slot, doc, score: 1.0, named: false }));
        all.sort_by(|a, b| order(self, a, b));
        let hits = all.iter().take(options.limit).map(|candidate| self.hit(candidate, Vec::new()));
        Results { hits: hits.collect(), matched: all.len(), missing: Vec::new() }
    }

    pub(crate) fn hit(&self, candidate: &Candidate, matches: Vec<Match>) -> Hit {
        let card = &self.slots[candidate.slot].segment.docs[candidate.doc as usize].card;
        Hit { card: Arc::clone(card), score: candidate.score, named: candidate.named, matches }
    }
}

/// One line for people: the id, the score, and what each word matched.
impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.2}", self.card.id, self.score)?;
        if self.named {
            f.write_str(", called by name")?;
        }
        for found in &self.matches {
            write!(f, "; {found}")?;
        }
        Ok(())
    }
}
