//! Measures the search and baselines on every data set below a directory.
//!
//! `evaluate --data DIR [--pairs FILE] [--also NAME=PROGRAM]…`. A data set is a directory with
//! `catalog.jsonl` and `queries.jsonl`. `--also` measures a program with the interface of the
//! example `rank`, which may add `"ns"`, the time of each query; `--pairs` adds a thesaurus.

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a table for people, over small counts"
)]

use std::{
    collections::HashMap,
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use mcp_search::{Card, Index, Query, SearchOptions, Synonyms};
use serde::Deserialize;

mod measure;
mod plain;

use measure::Measures;

#[derive(Deserialize)]
struct Question {
    qid: String,
    query: String,
    gold: Vec<String>,
}

struct Set {
    name: String,
    path: PathBuf,
    cards: Vec<Card>,
    questions: Vec<Question>,
}

/// The output of another program for one query.
#[derive(Deserialize)]
struct Line {
    qid: String,
    ids: Vec<String>,
    /// The duration, without reading the query and writing the answer.
    ns: Option<u64>,
}

/// A system's results: ids per query, and the sorted durations of queries; empty if not known.
struct Answers {
    ids: Vec<Vec<String>>,
    times: Vec<Duration>,
}

type System = Box<dyn Fn(&Set) -> Result<Answers, Box<dyn Error>>>;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evaluate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let mut data = None;
    let mut pairs = None;
    let mut systems: Vec<(String, System)> = Vec::new();
    while let Some(name) = args.next() {
        let value = args.next().ok_or("every option takes a value")?;
        match name.as_str() {
            "--data" => data = Some(PathBuf::from(value)),
            "--pairs" => pairs = Some(fs::read_to_string(value)?),
            "--also" => {
                let (name, program) = value.split_once('=').ok_or("--also NAME=PROGRAM")?;
                let program = program.to_owned();
                systems.push((name.to_owned(), Box::new(move |set| other(&program, set))));
            }
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    let sets =
        sets(&data.ok_or("usage: evaluate --data DIR [--pairs FILE] [--also NAME=PROGRAM]")?)?;
    let mut all: Vec<(String, System)> =
        vec![("plain BM25, name + description".into(), Box::new(|set| Ok(plain(set))))];
    all.append(&mut systems);
    all.push(("**mcp-search**".into(), Box::new(|set| Ok(ours(set, Synonyms::english())))));
    if let Some(pairs) = pairs {
        let mut synonyms = Synonyms::english();
        synonyms.add_pairs(&pairs);
        all.push((
            "mcp-search + thesaurus".into(),
            Box::new(move |set| Ok(ours(set, synonyms.clone()))),
        ));
    }
    print(&sets, &all)
}

fn print(sets: &[Set], systems: &[(String, System)]) -> Result<(), Box<dyn Error>> {
    print!("| system | R@1 | R@5 | R@10 | MRR@10 | nDCG@10 |");
    for set in sets {
        print!(" {} |", set.name);
    }
    println!(" p50 µs | p99 µs |\n|---|{}", "---:|".repeat(7 + sets.len()));
    for (name, system) in systems {
        let mut sum = [0.0; 5];
        let mut per_set = String::new();
        let mut slowest = [None; 2];
        for set in sets {
            let answers = system(set)?;
            for (slowest, percent) in slowest.iter_mut().zip([50, 99]) {
                *slowest = (*slowest).max(percentile(&answers.times, percent));
            }
            let mut total = Measures::default();
            for (question, ids) in set.questions.iter().zip(&answers.ids) {
                total += Measures::of(ids, &question.gold);
            }
            let mean = total.mean(set.questions.len());
            write!(per_set, " {:.1} |", mean[4])?;
            sum.iter_mut().zip(mean).for_each(|(sum, value)| *sum += value);
        }
        print!("| {name} |");
        for value in sum {
            print!(" {:.1} |", value / sets.len() as f64);
        }
        print!("{per_set}");
        for time in slowest {
            let micros = time.map(|time| format!("{:.0}", time.as_secs_f64() * 1e6));
            print!(" {} |", micros.as_deref().unwrap_or("–"));
        }
        println!();
    }
    println!(
        "\nMeans over {} sets; per set nDCG@10; p50 and p99 each of the slowest set.",
        sets.len()
    );
    Ok(())
}

fn ours(set: &Set, synonyms: Synonyms) -> Answers {
    let mut index = Index::with_synonyms(synonyms);
    index.extend(set.cards.iter().cloned());
    let mut options = SearchOptions::default();
    options.floor = 0.0;
    timed(set, |query| {
        let results = index.search(&Query::parse(query), &options);
        results.hits.iter().map(|hit| hit.card.id.clone()).collect()
    })
}

fn plain(set: &Set) -> Answers {
    let index = plain::Plain::new(&set.cards);
    timed(set, |query| index.top(query, 10))
}

/// Runs another program.
fn other(program: &str, set: &Set) -> Result<Answers, Box<dyn Error>> {
    let mut words = program.split_whitespace();
    let output = Command::new(words.next().ok_or("no program")?)
        .args(words)
        .arg("--catalog")
        .arg(set.path.join("catalog.jsonl"))
        .arg("--queries")
        .arg(set.path.join("queries.jsonl"))
        .args(["--k", "10"])
        .output()?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let mut by_id = HashMap::new();
    let mut times = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let line: Line = serde_json::from_str(line)?;
        by_id.insert(line.qid, line.ids);
        times.extend(line.ns.map(Duration::from_nanos));
    }
    let ids = set.questions.iter().map(|q| by_id.remove(&q.qid).unwrap_or_default()).collect();
    times.sort_unstable();
    Ok(Answers { ids, times })
}

fn timed(set: &Set, mut top: impl FnMut(&str) -> Vec<String>) -> Answers {
    let mut times = Vec::new();
    let mut ids = Vec::new();
    for question in &set.questions {
        let start = Instant::now();
        ids.push(top(&question.query));
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Answers { ids, times }
}

/// The time within which `percent` of the queries are answered.
fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    sorted.get(sorted.len() * percent / 100).copied()
}

/// The data sets below `dir` that have queries, by name.
fn sets(dir: &Path) -> Result<Vec<Set>, Box<dyn Error>> {
    let mut sets = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if !path.join("queries.jsonl").is_file() {
            continue;
        }
        sets.push(Set {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            cards: lines(&path.join("catalog.jsonl"))?,
            questions: lines(&path.join("queries.jsonl"))?,
            path,
        });
    }
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    if sets.is_empty() { Err("no data sets there".into()) } else { Ok(sets) }
}

fn lines<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
