//! `cargo xtask figures`: writes `docs/figures.md`, the page with every figure we publish.
//!
//! Each section is a command that anyone can run, with its output. A row that misses its target must be
//! explained in `xtask/data/shortfalls.txt`, or the page is not written.

mod page;
mod shortfalls;

use std::{
    env, fs,
    process::{Command, Stdio},
};

use self::{page::Page, shortfalls::Shortfalls};
use crate::workspace::Workspace;

const PAGE: &str = "docs/figures.md";
const SHORTFALLS: &str = "xtask/data/shortfalls.txt";

/// A command and the part of its output that goes onto the page.
struct Section {
    title: &'static str,
    /// The meaning of the figures, in a sentence or two.
    about: &'static str,
    /// Arguments for `cargo xtask`. `DIR` is replaced by the folder of the evaluation data.
    command: &'static [&'static str],
    keep: fn(&str) -> bool,
}

const DATA: &str = "DIR";

const SECTIONS: &[Section] = &[
    Section {
        title: "Conformance of the client",
        about: "The official suite, one scenario at a time, warnings and timeouts counted as failures; then third-party \
                servers, each with twelve of our scenarios. `-` marks a feature that a server does not offer.",
        command: &["conformance"],
        keep: |line| !line.starts_with("pass ") && !line.starts_with('.'),
    },
    Section {
        title: "Conformance of our servers",
        about: "The official suite's server scenarios against `ToolServer` and the gateway.",
        command: &["conformance-server"],
        keep: |line| line.contains("passed"),
    },
    Section {
        title: "Faults",
        about: "Every fault over every transport, with the caller's result and the recovery: see `docs/reliability.md`. \
                No cell leaks a task, a file, a process or a credential.",
        command: &["faults", "--check"],
        keep: |_| true,
    },
    Section {
        title: "Load",
        about: "200 servers, 10,000 calls in flight, a million calls, each with an answer that only its server can give. \
                `docs/load.md` lists the checks.",
        command: &["load"],
        keep: |_| true,
    },
    Section {
        title: "Search quality",
        about: "Quality of tool search with queries in natural language. The data is not part of this repository.",
        command: &["search-eval", "--data", DATA],
        keep: |_| true,
    },
    Section {
        title: "Speed and memory",
        about: "Our client, its peers and a floor in one run, interleaved; only ratios within a row are meaningful. \
                See `bench/README.md`.",
        command: &["bench", "speed", "--rounds", "7"],
        keep: |_| true,
    },
    Section {
        title: "Instructions and allocations",
        about: "Per operation, counted by valgrind, so the same on a busy machine.",
        command: &["bench", "counts"],
        keep: |_| true,
    },
    Section {
        title: "The command",
        about: "`mcp` compared with `mcporter` by hyperfine; the overhead of the gateway per call; the stripped size.",
        command: &["bench", "cli"],
        keep: |_| true,
    },
    Section {
        title: "Size",
        about: "A minimal client, ours and rmcp's: crates, stripped size, clean build.",
        command: &["bench", "size"],
        keep: |_| true,
    },
    Section {
        title: "Dependencies",
        about: "Third-party crates in the dependency tree of each selection of packages and features.",
        command: &["features", "--weigh"],
        keep: |_| true,
    },
];

const HELP: &str = "\
cargo xtask figures [--data DIR] [--kept] [--only TEXT]...
  writes docs/figures.md by running every command it quotes, which takes half an hour
  --data DIR    the evaluation data; without it the section on search stays as it was
  --kept        take what the commands said last time, where they ran since the last `cargo clean`
  --only TEXT   only sections whose title contains TEXT; the others stay as they were";

#[derive(Default)]
struct Options {
    data: Option<String>,
    kept: bool,
    only: Vec<String>,
}

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().any(|word| word == "--help") {
        println!("{HELP}");
        return Ok(());
    }
    let options = Options::read(arguments)?;
    let mut page = Page::read(&fs::read_to_string(PAGE).unwrap_or_default());
    let shortfalls = Shortfalls::load(SHORTFALLS)?;
    let mut unexplained = Vec::new();
    for section in SECTIONS.iter().filter(|section| options.wants(section)) {
        let said = section.said(&options)?;
        let (explained, missing) = shortfalls.explain(&said);
        unexplained.extend(missing);
        page.set(section.title, &section.markdown(&said, &explained));
    }
    if !unexplained.is_empty() {
        let rows = unexplained.join("\n  ");
        return Err(format!("{SHORTFALLS} has no reason for these missed targets:\n  {rows}"));
    }
    let titles: Vec<&str> = SECTIONS.iter().map(|section| section.title).collect();
    fs::write(PAGE, page.text(&titles)).map_err(|error| format!("{PAGE}: {error}"))
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().cloned().ok_or_else(|| format!("{word} needs a value\n{HELP}"));
            match word.as_str() {
                "--data" => options.data = Some(value()?),
                "--kept" => options.kept = true,
                "--only" => options.only.push(value()?),
                _ => return Err(format!("unknown argument `{word}`\n{HELP}")),
            }
        }
        Ok(options)
    }

    fn wants(&self, section: &Section) -> bool {
        let has_data = self.data.is_some() || !section.command.contains(&DATA);
        let contains = |text: &String| section.title.to_lowercase().contains(&text.to_lowercase());
        has_data && (self.only.is_empty() || self.only.iter().any(contains))
    }
}

impl Section {
    /// The output of the command, or that of an earlier run: a run is long, and only a reason may be missing.
    fn said(&self, options: &Options) -> Result<String, String> {
        let folder = Workspace::load()?.target.join("figures");
        let file = folder.join(self.title.to_lowercase().replace(' ', "-")).with_extension("txt");
        if options.kept
            && let Ok(said) = fs::read_to_string(&file)
        {
            return Ok(said);
        }
        let said = self.run(options)?;
        let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, &said));
        kept.map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(said)
    }

    /// The kept lines of the command's stdout, without the paths of this machine.
    fn run(&self, options: &Options) -> Result<String, String> {
        let line = self.command_line();
        eprintln!("==> {}: {line}", self.title);
        let data = options.data.as_deref().unwrap_or_default();
        let words = self.command.iter().map(|word| if *word == DATA { data } else { word });
        let myself = env::current_exe().map_err(|error| error.to_string())?;
        let output = Command::new(myself)
            .args(words)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("{line}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            eprintln!("{said}");
            return Err(format!("`{line}` ended with {}", output.status));
        }
        let root = env::current_dir().unwrap_or_default();
        let said = said.replace(&*root.to_string_lossy(), ".");
        let said = if data.is_empty() { said } else { said.replace(data, DATA) };
        Ok(kept(&said, self.keep))
    }

    fn command_line(&self) -> String {
        format!("cargo xtask {}", self.command.join(" "))
    }

    fn markdown(&self, said: &str, explained: &[(&str, &str)]) -> String {
        let mut text = format!(
            "{}\n\n```sh\n{}\n```\n\n```text\n{said}\n```\n",
            self.about,
            self.command_line()
        );
        if !explained.is_empty() {
            text.push_str("\nMissed targets:\n\n");
            text.extend(explained.iter().map(|(row, why)| format!("- **{row}**: {why}\n")));
        }
        text
    }
}

/// The lines selected by `keep`, without trailing space, and at most one empty line in a row.
fn kept(said: &str, keep: fn(&str) -> bool) -> String {
    let mut lines: Vec<&str> = said.lines().map(str::trim_end).filter(|line| keep(line)).collect();
    lines.dedup_by(|b, a| a.is_empty() && b.is_empty());
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn search_section_is_skipped_without_data() {
        let wanted = |text| {
            let options = Options::read(&words(text)).unwrap();
            SECTIONS.iter().filter(|section| options.wants(section)).count()
        };
        assert_eq!(wanted(""), SECTIONS.len() - 1);
        assert_eq!(wanted("--data somewhere"), SECTIONS.len());
        assert_eq!(wanted("--only size --only dependencies"), 2);
        assert!(Options::read(&words("--data")).is_err());
    }

    #[test]
    fn only_kept_lines_are_on_the_page() {
        let said = "pass one  \npass two\n\n\nresult: 2 passed  \n\n";
        assert_eq!(kept(said, |line| !line.starts_with("pass ")), "result: 2 passed");
    }

    #[test]
    fn the_list_of_shortfalls_can_be_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        Shortfalls::load(&root.join(SHORTFALLS).to_string_lossy()).unwrap();
    }
}
