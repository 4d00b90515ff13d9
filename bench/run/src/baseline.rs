//! `counts --check`: compares instructions and allocations of the key paths with a committed baseline.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{
    catalogue::{self, Workload},
    counts::{Run, TOOLS, Tool},
    worker::{BRIDGE, CONTENDERS, Contender, OURS, Workers},
};

/// What to do with the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Check,
    Write,
}

/// The compared workloads and their contenders. None of them requires a peer to be built.
const PATHS: &[(&str, Contender)] = &[
    ("sequential, 128 B", OURS),
    ("sequential, 2026-07-28", OURS),
    ("64 in flight", OURS),
    ("1 MiB result", OURS),
    ("list 1000 x 4 KiB", OURS),
    ("decode 128 B", OURS),
    ("decode 1 MiB", OURS),
    ("http: sequential, JSON", OURS),
    ("http: sequential, SSE", OURS),
    ("http: sequential, JSON, 2026-07-28", OURS),
    ("http: 1 MiB result, JSON", OURS),
    ("ws: sequential", OURS),
    ("sequential, 128 B", BRIDGE),
];

/// The tolerated relative difference from the baseline.
const TOLERANCE: f64 = 0.03;
/// Smaller absolute differences are ignored: timers, and buffers that grow occasionally.
const NOISE: f64 = 0.3;

const HEAD: &str = "\
# Instructions and allocations per operation of the key paths, counted by valgrind.
# Written by `cargo xtask bench counts --write`, compared by `cargo xtask bench counts --check` (3 %).
# contender | workload | unit | count
";

pub(crate) fn run(mode: Mode) -> Result<(), String> {
    let counted = count()?;
    let file = file();
    if mode == Mode::Write {
        return fs::write(&file, render(&counted)).map_err(|error| not_used(&file, &error));
    }
    let baseline = fs::read_to_string(&file).map_err(|error| not_used(&file, &error))?;
    let baseline = parse(&baseline)?;
    let mut findings = 0;
    for (line, finding) in compare(&baseline, &counted) {
        println!("{line}");
        findings += usize::from(finding);
    }
    match findings {
        0 => Ok(()),
        _ => Err(format!(
            "{findings} counts differ from bench/counts.txt by more than 3 %; if that is meant, \
             commit what `cargo xtask bench counts --write` writes"
        )),
    }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../counts.txt")
}

fn not_used(file: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", file.display())
}

/// One count and its workload.
#[derive(Clone, Debug, PartialEq)]
struct Count {
    what: String,
    value: f64,
}

/// Counts all paths on all CPUs: instruction counts do not depend on timing.
fn count() -> Result<Vec<Count>, String> {
    let workers = Workers::find(&[OURS, BRIDGE])?;
    let mut jobs = Vec::new();
    for &(name, contender) in PATHS {
        let workload = catalogue::named(name)?;
        jobs.extend(TOOLS.iter().map(|tool| Job { workload, contender, tool }));
    }
    let next = AtomicUsize::new(0);
    let one = |job: &Job| {
        eprintln!("counting {}", job.what());
        job.count(&workers)
    };
    // Each thread takes the next job that is left, and returns its counts with their places.
    let share = || {
        let jobs = &jobs;
        let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let mine = taken.map_while(|place| Some((place, jobs.get(place)?)));
        mine.map(|(place, job)| Ok((place, one(job)?))).collect::<Result<Vec<_>, String>>()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let shares: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(&share)).collect();
        started.into_iter().map(|thread| thread.join().expect("a count panicked")).collect()
    });
    let mut counts: Vec<(usize, Count)> = Vec::new();
    for share in shares {
        counts.extend(share?);
    }
    counts.sort_by_key(|(place, _)| *place);
    Ok(counts.into_iter().map(|(_, count)| count).collect())
}

/// One workload under one tool.
struct Job {
    workload: &'static Workload,
    contender: Contender,
    tool: &'static Tool,
}

impl Job {
    fn what(&self) -> String {
        format!("{} | {} | {}", CONTENDERS[self.contender], self.workload.name, self.tool.unit)
    }

    fn count(&self, workers: &Workers) -> Result<Count, String> {
        let &Self { workload, contender, tool } = self;
        let lengths = workload.counts.ok_or("a key path has no lengths to count")?;
        let run = Run { program: workers.program(contender), contender, workload, tool };
        Ok(Count { what: self.what(), value: run.per_operation(lengths)? })
    }
}

fn render(counts: &[Count]) -> String {
    let lines = counts.iter().map(|Count { what, value }| {
        let decimals = if *value < 1000.0 { 2 } else { 0 };
        format!("{what} | {value:.decimals$}\n")
    });
    lines.fold(HEAD.to_owned(), |text, line| text + &line)
}

fn parse(text: &str) -> Result<Vec<Count>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (what, value) = line.rsplit_once(" | ")?;
            Some(Count { what: what.to_owned(), value: value.parse().ok()? })
        })
        .collect::<Option<_>>()
        .ok_or_else(|| "bench/counts.txt has a line that is not a count".to_owned())
}

/// One line for each count, and whether it is a finding.
fn compare(baseline: &[Count], counted: &[Count]) -> Vec<(String, bool)> {
    let known = |what: &str| baseline.iter().find(|count| count.what == what);
    let mut lines: Vec<_> = counted
        .iter()
        .map(|Count { what, value }| match known(what) {
            None => (format!("{what}: {value:.2}, not in the baseline"), true),
            Some(Count { value: before, .. }) => {
                let difference = value - before;
                let is_finding = difference.abs() > (before * TOLERANCE).max(NOISE);
                let verdict = match is_finding {
                    false => "",
                    true if difference > 0.0 => "  WORSE",
                    true => "  better",
                };
                let percent = 100.0 * difference / before.max(1.0);
                (
                    format!("{what}: {before:.2} -> {value:.2} ({percent:+.1} %){verdict}"),
                    is_finding,
                )
            }
        })
        .collect();
    let gone = baseline.iter().filter(|count| counted.iter().all(|one| one.what != count.what));
    lines.extend(gone.map(|count| (format!("{}: no longer counted", count.what), true)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[(&str, f64)]) -> Vec<Count> {
        values.iter().map(|&(what, value)| Count { what: what.to_owned(), value }).collect()
    }

    #[test]
    fn written_baseline_is_read_again() {
        let some = counts(&[("ours | a, b | instructions", 18_912.0), ("ours | c | d", 7.25)]);
        assert_eq!(parse(&render(&some)), Ok(some));
        assert!(parse("ours | a").is_err());
    }

    #[test]
    fn every_difference_beyond_the_tolerance_is_a_finding() {
        let before =
            counts(&[("a", 1000.0), ("b", 1000.0), ("c", 1000.0), ("d", 4.0), ("gone", 1.0)]);
        let after = counts(&[("a", 1029.0), ("b", 1031.0), ("c", 969.0), ("d", 5.0), ("new", 1.0)]);
        let findings: Vec<_> = compare(&before, &after)
            .into_iter()
            .filter_map(|(line, is_finding)| is_finding.then_some(line))
            .collect();
        assert_eq!(
            findings,
            [
                "b: 1000.00 -> 1031.00 (+3.1 %)  WORSE",
                "c: 1000.00 -> 969.00 (-3.1 %)  better",
                "d: 4.00 -> 5.00 (+25.0 %)  WORSE",
                "new: 1.00, not in the baseline",
                "gone: no longer counted",
            ]
        );
    }

    #[test]
    fn every_key_path_is_a_workload_of_its_contender() {
        for (name, contender) in PATHS {
            let workload = catalogue::named(name).unwrap();
            assert!(workload.contenders.contains(contender) && workload.counts.is_some(), "{name}");
        }
    }
}
