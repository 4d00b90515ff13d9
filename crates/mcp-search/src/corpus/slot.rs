//! A segment in use, with its current servers.

use std::{ops::Range, sync::Arc};

use super::segment::{Segment, Span};
use crate::text::count::count;

/// A segment and the servers in it that have been replaced or removed since.
#[derive(Clone)]
pub(crate) struct Slot {
    pub segment: Arc<Segment>,
    /// Sorted indices of spans.
    dead: Vec<u32>,
}

impl Slot {
    pub(crate) fn new(segment: Segment) -> Self {
        Self { segment: Arc::new(segment), dead: Vec::new() }
    }

    /// The number of current tools.
    pub(crate) fn len(&self) -> usize {
        let dead: u32 = self.dead_spans().map(|docs| docs.end - docs.start).sum();
        self.segment.docs.len() - dead as usize
    }

    /// Current servers with their index.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (u32, &Span)> {
        (0..).zip(&self.segment.servers).filter(|(at, _)| self.dead.binary_search(at).is_err())
    }

    /// The number of current tools with the word `term`.
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

    /// Marks `server` as no longer current. Returns whether it was.
    pub(crate) fn remove_server(&mut self, server: &str) -> bool {
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
