//! Builds a segment from cards.

use std::sync::Arc;

use mcp_safe::text::prefix;

use super::{
    field::{FIELDS, Field, Fields},
    segment::{Doc, FULL_WORTH, GAP, K1, Posting, Segment, Span, by_term},
};
use crate::{
    card::Card,
    text::{
        action::Actions,
        count::{count, precise},
        fold,
        similar::Pieces,
        stem::stem,
        stop::is_stop_word,
        terms::{self, Terms},
        tokenize::{Kind, Tokenizer},
    },
};

/// Limits for the indexed part of each text, so that one tool cannot flood the index.
const NAME: usize = 256;
const DESCRIPTION: usize = 2048;
const PARAMS: usize = 128;
const PARAM_TEXT: usize = 1024;
const TAGS: usize = 64;

/// The indexed part of a description.
pub(crate) fn read_part(description: &str) -> &str {
    prefix(description, DESCRIPTION)
}

/// A segment of `servers`, each with its cards.
pub(crate) fn build(servers: Vec<(Arc<str>, Vec<Arc<Card>>)>) -> Segment {
    let mut builder = Builder::default();
    for (name, cards) in servers {
        builder.server(name, cards);
    }
    builder.finish()
}

#[derive(Default)]
struct Builder {
    tokenizer: Tokenizer,
    lexicon: Lexicon,
    segment: Segment,
    /// Words of the current tool.
    found: Vec<(u32, Field)>,
    lengths: [u32; FIELDS.len()],
    /// Postings with their word, in order of tools.
    postings: Vec<(u32, Posting)>,
}

/// Words as written, each with the number of its stem, so that no word is stemmed twice.
#[derive(Default)]
struct Lexicon {
    written: Terms,
    stems: Vec<Option<u32>>,
    terms: Terms,
    buffer: String,
}

impl Lexicon {
    /// The number of the stem of `word`, unless it is a stop word.
    fn stem(&mut self, word: &str) -> Option<u32> {
        let id = self.written.intern(word) as usize;
        if id == self.stems.len() {
            let stem = (!is_stop_word(word)).then(|| {
                self.buffer.clear();
                self.buffer.push_str(word);
                stem(&mut self.buffer);
                self.terms.intern(&self.buffer)
            });
            self.stems.push(stem);
        }
        self.stems[id]
    }
}

impl Builder {
    fn server(&mut self, name: Arc<str>, cards: Vec<Arc<Card>>) {
        let start = count(self.segment.docs.len());
        let server = count(self.segment.servers.len());
        for card in cards {
            self.card(card, server);
        }
        let end = count(self.segment.docs.len());
        self.segment.servers.push(Span { name, docs: start..end });
    }

    fn card(&mut self, card: Arc<Card>, server: u32) {
        let doc = count(self.segment.docs.len());
        let words = count(self.segment.sequence.len());
        self.found.clear();
        self.lengths = [0; FIELDS.len()];

        self.text(Field::Server, &card.server, NAME);
        let from = self.segment.sequence.len();
        self.text(Field::Name, plain_name(&card), NAME);
        let name_words = self.segment.sequence.len() - from;
        let actions = self.segment.sequence[from..]
            .iter()
            .map(|&term| Actions::of(self.lexicon.terms.text(term)))
            .fold(Actions::default(), Actions::union);
        self.gap();
        if !card.title.is_empty() {
            self.text(Field::Title, &card.title, NAME);
            self.gap();
        }
        self.text(Field::Description, &card.description, DESCRIPTION);
        self.gap();
        for param in card.params.iter().take(PARAMS) {
            self.text(Field::ParamName, &param.name, NAME);
            self.text(Field::ParamText, &param.description, PARAM_TEXT);
        }
        for tag in card.tags.iter().take(TAGS) {
            self.text(Field::Tag, tag, NAME);
        }
        self.post(doc);
        for hash in name_hashes(&card) {
            self.segment.names.push((hash, doc));
        }
        self.segment.docs.push(Doc {
            card,
            words,
            name_words: u16::try_from(name_words).unwrap_or(u16::MAX),
            actions,
            server,
        });
    }

    fn gap(&mut self) {
        self.segment.sequence.push(GAP);
    }

    fn text(&mut self, field: Field, text: &str, most: usize) {
        let in_sequence = matches!(field, Field::Name | Field::Title | Field::Description);
        let Self { tokenizer, lexicon, segment, found, lengths, .. } = self;
        tokenizer.tokens(prefix(text, most), |token| {
            let Some(term) = lexicon.stem(token.text) else { return };
            found.push((term, field));
            if token.kind == Kind::Part {
                lengths[field as usize] += 1;
                if in_sequence {
                    segment.sequence.push(term);
                }
            }
        });
    }

    /// Turns the words of a tool into postings with BM25F. Typical lengths for tools replace averages,
    /// so that the weights of a tool do not depend on other tools.
    fn post(&mut self, doc: u32) {
        let mut once = [0.0; FIELDS.len()];
        for field in FIELDS {
            let shape = field.shape();
            let length = precise(self.lengths[field as usize]) / shape.usual_length;
            once[field as usize] =
                shape.weight / (1.0 - shape.length_matters + shape.length_matters * length);
        }
        self.found.sort_unstable();
        for same in self.found.chunk_by(|a, b| a.0 == b.0) {
            let mut fields = Fields::default();
            let mut count = 0.0_f32;
            for &(_, field) in same {
                fields.add(field);
                count += once[field as usize];
            }
            let worth = count * (K1 + 1.0) / (count + K1);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of 1"
            )]
            let worth = (worth / FULL_WORTH * 65535.0).round() as u16;
            self.postings.push((same[0].0, Posting { doc, worth, fields }));
        }
    }

    fn finish(mut self) -> Segment {
        let mut segment = self.segment;
        segment.terms = std::mem::take(&mut self.lexicon.terms);
        segment.terms.shrink();
        segment.pieces = Pieces::new(&segment.terms);
        (segment.starts, segment.postings) = by_term(&self.postings, segment.terms.len());
        segment.sort();
        segment.docs.shrink_to_fit();
        segment.sequence.shrink_to_fit();
        segment.names.shrink_to_fit();
        segment
    }
}

/// The name without common prefixes: `mcp__`, and the name of the server, which is a separate field
/// and would be repeated in every tool.
fn plain_name(card: &Card) -> &str {
    let name = card.name.strip_prefix("mcp__").unwrap_or(&card.name);
    let server = fold::key(prefix(&card.server, NAME));
    if server.is_empty() {
        return name;
    }
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| !c.is_alphanumeric()) {
        rest = &rest[at..];
        let head = &name[..name.len() - rest.len()];
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        if head.len() > 2 * NAME {
            break;
        }
        if fold::key(head) == server && !rest.is_empty() {
            return rest;
        }
    }
    name
}

/// Hashes of all spellings that count as the name of the tool.
fn name_hashes(card: &Card) -> Vec<u64> {
    let name = fold::key(prefix(&card.name, NAME));
    // Without letters in the name, only the server's name would be left, which must not match its tools.
    let full =
        if name.is_empty() { String::new() } else { fold::key(prefix(&card.server, NAME)) + &name };
    let mut hashes: Vec<u64> = [fold::key(prefix(&card.id, 2 * NAME)), full, name]
        .iter()
        .filter(|key| !key.is_empty())
        .map(|key| terms::hash(key))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}
