//! The index: segments, and which of their servers are current.

use std::{collections::HashSet, fmt, ops::Range, sync::Arc};

use crate::{
    build::{build, count},
    card::Card,
    merge::merge,
    segment::{Segment, Span},
    synonyms::Synonyms,
};

/// A segment is merged with the one before it unless that one is more than this much larger. Keeps
/// the number of segments logarithmic, and the price of a change in proportion to the change.
const GROWTH: usize = 3;

/// A searchable set of tools, grouped by server.
///
/// Cloning is cheap and gives a snapshot: the clone goes on answering from what it saw, while the
/// original changes. What a search returns depends on the cards alone, not on the order or the
/// steps in which they came.
///
/// ```
/// use mcp_search::{Card, Index, Query, SearchOptions};
///
/// let mut index = Index::new();
/// let mut card = Card::new("mcp__files__read", "files", "read_file");
/// card.description = "Read a text file from disk.".into();
/// index.replace_server("files", [card]);
///
/// let snapshot = index.clone();
/// index.remove_server("files");
///
/// let query = Query::parse("open a document");
/// assert_eq!(snapshot.search(&query, &SearchOptions::default()).hits.len(), 1);
/// assert!(index.search(&query, &SearchOptions::default()).hits.is_empty());
/// ```
#[derive(Clone)]
pub struct Index {
    pub(crate) slots: Vec<Slot>,
    pub(crate) synonyms: Arc<Synonyms>,
}

/// A segment and the servers in it that have been replaced or removed since.
#[derive(Clone)]
pub(crate) struct Slot {
    pub segment: Arc<Segment>,
    /// Sorted places of spans.
    dead: Vec<u32>,
}

impl Index {
    /// An empty index with the synonyms of [`Synonyms::english`].
    pub fn new() -> Self {
        Self::with_synonyms(Synonyms::english())
    }

    /// An empty index with these synonyms.
    pub fn with_synonyms(synonyms: Synonyms) -> Self {
        Self { slots: Vec::new(), synonyms: Arc::new(synonyms) }
    }

    /// Makes `cards` the tools of `server`, in place of those it had. The cards' own `server` is set
    /// to it. Of cards with the same id the first is kept.
    ///
    /// Costs time in proportion to these cards, not to the index: now and then pieces of the index
    /// are merged, which on average adds a logarithmic factor.
    pub fn replace_server<C: Into<Arc<Card>>>(
        &mut self,
        server: &str,
        cards: impl IntoIterator<Item = C>,
    ) {
        self.remove_server(server);
        let cards: Vec<Arc<Card>> = cards
            .into_iter()
            .map(|card| {
                let mut card = card.into();
                if card.server != server {
                    server.clone_into(&mut Arc::make_mut(&mut card).server);
                }
                card
            })
            .collect();
        self.add(vec![(Arc::from(server), unique(cards))]);
    }

    /// Replaces every server that `cards` name, at once. The quick way to fill an index.
    pub fn extend<C: Into<Arc<Card>>>(&mut self, cards: impl IntoIterator<Item = C>) {
        let mut servers: Vec<(Arc<str>, Vec<Arc<Card>>)> = Vec::new();
        let mut places = std::collections::HashMap::<Arc<str>, usize>::new();
        for card in cards {
            let card: Arc<Card> = card.into();
            let place = places.get(card.server.as_str()).copied().unwrap_or_else(|| {
                let name: Arc<str> = Arc::from(card.server.as_str());
                places.insert(Arc::clone(&name), servers.len());
                servers.push((name, Vec::new()));
                servers.len() - 1
            });
            servers[place].1.push(card);
        }
        for (server, cards) in &mut servers {
            self.remove_server(server);
            *cards = unique(std::mem::take(cards));
        }
        self.add(servers);
    }

    /// Removes the tools of `server`, and says whether it had any.
    pub fn remove_server(&mut self, server: &str) -> bool {
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if slot.bury(server) {
                match slot.len() {
                    0 => drop(self.slots.remove(at)),
                    live if live * 2 < slot.segment.docs.len() => {
                        *slot = Slot::new(merge(std::slice::from_ref(slot)));
                    }
                    _ => {}
                }
                return true;
            }
        }
        false
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.slots.iter().map(Slot::len).sum()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Every tool, in no particular order.
    pub fn cards(&self) -> impl Iterator<Item = &Arc<Card>> {
        self.slots.iter().flat_map(|slot| {
            slot.spans().flat_map(|(_, span)| {
                slot.segment.docs[span.docs.start as usize..span.docs.end as usize]
                    .iter()
                    .map(|doc| &doc.card)
            })
        })
    }

    /// Bytes the index takes beyond the cards themselves.
    pub fn memory(&self) -> usize {
        self.slots.iter().map(|slot| slot.segment.bytes()).sum()
    }

    /// Calls `each` with every tool, its slot and its place there.
    pub(crate) fn each_tool(&self, mut each: impl FnMut(usize, u32, &Card)) {
        for (at, slot) in self.slots.iter().enumerate() {
            for (_, span) in slot.spans() {
                for doc in span.docs.clone() {
                    each(at, doc, &slot.segment.docs[doc as usize].card);
                }
            }
        }
    }

    fn add(&mut self, servers: Vec<(Arc<str>, Vec<Arc<Card>>)>) {
        let segment = build(servers);
        if segment.docs.is_empty() {
            return;
        }
        self.slots.push(Slot::new(segment));
        while let [.., before, last] = self.slots.as_slice()
            && before.len() <= GROWTH * last.len()
        {
            let merged = merge(&self.slots[self.slots.len() - 2..]);
            self.slots.truncate(self.slots.len() - 2);
            self.slots.push(Slot::new(merged));
        }
    }
}

impl Slot {
    fn new(segment: Segment) -> Self {
        Self { segment: Arc::new(segment), dead: Vec::new() }
    }

    /// How many tools are current.
    pub(crate) fn len(&self) -> usize {
        let dead: u32 = self.dead_spans().map(|docs| docs.end - docs.start).sum();
        self.segment.docs.len() - dead as usize
    }

    /// Servers that are current, with their place.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (u32, &Span)> {
        (0..).zip(&self.segment.servers).filter(|(at, _)| self.dead.binary_search(at).is_err())
    }

    /// How many current tools have the word `term`.
    pub(crate) fn frequency(&self, term: u32) -> u32 {
        let list = self.segment.postings(term);
        let place = |doc: u32| list.partition_point(|posting| posting.doc < doc);
        let dead: usize = self.dead_spans().map(|docs| place(docs.end) - place(docs.start)).sum();
        count(list.len() - dead)
    }

    /// Current tools with a name of this hash.
    pub(crate) fn named(&self, hash: u64) -> impl Iterator<Item = u32> {
        let names = &self.segment.names;
        let from = names.partition_point(|&(other, _)| other < hash);
        let same = names[from..].iter().take_while(move |&&(other, _)| other == hash);
        same.map(|&(_, doc)| doc).filter(|&doc| {
            let server = self.segment.docs[doc as usize].server;
            self.dead.binary_search(&server).is_err()
        })
    }

    fn dead_spans(&self) -> impl Iterator<Item = Range<u32>> {
        self.dead.iter().map(|&at| self.segment.servers[at as usize].docs.clone())
    }

    /// Marks `server` as no longer current, if it is here and current.
    fn bury(&mut self, server: &str) -> bool {
        let Some(at) = self.segment.server(server) else { return false };
        match self.dead.binary_search(&at) {
            Ok(_) => false,
            Err(place) => {
                self.dead.insert(place, at);
                true
            }
        }
    }
}

/// The first card of each id.
fn unique(mut cards: Vec<Arc<Card>>) -> Vec<Arc<Card>> {
    let mut seen = HashSet::with_capacity(cards.len());
    let keep: Vec<bool> = cards.iter().map(|card| seen.insert(card.id.as_str())).collect();
    drop(seen);
    let mut keep = keep.into_iter();
    cards.retain(|_| keep.next().unwrap_or(false));
    cards
}

impl Default for Index {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Into<Arc<Card>>> FromIterator<C> for Index {
    fn from_iter<I: IntoIterator<Item = C>>(cards: I) -> Self {
        let mut index = Self::new();
        index.extend(cards);
        index
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("tools", &self.len()).finish_non_exhaustive()
    }
}
