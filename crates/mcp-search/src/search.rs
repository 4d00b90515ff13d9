//! Runs a query.

mod pattern;
mod results;
mod select;

pub use self::results::{Hit, Missing, Results, SearchOptions};
use crate::{
    corpus::Corpus,
    query::{Kind, Query, Words},
    rank::{Candidate, Context, Explainer, Plan, order, rank},
};

/// Searches for `query`, best hits first.
pub(crate) fn search(corpus: &Corpus, query: &Query, options: &SearchOptions) -> Results {
    match &query.kind {
        Kind::Words(words) if words.terms.is_empty() && !words.servers.is_empty() => {
            list(corpus, words, options)
        }
        Kind::Words(words) => find(corpus, words, options),
        Kind::Select(names) => select::select(corpus, names),
        Kind::Pattern { pattern, words } => pattern::find(corpus, pattern, words, options),
    }
}

fn find(corpus: &Corpus, words: &Words, options: &SearchOptions) -> Results {
    let plan = Plan::new(words, corpus);
    let (head, matched) = rank(corpus, words, &plan, options.limit, options.floor);
    let mut explainer = Explainer::new(corpus, words, &plan);
    let hits: Vec<Hit> = head
        .iter()
        .map(|candidate| Hit::new(corpus, candidate, explainer.matches(candidate)))
        .collect();
    Results { matched: matched.max(hits.len()), hits, missing: Vec::new() }
}

/// All tools of the servers in a query without other words.
fn list(corpus: &Corpus, words: &Words, options: &SearchOptions) -> Results {
    let plan = Plan::new(words, corpus);
    let mut all = Vec::new();
    Context::new(corpus, words, &plan)
        .tools(|slot, doc| all.push(Candidate { slot, doc, score: 1.0, named: false }));
    all.sort_by(|a, b| order(corpus, a, b));
    let hits = all.iter().take(options.limit);
    let hits = hits.map(|candidate| Hit::new(corpus, candidate, Vec::new()));
    Results { hits: hits.collect(), matched: all.len(), missing: Vec::new() }
}
