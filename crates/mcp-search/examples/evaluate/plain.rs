//! The baseline: plain BM25 over name and description, without stemming.

use std::collections::HashMap;

use mcp_search::Card;

pub(crate) struct Plain {
    ids: Vec<String>,
    lengths: Vec<f64>,
    average: f64,
    postings: HashMap<String, Vec<(usize, f64)>>,
}

impl Plain {
    pub(crate) fn new(cards: &[Card]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (at, card) in cards.iter().enumerate() {
            let words = words(&format!("{} {}", card.name, card.description));
            lengths.push(words.len() as f64);
            for word in words {
                let list = postings.entry(word).or_default();
                match list.last_mut() {
                    Some((tool, count)) if *tool == at => *count += 1.0,
                    _ => list.push((at, 1.0)),
                }
            }
        }
        let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self { ids: cards.iter().map(|card| card.id.clone()).collect(), lengths, average, postings }
    }

    pub(crate) fn top(&self, query: &str, k: usize) -> Vec<String> {
        let mut scores = vec![0.0; self.ids.len()];
        for word in words(query) {
            let Some(list) = self.postings.get(&word) else { continue };
            let (all, having) = (self.ids.len() as f64, list.len() as f64);
            let idf = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for &(at, count) in list {
                let length = 0.25 + 0.75 * self.lengths[at] / self.average;
                scores[at] += idf * count * 2.2 / (count + 1.2 * length);
            }
        }
        let mut order: Vec<usize> = (0..scores.len()).filter(|&at| scores[at] > 0.0).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        order.into_iter().take(k).map(|at| self.ids[at].clone()).collect()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
