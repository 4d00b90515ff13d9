//! An immutable part of the index: the tools of some servers, and their words.
//!
//! A segment does not change once it is built and does not depend on other segments: the weight of
//! a word in a tool follows from that tool alone. So segments are shared between snapshots, and a
//! server can be replaced without rebuilding the rest.

use std::{ops::Range, sync::Arc};

use super::field::Fields;
use crate::{
    card::Card,
    text::{action::Actions, count::count, similar::Pieces, terms::Terms},
};

/// Separates texts in [`Segment::sequence`], so that no pair spans two of them.
pub(crate) const GAP: u32 = u32::MAX;

/// The maximum weight of a word in one tool.
pub(crate) const FULL_WORTH: f32 = 1.0 + K1;
/// The saturation of repeated words: BM25's k1.
pub(crate) const K1: f32 = 1.3;

#[derive(Debug, Default)]
pub(crate) struct Segment {
    pub terms: Terms,
    /// The trigram index for similar spellings.
    pub pieces: Pieces,
    /// The start of each word's postings; one entry more than words.
    pub starts: Vec<u32>,
    /// Ordered by word, then by tool.
    pub postings: Vec<Posting>,
    pub docs: Vec<Doc>,
    /// The words of each tool's name, title and description, in order.
    pub sequence: Vec<u32>,
    /// The servers of this segment with their tools, which are contiguous.
    pub servers: Vec<Span>,
    /// Indices into `servers`, ordered by name.
    pub server_order: Vec<u32>,
    /// Sorted hashes of the names of tools.
    pub names: Vec<(u64, u32)>,
}

/// One word in one tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub doc: u32,
    /// The weight of the word here, as a share of [`FULL_WORTH`].
    pub worth: u16,
    pub fields: Fields,
}

/// One tool.
#[derive(Clone, Debug)]
pub(crate) struct Doc {
    pub card: Arc<Card>,
    /// The start of its words in [`Segment::sequence`]. They end where those of the next tool start.
    pub words: u32,
    /// How many of them belong to the name.
    pub name_words: u16,
    pub actions: Actions,
    pub server: u32,
}

/// The tools of one server.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub name: Arc<str>,
    pub docs: Range<u32>,
}

impl Posting {
    /// The factor for [`Posting::worth`] if the weight of the word is `factor`.
    pub(crate) fn scale(factor: f32) -> f32 {
        factor * (FULL_WORTH / 65535.0)
    }
}

impl Segment {
    pub(crate) fn postings(&self, term: u32) -> &[Posting] {
        let term = term as usize;
        &self.postings[self.starts[term] as usize..self.starts[term + 1] as usize]
    }

    /// The posting of `term` in `doc`, if the tool has the word.
    pub(crate) fn posting(&self, term: u32, doc: u32) -> Option<Posting> {
        let list = self.postings(term);
        list.binary_search_by_key(&doc, |posting| posting.doc).ok().map(|at| list[at])
    }

    /// The words of a tool's name, title and description.
    pub(crate) fn words(&self, doc: u32) -> &[u32] {
        let doc = doc as usize;
        let end = self.docs.get(doc + 1).map_or(self.sequence.len(), |next| next.words as usize);
        &self.sequence[self.docs[doc].words as usize..end]
    }

    /// The words of a tool's name.
    pub(crate) fn name_words(&self, doc: u32) -> &[u32] {
        &self.words(doc)[..usize::from(self.docs[doc as usize].name_words)]
    }

    /// The span with the tools of `server`.
    pub(crate) fn server(&self, server: &str) -> Option<u32> {
        let name = |place: &u32| &*self.servers[*place as usize].name;
        let at = self.server_order.binary_search_by(|place| name(place).cmp(server)).ok()?;
        Some(self.server_order[at])
    }

    /// Sorts the tables used for lookups. Must be called after all tools were added.
    pub(crate) fn sort(&mut self) {
        let servers = &self.servers;
        self.server_order = (0..count(servers.len())).collect();
        self.server_order.sort_unstable_by_key(|&place| &*servers[place as usize].name);
        self.names.sort_unstable();
    }

    /// Memory in bytes, without the cards.
    pub(crate) fn bytes(&self) -> usize {
        self.terms.bytes()
            + self.pieces.bytes()
            + size_of_val(&*self.starts)
            + size_of_val(&*self.postings)
            + size_of_val(&*self.docs)
            + size_of_val(&*self.sequence)
            + size_of_val(&*self.servers)
            + size_of_val(&*self.server_order)
            + size_of_val(&*self.names)
    }
}

/// Orders postings by word, keeping the order of tools: a counting sort.
pub(crate) fn by_term(postings: &[(u32, Posting)], terms: usize) -> (Vec<u32>, Vec<Posting>) {
    let mut starts = vec![0_u32; terms + 1];
    for &(term, _) in postings {
        starts[term as usize + 1] += 1;
    }
    for term in 0..terms {
        starts[term + 1] += starts[term];
    }
    let mut next = starts.clone();
    let nothing = Posting { doc: 0, worth: 0, fields: Fields::default() };
    let mut ordered = vec![nothing; postings.len()];
    for &(term, posting) in postings {
        let at = &mut next[term as usize];
        ordered[*at as usize] = posting;
        *at += 1;
    }
    (starts, ordered)
}
