//! `cargo xtask ci`: what a pull request needs, cheapest answer first.

use std::time::Instant;

use crate::{Task, deny, docs, features, lint, no_arguments, test, tidy};

const STEPS: &[(&str, Task)] = &[
    ("lint", lint::task),
    ("tidy", tidy::task),
    ("docs", docs::task),
    ("test", test::task),
    ("features", features::task),
    ("deny", deny_if_installed),
];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    let began = Instant::now();
    let mut times = Vec::new();
    for (name, step) in STEPS {
        println!("==> {name}");
        let step_began = Instant::now();
        step(&[]).map_err(|sentence| format!("step `{name}` failed: {sentence}"))?;
        let seconds = step_began.elapsed().as_secs_f64();
        println!("<== {name}: {seconds:.1} s");
        times.push(format!("{name} {seconds:.1} s"));
    }
    println!("ci passed in {:.1} s ({})", began.elapsed().as_secs_f64(), times.join(", "));
    Ok(())
}

fn deny_if_installed(_: &[String]) -> Result<(), String> {
    if !deny::is_installed() {
        println!("cargo-deny is not installed: skipped");
        return Ok(());
    }
    deny::task(&deny::SAME_EVERY_DAY.map(str::to_owned))
}
