//! Ranking quality on a small data set. The figures for the large sets are in the README, with the
//! command that measures them.

use mcp_search::{Card, Index, Query, SearchOptions};
use serde::Deserialize;

#[expect(clippy::cast_precision_loss, reason = "counts of queries are small")]
#[path = "../../examples/evaluate/measure.rs"]
mod measure;
#[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
#[path = "../../examples/evaluate/plain.rs"]
mod plain;

use measure::Measures;

#[derive(Deserialize)]
struct Question {
    query: String,
    gold: Vec<String>,
}

fn lines<T: for<'a> Deserialize<'a>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the data set")).collect()
}

fn cards() -> Vec<Card> {
    lines(include_str!("../data/catalog.jsonl"))
}

fn measure(mut top: impl FnMut(&str) -> Vec<String>) -> [f64; 5] {
    let questions: Vec<Question> = lines(include_str!("../data/queries.jsonl"));
    let mut sum = Measures::default();
    for question in &questions {
        sum += Measures::of(&top(&question.query), &question.gold);
    }
    sum.mean(questions.len())
}

fn ours() -> [f64; 5] {
    let index: Index = cards().into_iter().collect();
    let mut options = SearchOptions::default();
    options.floor = 0.0;
    measure(|query| {
        let results = index.search(&Query::parse(query), &options);
        results.hits.iter().map(|hit| hit.card.id.clone()).collect()
    })
}

#[test]
fn the_right_tool_is_found() {
    let [first, five, ten, mrr, ndcg] = ours();
    assert!(first >= 77.0, "recall@1 {first:.1}");
    assert!(five >= 96.0, "recall@5 {five:.1}");
    assert!(ten >= 98.0, "recall@10 {ten:.1}");
    assert!(mrr >= 86.0, "MRR {mrr:.1}");
    assert!(ndcg >= 89.0, "nDCG {ndcg:.1}");
}

#[test]
fn ranking_is_better_than_plain_bm25() {
    let plain = plain::Plain::new(&cards());
    let baseline = measure(|query| plain.top(query, 10));
    for (ours, theirs) in ours().into_iter().zip(baseline) {
        assert!(ours >= theirs + 5.0, "{ours:.1} against {theirs:.1}");
    }
}

#[test]
fn a_typo_in_a_word_still_finds_the_tool() {
    let index: Index = cards().into_iter().collect();
    for (query, expected) in [
        ("shedule a metting with attendees", "agenda/add_event"),
        ("curent temprature", "sky/current_conditions"),
        ("kuberntes namspace pods", "k8s_ops/k8s_list_pods"),
    ] {
        let results = index.search(&Query::parse(query), &SearchOptions::default());
        let ids: Vec<&str> = results.hits.iter().map(|hit| hit.card.id.as_str()).collect();
        assert!(ids.iter().take(3).any(|id| *id == expected), "{query}: {ids:?}");
    }
}
