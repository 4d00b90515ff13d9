//! Converts plain text to search terms.

use std::sync::Arc;

use super::{
    clauses,
    kind::{Phrase, Term, Words},
};
use crate::text::{
    action::Actions,
    fold,
    stem::stem_of,
    stop::{is_request_word, is_stop_word},
    tokenize::{Kind, Tokenizer},
};

/// The maximum number of distinct words; more add little information.
const MOST_TERMS: usize = 64;
/// The maximum number of quoted phrases.
const MOST_PHRASES: usize = 16;
/// With at most this many other words, a quoted phrase is required.
const FEW_WORDS: usize = 3;
/// The weight of a word that is a value for the tool and not about it.
const VALUE: f32 = 0.7;

/// A range of the text with a special meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// Start in bytes of the plain text.
    pub start: usize,
    pub end: usize,
    pub kind: MarkKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkKind {
    Required,
    Quoted,
}

/// One significant word of the query.
struct Said {
    word: Arc<str>,
    weight: f32,
    required: bool,
    clause: usize,
}

/// Reads `text` with `marks`.
pub(super) fn read(text: &str, marks: &[Mark]) -> Words {
    let words = read_words(text, marks, false);
    // A query of stop words such as "how do I do this" should return something if possible.
    if words.terms.is_empty() { read_words(text, marks, true) } else { words }
}

fn read_words(text: &str, marks: &[Mark], keep_noise: bool) -> Words {
    let cuts = clauses::cuts(text);
    let values = values(text);
    let mut said: Vec<Said> = Vec::with_capacity(16);
    let mut words = Words::default();
    let mut unmarked = 0;
    Tokenizer::default().tokens(text, |token| match token.kind {
        Kind::Single => {}
        Kind::Compound => words.compounds.push(stem_of(token.text)),
        Kind::Part => {
            let span = token.span;
            let is_in = |mark: &&Mark| mark.start <= span.start && span.end <= mark.end;
            let mark = marks.iter().find(is_in).map(|mark| mark.kind);
            unmarked += usize::from(mark.is_none());
            let required = mark == Some(MarkKind::Required);
            let noise = is_stop_word(token.text) || is_request_word(token.text) && !required;
            if noise && !keep_noise {
                return;
            }
            let is_value = mark == Some(MarkKind::Quoted)
                || values.iter().any(|value| value.0 <= span.start && span.end <= value.1);
            said.push(Said {
                word: Arc::from(token.text),
                weight: if is_value && !required { VALUE } else { 1.0 },
                required,
                clause: cuts.partition_point(|&cut| cut <= span.start),
            });
        }
    });
    // In a sentence quotes enclose a value for the tool; in a short query they enclose a phrase.
    let sentence = unmarked > FEW_WORDS;
    gather(&said, &mut words);
    join_neighbours(&said, &mut words);
    words.phrases = marks
        .iter()
        .filter(|mark| mark.kind == MarkKind::Required || !sentence)
        .filter_map(|mark| phrase(text, mark))
        .take(MOST_PHRASES)
        .collect();
    words.names = names(text);
    words.actions = words
        .terms
        .iter()
        .map(|term| Actions::of(&term.stem))
        .fold(Actions::default(), Actions::union);
    words
}

/// Collects distinct terms, their order, and the terms of each clause.
fn gather(said: &[Said], words: &mut Words) {
    let mut clause = 0;
    for said in said {
        let stem = stem_of(&*said.word);
        let known = words.terms.iter().position(|term| term.stem == stem);
        if known.is_none() && words.terms.len() == MOST_TERMS {
            continue;
        }
        let place = known.unwrap_or_else(|| {
            words.terms.push(Term {
                stem,
                written: Arc::clone(&said.word),
                weight: said.weight,
                required: false,
            });
            words.terms.len() - 1
        });
        let term = &mut words.terms[place];
        term.weight = term.weight.max(said.weight);
        term.required |= said.required;
        if said.clause != clause || words.clauses.is_empty() {
            clause = said.clause;
            words.order.push(None);
            words.clauses.push(Vec::new());
        }
        words.order.push(Some(place));
        if let Some(last) = words.clauses.last_mut()
            && !last.contains(&place)
        {
            last.push(place);
        }
    }
    if words.clauses.len() < 2 {
        words.clauses.clear();
    }
}

/// "key vault" may be `keyvault` in a name.
fn join_neighbours(said: &[Said], words: &mut Words) {
    for pair in said.windows(2).take(MOST_TERMS) {
        if pair[0].clause == pair[1].clause {
            words.compounds.push(stem_of([&*pair[0].word, &*pair[1].word].concat()));
        }
    }
    words.compounds.sort_unstable();
    words.compounds.dedup();
    words.compounds.retain(|compound| !words.terms.iter().any(|term| term.stem == *compound));
    words.compounds.truncate(MOST_TERMS);
}

/// The stems of a quoted text of two words or more.
fn phrase(text: &str, mark: &Mark) -> Option<Phrase> {
    let mut stems = Vec::new();
    Tokenizer::default().tokens(&text[mark.start..mark.end], |token| {
        if token.kind == Kind::Part && !is_stop_word(token.text) {
            stems.push(stem_of(token.text));
        }
    });
    (stems.len() > 1).then_some(Phrase { stems, required: mark.kind == MarkKind::Required })
}

/// Ranges that are values: numbers and codes, paths, URLs.
fn values(text: &str) -> Vec<(usize, usize)> {
    let mut values = Vec::new();
    let mut at = 0;
    for chunk in text.split_inclusive(char::is_whitespace) {
        let word = chunk.trim_matches(|c: char| c.is_whitespace() || ",.;:?!()'`".contains(c));
        let path = word.starts_with(['/', '~', '\\']) || word.matches(['/', '\\']).count() > 1;
        if path
            || word.contains("://")
            || word.contains('@')
            || word.contains(|c: char| c.is_ascii_digit())
        {
            values.push((at, at + chunk.len()));
        }
        at += chunk.len();
    }
    values
}

/// Keys of possible tool names: compound words, and the text as a whole.
fn names(text: &str) -> Vec<String> {
    const LONGEST: usize = 256;
    let mut names = Vec::new();
    let whole = text.trim();
    if whole.len() <= LONGEST {
        push_key(whole, &mut names);
    }
    for word in text.split_whitespace().filter(|word| word.len() <= LONGEST) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let joins = word.contains(['_', '-', '/', '.', ':']) || has_hump(word);
        if joins && names.len() < MOST_TERMS {
            push_key(word, &mut names);
        }
    }
    names
}

fn push_key(name: &str, names: &mut Vec<String>) {
    for key in
        [Some(name), name.strip_prefix("mcp__"), name.strip_prefix("mcp_")].into_iter().flatten()
    {
        let key = fold::key(key);
        if !key.is_empty() && !names.contains(&key) {
            names.push(key);
        }
    }
}

/// Whether a capital follows a lower-case letter: `createIssue`.
fn has_hump(word: &str) -> bool {
    word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

/// The literal words of a regular expression: its letters, with operators replaced by spaces.
pub(super) fn literals(pattern: &str) -> String {
    let mut words = String::new();
    let mut escaped = false;
    for c in pattern.chars() {
        words.push(if !escaped && (c.is_alphanumeric() || c == '_') { c } else { ' ' });
        escaped = c == '\\' && !escaped;
    }
    words
}
