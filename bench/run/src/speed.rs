//! Time, CPU and memory: in each round, every contender runs every workload.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};

use crate::{
    Options,
    catalogue::{self, Workload},
    table::{self, Row},
    worker::{CONTENDERS, Contender, Workers},
};

/// Samples by workload, contender and figure.
type Samples = HashMap<(&'static str, usize, &'static str), Vec<f64>>;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let workloads = catalogue::chosen(options.only.as_deref())?;
    let workers = Workers::find(&options.contenders())?;
    let rounds = options.rounds.unwrap_or(if options.quick { 5 } else { 15 }).max(1);
    // On a slow machine the run ends after fewer rounds, and says so.
    let (share, least) = if options.quick { (2, 35) } else { (9, 160) };
    let limit = Duration::from_secs((share * workloads.len() as u64).max(least));
    let begun = Instant::now();
    let mut samples = Samples::new();
    let mut done = 0;
    while done < rounds && (done == 0 || begun.elapsed() < limit) {
        for workload in &workloads {
            let contenders = options.contenders_of(workload);
            measure(&workers, workload, &contenders, (options.quick, done), &mut samples)?;
        }
        done += 1;
        eprint!("\rround {done} of {rounds}, {} s ", begun.elapsed().as_secs());
    }
    eprintln!();
    let rows = rows(&workloads, &mut samples);
    table::print(&format!("medians of {done} rounds"), &rows);
    match &options.json {
        Some(file) => fs::write(file, to_json(&rows, done).to_string())
            .map_err(|error| format!("could not write {}: {error}", file.display())),
        None => Ok(()),
    }
}

/// One turn of each contender. The order changes from round to round, because the first contender
/// finds the caches of the previous workload.
fn measure(
    workers: &Workers,
    workload: &'static Workload,
    contenders: &[Contender],
    (quick, round): (bool, usize),
    samples: &mut Samples,
) -> Result<(), String> {
    let iterations = if quick { workload.quick } else { workload.iterations };
    for turn in 0..contenders.len() {
        let contender = contenders[(turn + round) % contenders.len()];
        let figures = workers
            .run(contender, workload.args, iterations, workload.pinned)
            .map_err(|error| format!("{}, {}: {error}", workload.name, CONTENDERS[contender]))?;
        for figure in workload.figures {
            let value = figures.get(figure.key).ok_or_else(|| {
                format!("{}: {} told no {}", workload.name, CONTENDERS[contender], figure.key)
            })?;
            samples.entry((workload.name, contender, figure.key)).or_default().push(*value);
        }
    }
    Ok(())
}

fn rows(workloads: &[&'static Workload], samples: &mut Samples) -> Vec<Row> {
    let mut rows = Vec::new();
    for workload in workloads {
        for (index, figure) in workload.figures.iter().enumerate() {
            let values = std::array::from_fn(|contender| {
                let samples = samples.get_mut(&(workload.name, contender, figure.key))?;
                table::median(samples)
            });
            rows.push(Row {
                name: if index == 0 { workload.name.into() } else { String::new() },
                unit: figure.label,
                better: figure.better,
                targets: figure.targets,
                values,
            });
        }
    }
    rows
}

fn to_json(rows: &[Row], rounds: usize) -> Value {
    let mut name = "";
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            // The name of a workload is printed only beside its first figure.
            if !row.name.is_empty() {
                name = &row.name;
            }
            let mut cells = Map::new();
            cells.insert("workload".into(), name.into());
            cells.insert("unit".into(), row.unit.into());
            cells.extend(
                CONTENDERS.iter().zip(row.values).map(|(who, v)| ((*who).into(), v.into())),
            );
            Value::Object(cells)
        })
        .collect();
    json!({ "rounds": rounds, "rows": rows })
}
