//! `cargo xtask load`: many servers, many calls, and trouble. What follows the task's name is the program's own,
//! but for `--page`, which writes `docs/load.md` from what earlier runs wrote down.

mod page;

use std::{fs, path::Path};

use serde_json::Value;

use crate::process::{cargo, run};

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if arguments == ["--page"] {
        return write_page(Path::new("docs"), false);
    }
    let mut command = cargo(["run", "--quiet", "--package", "mcp-tests", "--bin", "mcp-load"]);
    // The quick one is for CI, which has built everything for its tests already.
    if !arguments.iter().any(|argument| argument == "--quick") {
        command.arg("--release");
    }
    run(command.arg("--").args(arguments))
}

/// Writes the page, or only says whether it would be another one.
fn write_page(docs: &Path, only_compare: bool) -> Result<(), String> {
    let text = |name: &str| {
        fs::read_to_string(docs.join(name)).map_err(|error| format!("docs/{name}: {error}"))
    };
    let figures = |name: &str| -> Result<Value, String> {
        let mut run: Value =
            serde_json::from_str(&text(name)?).map_err(|error| format!("docs/{name}: {error}"))?;
        let rows = run["rows"].as_array().into_iter().flatten();
        let unavailable: u64 = rows.filter_map(|row| row["unavailable"].as_u64()).sum();
        run["unavailable"] = unavailable.into();
        Ok(run)
    };
    let page = page::page(&figures("load.json")?, &figures("soak.json")?)?;
    if !only_compare {
        return fs::write(docs.join("load.md"), page).map_err(|error| error.to_string());
    }
    if text("load.md")? == page { Ok(()) } else { Err("docs/load.md is another page".into()) }
}
