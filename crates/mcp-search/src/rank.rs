//! The order of the tools: what their words are worth, and what the words together say.

use std::cmp::Ordering;

use crate::{
    filter::Filter,
    index::Index,
    plan::Plan,
    query::Words,
    score::{Adder, Layout},
    search::SearchOptions,
    segment::Span,
    terms,
};

mod clauses;
mod closer;

use closer::Closer;

/// How many of the best tools are looked at more closely, at least. The closer look moves a tool by
/// a few places, not by dozens.
const HEAD: usize = 32;
/// How much of a server's strength its tools share.
const SERVER_SHARE: f32 = 0.2;

/// One tool that matched.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub slot: usize,
    pub doc: u32,
    pub score: f32,
    /// Called by its name.
    pub named: bool,
}

/// What every step of ranking looks at.
pub(crate) struct Context<'a> {
    pub index: &'a Index,
    pub plan: &'a Plan<'a>,
    pub layout: Layout,
    filter: Filter<'a>,
}

/// The best tools, best first, and how many matched at all.
pub(crate) fn rank(
    index: &Index,
    words: &Words,
    plan: &Plan<'_>,
    options: &SearchOptions,
) -> (Vec<Candidate>, usize) {
    let context = Context::new(index, words, plan);
    let mut scores = vec![0.0; context.layout.total];
    let mut adder = Adder::new(&context.layout);
    adder.add(index, &context.layout, plan, &plan.all(), &mut scores);
    context.filter.apply(&mut scores);
    if words.clauses.len() > 1 {
        clauses::add(&context, words, &mut adder, &mut scores);
    }
    let (mut head, matched) = context.select(&scores, HEAD.max(options.limit.saturating_mul(2)));
    context.add_named(words, &scores, &mut head);
    let closer: Vec<Closer<'_>> =
        (0..index.slots.len()).map(|slot| Closer::new(index, slot, words, plan)).collect();
    let mut servers = context.per_server(f32::NAN);
    let mut best = 0.0_f32;
    for candidate in &mut head {
        let doc = &index.slots[candidate.slot].segment.docs[candidate.doc as usize];
        let strength = &mut servers[candidate.slot][doc.server as usize];
        if strength.is_nan() {
            *strength = context.server_strength(candidate.slot, doc.server, &scores);
        }
        candidate.score =
            closer[candidate.slot].look(candidate.doc, candidate.score) + SERVER_SHARE * *strength;
        best = best.max(candidate.score);
    }
    head.retain(|candidate| candidate.named || candidate.score >= best * options.floor);
    head.sort_unstable_by(|a, b| order(index, a, b));
    head.truncate(options.limit);
    (head, matched)
}

/// Best first; where scores are equal, by id and server, so that the order is always the same.
pub(crate) fn order(index: &Index, a: &Candidate, b: &Candidate) -> Ordering {
    let card = |c: &Candidate| &index.slots[c.slot].segment.docs[c.doc as usize].card;
    b.named.cmp(&a.named).then(b.score.total_cmp(&a.score)).then_with(|| {
        let (a, b) = (card(a), card(b));
        (&a.id, &a.server).cmp(&(&b.id, &b.server))
    })
}

impl<'a> Context<'a> {
    pub(crate) fn new(index: &'a Index, words: &'a Words, plan: &'a Plan<'a>) -> Self {
        let layout = Layout::new(index);
        let filter = Filter::new(index, &layout, words, plan);
        Self { index, plan, layout, filter }
    }

    /// Calls `each` with every current server the filter lets through, its slot and its place.
    fn spans(&self, mut each: impl FnMut(usize, usize, &Span)) {
        for (at, slot) in self.index.slots.iter().enumerate() {
            for (place, span) in slot.spans().filter(|(_, span)| self.filter.server(&span.name)) {
                each(at, place as usize, span);
            }
        }
    }

    /// Calls `each` with every tool the filter lets through.
    pub(crate) fn tools(&self, mut each: impl FnMut(usize, u32)) {
        self.spans(|slot, _, span| {
            let passes = |&doc: &u32| self.filter.tool(self.layout.place(slot, doc));
            span.docs.clone().filter(passes).for_each(|doc| each(slot, doc));
        });
    }

    fn highest(&self, scores: &[f32]) -> f32 {
        let mut best = 0.0_f32;
        self.tools(|slot, doc| best = best.max(scores[self.layout.place(slot, doc)]));
        best
    }

    /// A number for every server of every slot.
    fn per_server(&self, value: f32) -> Vec<Vec<f32>> {
        self.index.slots.iter().map(|slot| vec![value; slot.segment.servers.len()]).collect()
    }

    /// The `most` best tools by their words alone, and how many matched.
    fn select(&self, scores: &[f32], most: usize) -> (Vec<Candidate>, usize) {
        let mut head: Vec<Candidate> = Vec::with_capacity(4 * HEAD);
        let (mut matched, mut least, mut full) = (0, f32::MIN_POSITIVE, most.saturating_mul(4));
        for (at, slot) in self.index.slots.iter().enumerate() {
            for (_, span) in slot.spans().filter(|(_, span)| self.filter.server(&span.name)) {
                let own = &scores[self.layout.place(at, span.docs.start)..][..span.docs.len()];
                // Apart from the loop below, so that neither has a branch that is hard to foresee.
                matched += own.iter().map(|&score| usize::from(score > 0.0)).sum::<usize>();
                for (n, &score) in (0..).zip(own) {
                    if score < least {
                        continue;
                    }
                    head.push(Candidate {
                        slot: at,
                        doc: span.docs.start + n,
                        score,
                        named: false,
                    });
                    if head.len() >= full {
                        least = cut(&mut head, most);
                        // A word that every tool has makes them all alike.
                        if head.len() / 8 > most {
                            cut_ties(self.index, &mut head, most);
                        }
                        full = head.len().saturating_add(most.saturating_mul(4));
                    }
                }
            }
        }
        if head.len() > most {
            cut(&mut head, most);
        }
        cut_ties(self.index, &mut head, most);
        (head, matched)
    }

    /// How strong the server of a tool is: the mean of its three best tools. The host's own tools
    /// have no server, and what they have in common says nothing.
    fn server_strength(&self, slot: usize, server: u32, scores: &[f32]) -> f32 {
        let span = &self.index.slots[slot].segment.servers[server as usize];
        if span.name.is_empty() {
            return 0.0;
        }
        let first = self.layout.place(slot, span.docs.start);
        let mut top = [0.0_f32; 3];
        for &score in &scores[first..][..span.docs.len()] {
            if score > top[2] {
                top[2] = score;
                top.sort_unstable_by(|a, b| b.total_cmp(a));
            }
        }
        top.iter().sum::<f32>() / 3.0
    }

    /// Brings in the tools that were called by their name.
    fn add_named(&self, words: &Words, scores: &[f32], head: &mut Vec<Candidate>) {
        for key in &words.names {
            let hash = terms::hash(key);
            self.spans_named(hash, |slot, doc| {
                let place = self.layout.place(slot, doc);
                match head.iter_mut().find(|c| c.slot == slot && c.doc == doc) {
                    Some(known) => known.named = true,
                    None if self.filter.tool(place) => {
                        head.push(Candidate { slot, doc, score: scores[place], named: true });
                    }
                    None => {}
                }
            });
        }
    }

    /// Calls `each` with the tools that have a name of this hash.
    fn spans_named(&self, hash: u64, mut each: impl FnMut(usize, u32)) {
        for (at, slot) in self.index.slots.iter().enumerate() {
            for doc in slot.named(hash) {
                let server = slot.segment.docs[doc as usize].server as usize;
                if self.filter.server(&slot.segment.servers[server].name) {
                    each(at, doc);
                }
            }
        }
    }
}

/// Drops all but the `most` best and those as good as the last of them, whose score it returns.
fn cut(head: &mut Vec<Candidate>, most: usize) -> f32 {
    let least = head.select_nth_unstable_by(most - 1, |a, b| b.score.total_cmp(&a.score)).1.score;
    head.retain(|candidate| candidate.score >= least);
    least
}

/// Drops all but the `most` best.
fn cut_ties(index: &Index, head: &mut Vec<Candidate>, most: usize) {
    if head.len() > most {
        head.select_nth_unstable_by(most - 1, |a, b| order(index, a, b));
        head.truncate(most);
    }
}
