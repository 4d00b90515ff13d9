//! `cargo xtask load`: runs `mcp-load`, the load and soak tests, with the given arguments. `--page` writes
//! `docs/load.md` from the results of earlier runs.

mod page;

use std::{fs, path::Path};

use serde_json::Value;

use crate::process::{cargo, run};

const PAGE: &str = "docs/load.md";
const LOAD: &str = "xtask/data/load.json";
const SOAK: &str = "xtask/data/soak.json";

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if arguments == ["--page"] {
        return write_page(Path::new("."), false);
    }
    let mut command = cargo(["run", "--quiet", "--package", "mcp-tests", "--bin", "mcp-load"]);
    // `--quick` is for CI, which has built everything for its tests already.
    if !arguments.iter().any(|argument| argument == "--quick") {
        command.arg("--release");
    }
    run(command.arg("--").args(arguments))
}

/// Writes the page, or only compares it.
fn write_page(root: &Path, only_compare: bool) -> Result<(), String> {
    let text = |name: &str| {
        fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    let figures = |name: &str| -> Result<Value, String> {
        let mut run: Value =
            serde_json::from_str(&text(name)?).map_err(|error| format!("{name}: {error}"))?;
        let rows = run["rows"].as_array().into_iter().flatten();
        let unavailable: u64 = rows.filter_map(|row| row["unavailable"].as_u64()).sum();
        run["unavailable"] = unavailable.into();
        Ok(run)
    };
    let page = page::page(&figures(LOAD)?, &figures(SOAK)?)?;
    if !only_compare {
        return fs::write(root.join(PAGE), page).map_err(|error| error.to_string());
    }
    if text(PAGE)? == page { Ok(()) } else { Err(format!("{PAGE} is out of date")) }
}
