//! Regular expressions over tools.

use std::sync::Arc;

use regex::Regex;

use crate::{
    build::read_part,
    card::Card,
    explain::Match,
    field::{Field, Fields},
    index::Index,
    plan::{How, Plan},
    query::Words,
    rank::{Candidate, Context, order},
    score::Adder,
    search::{Results, SearchOptions},
};

/// Tools that match `pattern`: those whose name does first, each group ordered by what the words in
/// the pattern are worth. The floor does not apply, since a pattern matches or does not.
pub(crate) fn find(
    index: &Index,
    pattern: &Regex,
    words: &Words,
    options: &SearchOptions,
) -> Results {
    let plan = Plan::new(words, index);
    let context = Context::new(index, words, &plan);
    let mut scores = vec![0.0; context.layout.total];
    Adder::new(&context.layout).add(index, &context.layout, &plan, &plan.all(), &mut scores);
    let mut found: Vec<(Candidate, Fields)> = Vec::new();
    index.each_tool(|slot, doc, card| {
        let fields = fields(pattern, card);
        if fields != Fields::default() {
            // Ordering, not naming: `named` is how `order` puts the matching names first.
            let named = fields.contains(Field::Name);
            let score = scores[context.layout.place(slot, doc)];
            found.push((Candidate { slot, doc, score, named }, fields));
        }
    });
    found.sort_by(|a, b| order(index, &a.0, &b.0));
    let matched = found.len();
    let hits = found.into_iter().take(options.limit).map(|(candidate, fields)| {
        let word: Arc<str> = Arc::from(pattern.as_str());
        let score = candidate.score;
        let found = Match { found: Arc::clone(&word), word, how: How::Pattern, fields, score };
        let mut hit = index.hit(&candidate, vec![found]);
        hit.named = false;
        hit
    });
    Results { hits: hits.collect(), matched, missing: Vec::new() }
}

/// Where `pattern` matches. The id counts as the name.
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
