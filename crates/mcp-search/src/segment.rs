//! A finished piece of the index: the tools of some servers, and which words they hold.
//!
//! Nothing in a segment changes once it is built, and nothing in it depends on other segments:
//! what a word is worth in a tool follows from that tool alone. So segments are shared between
//! snapshots, and a server can be replaced without touching the rest.

use std::{ops::Range, sync::Arc};

use crate::{
    action::Actions, build::count, card::Card, field::Fields, similar::Pieces, terms::Terms,
};

/// Separates texts in [`Segment::sequence`], so that no pair spans two of them.
pub(crate) const GAP: u32 = u32::MAX;

/// The most a word can be worth in one tool.
pub(crate) const FULL_WORTH: f32 = 1.0 + K1;
/// How soon more of the same word stops counting: BM25's k1.
pub(crate) const K1: f32 = 1.3;

#[derive(Debug, Default)]
pub(crate) struct Segment {
    pub terms: Terms,
    /// To find words that are spelt alike.
    pub pieces: Pieces,
    /// Where each word's postings start; one entry more than words.
    pub starts: Vec<u32>,
    /// Ordered by word, then by tool.
    pub postings: Vec<Posting>,
    pub docs: Vec<Doc>,
    /// The words of each tool's name, title and description, in order.
    pub sequence: Vec<u32>,
    /// The servers of this segment with their tools, which lie side by side.
    pub servers: Vec<Span>,
    /// Places in `servers`, by name.
    pub server_order: Vec<u32>,
    /// Hashes of the names a tool may be called by, sorted.
    pub names: Vec<(u64, u32)>,
}

/// One word in one tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub doc: u32,
    /// What the word is worth here, as a share of [`FULL_WORTH`].
    pub worth: u16,
    pub fields: Fields,
}

/// One tool.
#[derive(Clone, Debug)]
pub(crate) struct Doc {
    pub card: Arc<Card>,
    /// Where its words start in [`Segment::sequence`]. They end where the next tool's start.
    pub words: u32,
    /// How many of them are the name's.
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
    /// What to multiply [`Posting::worth`] with when the word as such is worth `factor`.
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

    /// Which span holds the tools of `server`.
    pub(crate) fn server(&self, server: &str) -> Option<u32> {
        let name = |place: &u32| &*self.servers[*place as usize].name;
        let at = self.server_order.binary_search_by(|place| name(place).cmp(server)).ok()?;
        Some(self.server_order[at])
    }

    /// Sorts what is looked up by searching. To be called when all tools are in.
    pub(crate) fn sort(&mut self) {
        let servers = &self.servers;
        self.server_order = (0..count(servers.len())).collect();
        self.server_order.sort_unstable_by_key(|&place| &*servers[place as usize].name);
        self.names.sort_unstable();
    }

    /// Bytes held beyond the cards.
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
