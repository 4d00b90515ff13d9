//! Regular expressions over tools.

use std::sync::Arc;

use regex::Regex;

use super::results::{Hit, Results, SearchOptions};
use crate::{
    card::Card,
    corpus::{Corpus, Field, Fields, read_part},
    query::Words,
    rank::{Adder, Candidate, Context, How, Match, Plan, order},
};

/// Tools that match `pattern`: those with a matching name first, each group ordered by the weights of the words
/// in the pattern. The floor does not apply, because a pattern has no partial matches.
pub(crate) fn find(
    corpus: &Corpus,
    pattern: &Regex,
    words: &Words,
    options: &SearchOptions,
) -> Results {
    let plan = Plan::new(words, corpus);
    let context = Context::new(corpus, words, &plan);
    let mut scores = vec![0.0; context.layout.total];
    Adder::new(&context.layout).add(corpus, &context.layout, &plan, &plan.all(), &mut scores);
    let mut found: Vec<(Candidate, Fields)> = Vec::new();
    corpus.each_tool(|slot, doc, card| {
        let fields = fields(pattern, card);
        if fields != Fields::default() {
            // Not an exact name: `order` uses `named` to put matching names first.
            let named = fields.contains(Field::Name);
            let score = scores[context.layout.place(slot, doc)];
            found.push((Candidate { slot, doc, score, named }, fields));
        }
    });
    found.sort_by(|a, b| order(corpus, &a.0, &b.0));
    let matched = found.len();
    let hits = found.into_iter().take(options.limit).map(|(candidate, fields)| {
        let word: Arc<str> = Arc::from(pattern.as_str());
        let score = candidate.score;
        let found = Match { found: Arc::clone(&word), word, how: How::Pattern, fields, score };
        let mut hit = Hit::new(corpus, &candidate, vec![found]);
        hit.named = false;
        hit
    });
    Results { hits: hits.collect(), matched, missing: Vec::new() }
}

/// The fields that `pattern` matches. The id counts as the name.
fn fields(pattern: &Regex, card: &Card) -> Fields {
    let mut fields = Fields::default();
    let mut look = |field: Field, text: &str| {
        if !text.is_empty() && !fields.contains(field) && pattern.is_match(read_part(text)) {
            fields.add(field);
        }
    };
    look(Field::Name, &card.name);
    look(Field::Name, &card.id);
    look(Field::Title, &card.title);
    look(Field::Server, &card.server);
    look(Field::Description, &card.description);
    for param in &card.params {
        look(Field::ParamName, &param.name);
        look(Field::ParamText, &param.description);
    }
    for tag in &card.tags {
        look(Field::Tag, tag);
    }
    fields
}
