//! `cargo xtask mutants`: checks that tests fail when security-relevant code is changed.
//!
//! cargo-mutants finds the places where one expression or body can be replaced. A first pass ([`fast`]) compiles all mutants
//! of a package at once and runs its tests once per mutant. A second pass ([`slow`]) has cargo-mutants itself compile and try
//! those that the first could not compile or that survived it. A survivor of both means a missing test or equivalent code;
//! the latter is listed with its reason in [`ALLOWED`].

mod compile;
mod fast;
mod listed;
mod slow;
mod tree;
mod weave;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
};

use listed::Mutant;
use tree::Tree;

use crate::{pinned::Pinned, process::capture, workspace::Workspace};

const HELP: &str = "cargo xtask mutants [--list] [--fast] [--sample N] [--only PATH]…";
const TOOL: Pinned = Pinned { name: "cargo-mutants", version: "27.1.0" };
const ALLOWED: &str = "xtask/mutants-allowed.txt";

/// The code that decides which programs, requests and texts are allowed, and what is shown and hashed before a decision.
const GUARDS: &[&str] = &[
    "crates/mcp-safe/src/secrets{.rs,/**}",
    "crates/mcp-safe/src/fs{.rs,/**}",
    "crates/mcp-tool/src/permission.rs",
    "crates/mcp-schema/src/{admit,keyword,schema,steps}.rs",
    "crates/mcp-config/src/policy{.rs,/**}",
    "crates/mcp-config/src/expand{.rs,/**}",
    "crates/mcp-config/src/model/{address,helper,lines,loading}.rs",
    "crates/mcp-config/src/resolve/{admission,approval,disclosure,facts,fingerprint,program,sandbox}.rs",
    "crates/mcp-config/src/files/approval_store.rs",
    "crates/mcp-transport/src/net/guard{.rs,/**}",
    "crates/mcp-sandbox/src/profile{.rs,/**}",
    "crates/mcp-sandbox/src/resolve{.rs,/**}",
    "crates/mcp-sandbox/src/rules.rs",
    "crates/mcp-bridge/src/call/gate.rs",
    "crates/mcp-bridge/src/consent.rs",
    "crates/mcp-bridge/src/server/offered.rs",
    "crates/mcp-bridge/src/trust{.rs,/**}",
    "crates/mcp-server/src/http/{connections,gate,token,unix}.rs",
    "crates/mcp-gateway/src/{consent,lookup,relay}.rs",
    "crates/mcp-cli/src/host/redact{.rs,/**}",
];

#[derive(Debug, Default, PartialEq, Eq)]
struct Wishes {
    list: bool,
    /// Only the first pass; mutants that it cannot compile count as survivors.
    fast: bool,
    sample: Option<usize>,
    only: Vec<String>,
}

impl Wishes {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut wishes = Self::default();
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            match flag.as_str() {
                "--list" => wishes.list = true,
                "--fast" => wishes.fast = true,
                _ => {}
            }
            if matches!(flag.as_str(), "--list" | "--fast") {
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("`{flag}` of `{HELP}` needs a value"))?;
            match flag.as_str() {
                "--sample" => {
                    let number = value.parse().ok().filter(|number| *number > 0);
                    wishes.sample = Some(number.ok_or("`--sample` must be a number above 0")?);
                }
                "--only" => wishes.only.push(value.clone()),
                _ => return Err(format!("`{flag}` is not one of `{HELP}`")),
            }
        }
        Ok(wishes)
    }
}

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{HELP}");
        return Ok(());
    }
    let wishes = Wishes::parse(arguments)?;
    let program = TOOL.ready()?;
    let mut list = Command::new(&program);
    list.args(["mutants", "--no-config", "--no-shuffle", "--all-features", "--list", "--json"]);
    let chosen: Vec<&str> = wishes.only.iter().map(String::as_str).collect();
    let files = if chosen.is_empty() { GUARDS } else { &chosen };
    list.args(files.iter().flat_map(|file| ["--file", *file]));
    let all = listed::parse(&capture(&mut list)?)?;
    if wishes.list {
        for mutant in &all {
            println!("{}", mutant.name);
        }
        return Ok(());
    }
    if all.is_empty() {
        return Err("there is nothing to mutate in these files".into());
    }
    let step = wishes.sample.map_or(1, |sample| all.len().div_ceil(sample)).max(1);
    println!("{} mutants, one of {step} is tried", all.len());
    let mutants: Vec<&Mutant> = all.iter().step_by(step).collect();
    let allowed = allowed(Path::new(ALLOWED))?;
    let verdicts = verdicts(&program, &mutants, (!wishes.fast).then_some(&allowed))?;
    let with = |verdict: Verdict| -> BTreeSet<String> {
        let found = verdicts.iter().zip(&mutants).filter(|(found, _)| **found == verdict);
        found.map(|(_, mutant)| mutant.key()).collect()
    };
    print!("{}", table(&mutants, &verdicts, &allowed));
    judge(&with(Verdict::Missed), &with(Verdict::Caught), &allowed)
}

/// Survivors with their reasons.
type Allowed = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Caught,
    Unviable,
    Missed,
}

/// Tries `mutants`. `outcomes.txt` has a line for each, with the test that caught it. With `allowed`, there is a second pass,
/// which leaves out allowed survivors of the first.
fn verdicts(
    program: &Path,
    mutants: &[&Mutant],
    allowed: Option<&Allowed>,
) -> Result<Vec<Verdict>, String> {
    let workspace = Workspace::load()?;
    let results = workspace.target.join("mutants");
    fs::create_dir_all(&results).map_err(|error| format!("no folder for the results: {error}"))?;
    let tree = Tree::new(results.join("tree"));
    tree.sync(&workspace.root)?;
    let mut outcomes = String::new();
    let mut verdicts = vec![Verdict::Missed; mutants.len()];
    let mut remaining = Vec::new();
    for package in workspace.packages.iter().filter(|package| package.is_library) {
        // Numbers begin at 1: a run without a mutant has number 0.
        let numbered: compile::Numbered = (1..)
            .zip(mutants.iter().copied())
            .filter(|(_, mutant)| mutant.package == package.name)
            .collect();
        if numbered.is_empty() {
            continue;
        }
        println!("{}: {} mutants", package.name, numbered.len());
        let build = results.join("build");
        let place = compile::Package {
            tree: &tree,
            name: &package.name,
            folder: &package.folder,
            build: &build,
        };
        let tried = fast::try_all(&place, &numbered, |how, number, test| {
            let name = &mutants[number - 1].name;
            let _ = writeln!(outcomes, "{how}\t{name}\t{test}");
            let _ = fs::write(results.join("outcomes.txt"), &outcomes);
        })?;
        tried.caught.keys().for_each(|number| verdicts[number - 1] = Verdict::Caught);
        tried.unviable.iter().for_each(|number| verdicts[number - 1] = Verdict::Unviable);
        remaining.extend(tried.remaining);
    }
    let Some(allowed) = allowed else { return Ok(verdicts) };
    remaining.retain(|number| !allowed.contains_key(&mutants[number - 1].key()));
    tree.sync(&workspace.root)?;
    let again: Vec<&Mutant> = remaining.iter().map(|number| mutants[number - 1]).collect();
    println!("{} mutants are tried one at a time", again.len());
    let slow = slow::try_each(program, &tree, &results, &again)?;
    for number in remaining {
        let key = mutants[number - 1].key();
        verdicts[number - 1] = if slow.missed.contains(&key) {
            Verdict::Missed
        } else if slow.caught.contains(&key) {
            Verdict::Caught
        } else {
            Verdict::Unviable
        };
    }
    Ok(verdicts)
}

/// The numbers of each package.
fn table(mutants: &[&Mutant], verdicts: &[Verdict], allowed: &Allowed) -> String {
    let mut rows = BTreeMap::<&str, [usize; 5]>::new();
    for (mutant, verdict) in mutants.iter().zip(verdicts) {
        let row = rows.entry(&mutant.package).or_default();
        row[0] += 1;
        row[match verdict {
            Verdict::Caught => 1,
            Verdict::Unviable => 2,
            Verdict::Missed if allowed.contains_key(&mutant.key()) => 3,
            Verdict::Missed => 4,
        }] += 1;
    }
    let mut text = "package          mutants  caught  unviable  allowed  missed\n".to_owned();
    for (package, [all, caught, unviable, known, missed]) in rows {
        let _ =
            writeln!(text, "{package:16} {all:7}  {caught:6}  {unviable:8}  {known:7}  {missed:6}");
    }
    text
}

/// The allowed survivors, each as `path: change | reason`.
fn allowed(path: &Path) -> Result<Allowed, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            // A change may contain the separator, as in `replace & with | in f`.
            let (mutant, reason) = line.rsplit_once(" | ").unwrap_or((line, ""));
            if reason.trim().is_empty() {
                return Err(format!("{}: no reason: {line}", path.display()));
            }
            Ok((mutant.to_owned(), reason.to_owned()))
        })
        .collect()
}

fn judge(
    missed: &BTreeSet<String>,
    caught: &BTreeSet<String>,
    allowed: &Allowed,
) -> Result<(), String> {
    let survivors: Vec<&String> = missed.iter().filter(|key| !allowed.contains_key(*key)).collect();
    let is_stale = |key: &&String| caught.contains(*key) && !missed.contains(*key);
    let stale: Vec<&String> = allowed.keys().filter(is_stale).collect();
    for survivor in &survivors {
        println!("survived: {survivor}");
    }
    for entry in &stale {
        println!("caught, and still in {ALLOWED}: {entry}");
    }
    let known = missed.len() - survivors.len();
    println!("{} caught, {} survived, {known} of them with a reason", caught.len(), missed.len());
    match (survivors.len(), stale.len()) {
        (0, 0) => Ok(()),
        (0, stale) => Err(format!("{stale} entries of {ALLOWED} are out of date")),
        (survivors, _) => Err(format!(
            "{survivors} mutants survived; write the missing tests, or the reasons into {ALLOWED}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(keys: &[&str]) -> BTreeSet<String> {
        keys.iter().map(|&key| key.to_owned()).collect()
    }

    #[test]
    fn mutants_arguments_are_parsed_and_invalid_ones_are_named() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let wishes = Wishes::parse(&words("--sample 5 --only a.rs")).unwrap();
        assert_eq!(
            wishes,
            Wishes { sample: Some(5), only: vec!["a.rs".into()], ..Wishes::default() }
        );
        assert!(Wishes::parse(&words("--sample 0")).unwrap_err().contains("above 0"));
        assert!(Wishes::parse(&words("--simple 5")).unwrap_err().starts_with("`--simple`"));
    }

    #[test]
    fn survivors_without_a_reason_and_stale_reasons_fail() {
        let allowed = BTreeMap::from([("a".to_owned(), "equivalent".to_owned())]);
        assert_eq!(judge(&set(&["a"]), &set(&["b"]), &allowed), Ok(()));
        assert!(
            judge(&set(&["a", "c"]), &set(&[]), &allowed).unwrap_err().starts_with("1 mutants")
        );
        assert!(judge(&set(&[]), &set(&["a"]), &allowed).unwrap_err().contains("out of date"));
        assert_eq!(judge(&set(&[]), &set(&[]), &allowed), Ok(()), "not tried in this run");
    }

    #[test]
    fn allowed_survivors_name_files_that_exist() {
        let root = Path::new("..");
        let allowed = allowed(&root.join(ALLOWED)).unwrap();
        assert!(allowed.keys().any(|key| key.ends_with("replace & with | in make_private")));
        for key in allowed.keys() {
            let file = key.split_once(": ").unwrap().0;
            assert!(root.join(file).is_file(), "{key}");
        }
    }

    /// The paths of a guard: `a{.rs,/**}` is the file `a.rs` and the folder `a`.
    fn paths(guard: &str) -> Vec<String> {
        let Some((before, rest)) = guard.split_once('{') else { return vec![guard.to_owned()] };
        let (choices, after) = rest.split_once('}').unwrap();
        choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
    }

    fn is_present(root: &Path, guard: &str) -> bool {
        paths(guard).iter().all(|path| match path.strip_suffix("/**") {
            Some(folder) => root.join(folder).is_dir(),
            None => root.join(path).is_file(),
        })
    }

    /// A renamed file would otherwise drop out of the list in silence.
    #[test]
    fn every_guarded_file_exists() {
        let root = Path::new("..");
        for guard in GUARDS {
            assert!(is_present(root, guard), "{guard}");
        }
        assert_eq!(paths("a/{b,c}.rs"), ["a/b.rs", "a/c.rs"]);
        for absent in ["xtask/src/{mutants,absent}.rs", "xtask/src/tree{.rs,/**}", "xtask/src"] {
            assert!(!is_present(root, absent), "{absent}");
        }
    }
}
