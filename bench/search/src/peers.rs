//! A common interface of the compared systems.

use bm25::{Document, Language, SearchEngine, SearchEngineBuilder};
use mcp_search::{Card, Index, Query, SearchOptions};
use tantivy::{
    IndexReader, TantivyDocument,
    collector::TopDocs,
    query::QueryParser,
    schema::{
        Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
    },
};

use crate::data::plain;

/// The ids of the ten best tools for a query.
pub trait Peer {
    fn top(&mut self, query: &str, k: usize) -> Vec<String>;
}

pub struct Ours {
    pub index: Index,
    pub options: SearchOptions,
}

impl Ours {
    pub fn new(cards: &[Card]) -> Self {
        Self { index: cards.iter().cloned().collect(), options: SearchOptions::default() }
    }
}

impl Peer for Ours {
    fn top(&mut self, query: &str, k: usize) -> Vec<String> {
        self.options.limit = k;
        let results = self.index.search(&Query::parse(query), &self.options);
        results.hits.iter().map(|hit| hit.card.id.clone()).collect()
    }
}

pub struct Bm25(SearchEngine<String>);

impl Bm25 {
    pub fn new(cards: &[Card]) -> Self {
        let documents =
            cards.iter().map(|card| Document { id: card.id.clone(), contents: plain(card) });
        Self(SearchEngineBuilder::with_documents(Language::English, documents).build())
    }
}

impl Peer for Bm25 {
    fn top(&mut self, query: &str, k: usize) -> Vec<String> {
        self.0.search(query, k).into_iter().map(|result| result.document.id).collect()
    }
}

/// As its documentation begins: two text fields, and the query parser over both.
pub struct Tantivy {
    reader: IndexReader,
    parser: QueryParser,
    id: Field,
}

impl Tantivy {
    pub fn new(cards: &[Card]) -> tantivy::Result<Self> {
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", STRING | STORED);
        let stemmed = TextFieldIndexing::default()
            .set_tokenizer("en_stem")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let stemmed = TextOptions::default().set_indexing_options(stemmed);
        let name = schema.add_text_field("name", stemmed.clone());
        let description = schema.add_text_field("description", stemmed);
        let index = tantivy::Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 64 << 20)?;
        for card in cards {
            let mut document = TantivyDocument::default();
            document.add_text(id, &card.id);
            document.add_text(name, &card.name);
            document.add_text(description, &card.description);
            writer.add_document(document)?;
        }
        writer.commit()?;
        let parser = QueryParser::for_index(&index, vec![name, description]);
        Ok(Self { reader: index.reader()?, parser, id })
    }
}

impl Peer for Tantivy {
    fn top(&mut self, query: &str, k: usize) -> Vec<String> {
        let (query, _) = self.parser.parse_query_lenient(query);
        let searcher = self.reader.searcher();
        let top = TopDocs::with_limit(k).order_by_score();
        let found = searcher.search(&query, &top).unwrap_or_default();
        let id = |address| {
            let document: TantivyDocument = searcher.doc(address).ok()?;
            Some(document.get_first(self.id)?.as_str()?.to_owned())
        };
        found.into_iter().filter_map(|(_, address)| id(address)).collect()
    }
}
