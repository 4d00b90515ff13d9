//! Instructions and allocations per operation, counted by valgrind, which does not depend on load. The
//! difference of two run lengths excludes start-up and warm-up.

use std::{path::Path, process::Command};

use crate::{
    Options,
    catalogue::{self, Better, Workload},
    table::{self, Row},
    worker::{self, CONTENDERS, Contender, Workers},
};

/// A valgrind tool and the line in which it reports its total.
pub(crate) struct Tool {
    args: &'static [&'static str],
    pub(crate) unit: &'static str,
    /// The text before and after the number in the report.
    before: &'static str,
    after: &'static str,
}

pub(crate) const TOOLS: [Tool; 2] = [INSTRUCTIONS, ALLOCATIONS];

const INSTRUCTIONS: Tool = Tool {
    args: &["--tool=callgrind", "--callgrind-out-file=/dev/null"],
    unit: "instructions",
    before: "Collected : ",
    after: "",
};

const ALLOCATIONS: Tool = Tool {
    args: &["--tool=dhat", "--dhat-out-file=/dev/null"],
    unit: "allocations",
    before: "bytes in ",
    after: " blocks",
};

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let workers = Workers::find(&options.contenders())?;
    let mut rows = Vec::new();
    for workload in catalogue::chosen(options.only.as_deref())? {
        let Some(lengths) = workload.counts else { continue };
        let contenders = options.contenders_of(workload);
        for (index, tool) in TOOLS.iter().enumerate() {
            eprintln!("counting {} of {}", tool.unit, workload.name);
            let mut values = [None; CONTENDERS.len()];
            for &contender in &contenders {
                let run = Run { program: workers.program(contender), contender, workload, tool };
                values[contender] = Some(run.per_operation(lengths)?);
            }
            rows.push(Row {
                name: if index == 0 { workload.name.into() } else { String::new() },
                unit: tool.unit,
                better: Better::Lower,
                targets: &[],
                values,
            });
        }
    }
    table::print("counts per operation", &rows);
    Ok(())
}

/// One program under one tool.
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Path,
    pub(crate) contender: Contender,
    pub(crate) workload: &'a Workload,
    pub(crate) tool: &'a Tool,
}

impl Run<'_> {
    pub(crate) fn per_operation(&self, (short, long): (usize, usize)) -> Result<f64, String> {
        let (few, of_few) = self.total(short)?;
        let (many, of_many) = self.total(long)?;
        Ok((many - few) / (of_many - of_few))
    }

    /// The total of one run, and its number of operations including warm-up.
    fn total(&self, iterations: usize) -> Result<(f64, f64), String> {
        let mut command = Command::new("valgrind");
        // Variables such as proxies would change the counts.
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .args(self.tool.args)
            .arg(self.program)
            .args(self.workload.args)
            .args(Workers::setup(self.contender))
            // One thread: work stealing would change the counts.
            .args(["--current-thread", "--iterations", &iterations.to_string()]);
        let output = worker::output(&mut command)?;
        let report = String::from_utf8_lossy(&output.stderr);
        let counted = number_in(&report, self.tool)
            .ok_or_else(|| format!("valgrind reported no total:\n{report}"))?;
        let operations = worker::figures(&output)?
            .get("operations")
            .copied()
            .ok_or_else(|| format!("{}: a worker told no operations", self.workload.name))?;
        Ok((counted, operations))
    }
}

fn number_in(report: &str, tool: &Tool) -> Option<f64> {
    report.lines().find_map(|line| {
        let (_, rest) = line.split_once(tool.before)?;
        let digits = rest.strip_suffix(tool.after)?.replace(',', "");
        digits.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_found_in_the_reports() {
        let callgrind = "==1== Events    : Ir\n==1== Collected : 1486778\n";
        assert_eq!(number_in(callgrind, &INSTRUCTIONS), Some(1_486_778.0));
        let dhat = "==1== Total:     63,604,697 bytes in 194,410 blocks\n\
                    ==1== At t-gmax: 23,892,396 bytes in 76,140 blocks\n";
        assert_eq!(number_in(dhat, &ALLOCATIONS), Some(194_410.0));
        assert_eq!(number_in("", &ALLOCATIONS), None);
    }
}
