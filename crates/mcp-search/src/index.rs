//! The index: tools that are replaced server by server, and the search over them.

use std::{collections::HashSet, fmt, sync::Arc};

use crate::{
    card::Card,
    corpus::{Corpus, Slot, build, merge},
    query::Query,
    search::{self, Results, SearchOptions},
    text::Synonyms,
};

/// A segment is merged with the previous one unless that one is larger by more than this factor. This keeps
/// the number of segments logarithmic, and the cost of a change proportional to its size.
const GROWTH: usize = 3;

/// A searchable set of tools, grouped by server.
///
/// Cloning is cheap and returns a snapshot, which does not change with the original. The results of
/// a search depend on the cards alone, not on the order in which they were added.
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
    corpus: Corpus,
}

impl Index {
    /// An empty index with the synonyms of [`Synonyms::english`].
    pub fn new() -> Self {
        Self::with_synonyms(Synonyms::english())
    }

    /// An empty index with these synonyms.
    pub fn with_synonyms(synonyms: Synonyms) -> Self {
        Self { corpus: Corpus { slots: Vec::new(), synonyms: Arc::new(synonyms) } }
    }

    /// Replaces the tools of `server` by `cards`. The `server` of the cards is set to it. Of cards with
    /// the same id the first is kept.
    ///
    /// The cost is proportional to the number of these cards, not to the index: segments are merged
    /// occasionally, which adds a logarithmic factor on average.
    pub fn replace_server<C: Into<Arc<Card>>>(
        &mut self,
        server: &str,
        cards: impl IntoIterator<Item = C>,
    ) {
        self.remove_server(server);
        self.extend(cards.into_iter().map(|card| {
            let mut card = card.into();
            if card.server != server {
                server.clone_into(&mut Arc::make_mut(&mut card).server);
            }
            card
        }));
    }

    /// Replaces all servers that `cards` name. The fastest way to fill an index.
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

    /// Removes the tools of `server`. Returns whether it had any.
    pub fn remove_server(&mut self, server: &str) -> bool {
        for (at, slot) in self.corpus.slots.iter_mut().enumerate() {
            if slot.remove_server(server) {
                match slot.len() {
                    0 => drop(self.corpus.slots.remove(at)),
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

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.corpus.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.corpus.slots.is_empty()
    }

    /// Every tool, in no particular order.
    pub fn cards(&self) -> impl Iterator<Item = &Arc<Card>> {
        self.corpus.slots.iter().flat_map(|slot| {
            slot.spans().flat_map(|(_, span)| {
                slot.segment.docs[span.docs.start as usize..span.docs.end as usize]
                    .iter()
                    .map(|doc| &doc.card)
            })
        })
    }

    /// Memory of the index in bytes, without the cards.
    pub fn memory(&self) -> usize {
        self.corpus.slots.iter().map(|slot| slot.segment.bytes()).sum()
    }

    /// Searches for `query`, best hits first.
    ///
    /// An empty index, an empty query and a query without known words return no hits. Equal scores are
    /// ordered by id, so the same cards and query always return the same results.
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
        search::search(&self.corpus, query, options)
    }

    fn add(&mut self, servers: Vec<(Arc<str>, Vec<Arc<Card>>)>) {
        let segment = build(servers);
        if segment.docs.is_empty() {
            return;
        }
        self.corpus.slots.push(Slot::new(segment));
        while let [.., before, last] = self.corpus.slots.as_slice()
            && before.len() <= GROWTH * last.len()
        {
            let merged = merge(&self.corpus.slots[self.corpus.slots.len() - 2..]);
            self.corpus.slots.truncate(self.corpus.slots.len() - 2);
            self.corpus.slots.push(Slot::new(merged));
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
