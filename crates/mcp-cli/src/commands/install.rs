//! `mcp install`: the gateway as one entry in another tool's configuration.

use std::{env, path::PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_config::{
    ConfigFile, Dialect, Edit, KnownFile, Platform, ReadOptions, Scope, ServerConfig, Stdio,
    Template, Transport, edit_text, known_files,
};
use serde_json::json;

use super::{import::TOOLS, text};
use crate::{
    app::App,
    exit::{Done, Exit, Problem, chain},
};

pub(super) fn command() -> Command {
    Command::new("install")
        .about("Put this gateway into another tool's configuration")
        .long_about(
            "Put this gateway into another tool's configuration. Shows what would be written; `--yes` writes it.",
        )
        .after_help("Examples:\n  mcp install --client cursor\n  mcp install --client claude --mode search --yes")
        .arg(
            Arg::new("client")
                .long("client")
                .value_name("TOOL")
                .required(true)
                .value_parser(TOOLS.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
        )
        .arg(
            Arg::new("mode")
                .long("mode")
                .value_parser(["auto", "all", "search"])
                .default_value("auto")
                .help("As of `mcp serve`"),
        )
        .arg(
            Arg::new("trust-host")
                .long("trust-host")
                .action(ArgAction::SetTrue)
                .help("As of `mcp serve`: leave it to that tool to ask its user"),
        )
        .arg(Arg::new("name").long("name").default_value("mcp").help("What the entry is called"))
        .arg(
            Arg::new("remove")
                .long("remove")
                .action(ArgAction::SetTrue)
                .help("Take the entry out again"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let client = text(matches, "client");
    let name = text(matches, "name");
    let file = file(app, client)?;
    let edit = if matches.get_flag("remove") {
        Edit::Remove(name.to_owned())
    } else {
        Edit::Put(Box::new(entry(matches)?))
    };
    let before = match std::fs::read_to_string(&file.path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            let message = format!("could not read {}: {error}", file.path.display());
            return Err(Problem::new(Exit::Config, message));
        }
    };
    let label = file.path.to_string_lossy();
    let mut options = ReadOptions::new(&label);
    options.dialect = file.dialect;
    let after = edit_text(&before, &options, &edit)
        .map_err(|error| Problem::new(Exit::Config, chain(&error)))?;
    let (gone, come) = changes(&before, &after);
    if !app.out.json {
        app.out.line(format!("{}:", file.path.display()))?;
        let gone = gone.lines().map(|line| format!("- {line}"));
        for line in gone.chain(come.lines().map(|line| format!("+ {line}"))) {
            app.out.line(line)?;
        }
        app.out.flush()?;
    }
    let is_changed = before != after;
    let question = format!("write this to {}?", file.path.display());
    let is_done = is_changed && app.interrupt.or(app.terminal.confirm(&question)).await?;
    if is_done {
        if let Some(folder) = file.path.parent() {
            // If it cannot be made, writing the file says why.
            let _ = std::fs::create_dir_all(folder);
        }
        file.apply(&[edit])?;
    }
    if app.out.json {
        app.out.value(&json!({"client": client, "file": file.path, "changed": is_changed,
            "written": is_done, "removed": gone, "added": come}))?;
    } else if is_done {
        app.out.line(format!("done: restart {client} to use it"))?;
    } else if !is_changed {
        app.out.line("nothing to change")?;
    } else {
        app.out.remark("nothing was written; `--yes` writes it");
    }
    Ok(Exit::Done)
}

/// The user's own file of that tool.
fn file(app: &App, client: &str) -> Result<ConfigFile, Problem> {
    let dialect = TOOLS.iter().find(|(name, _)| *name == client).map(|(_, dialect)| *dialect);
    let known = known_files(Platform::current(), &app.config.environment, &app.config.project);
    let is_it = |file: &&KnownFile| Some(file.dialect) == dialect && file.scope == Scope::User;
    let Some(known) = known.iter().find(is_it) else {
        return Err(Problem::new(
            Exit::Config,
            format!("where {client} keeps its files is not known here"),
        )
        .hint("set HOME"));
    };
    let mut file = ConfigFile::new(&known.path);
    // opencode has two schemas: which one a file follows, only its text says.
    let is_told_apart = known.dialect == Dialect::OpenCode && known.path.exists();
    file.dialect = (!is_told_apart).then_some(known.dialect);
    Ok(file)
}

fn entry(matches: &ArgMatches) -> Result<ServerConfig, Problem> {
    let mode = text(matches, "mode");
    let name = text(matches, "name")
        .parse()
        .map_err(|error: mcp_config::NameError| Problem::new(Exit::Usage, error.to_string()))?;
    // The full path: what another tool's PATH is, nobody knows.
    let program = env::current_exe().unwrap_or_else(|_| PathBuf::from("mcp"));
    let mut stdio = Stdio::new(Template::literal(program.to_string_lossy()));
    stdio.args.push(Template::literal("serve"));
    if mode != "auto" {
        stdio.args.extend(["--mode", mode].map(Template::literal));
    }
    if matches.get_flag("trust-host") {
        stdio.args.push(Template::literal("--trust-host"));
    }
    Ok(ServerConfig::new(name, Transport::Stdio(stdio)))
}

/// What goes and what comes. What stays is nobody's business here: another tool's file has its secrets, and
/// some have all of it in one line.
fn changes<'a>(before: &'a str, after: &'a str) -> (&'a str, &'a str) {
    let same = |pair: &((usize, char), char)| pair.0.1 == pair.1;
    let head = before.char_indices().zip(after.chars()).take_while(same).last();
    let head = head.map_or(0, |((at, c), _)| at + c.len_utf8());
    let (old, new) = (&before[head..], &after[head..]);
    let tail = old.chars().rev().zip(new.chars().rev()).take_while(|(a, b)| a == b);
    let tail: usize = tail.map(|(c, _)| c.len_utf8()).sum();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    // Whatever stood before or behind got a comma.
    let bare = |text: &'a str| text.trim_matches(',').trim_matches(['\r', '\n']);
    (bare(old), bare(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let before = r#"{"a":{"key":"hunter2"}}"#;
        let after = r#"{"a":{"key":"hunter2"},"b":{"command":"x"}}"#;
        assert_eq!(changes(before, after), ("", r#""b":{"command":"x"}"#));
        assert_eq!(changes(after, before), (r#""b":{"command":"x"}"#, ""));
        assert_eq!(changes("a\nb\n", "a\nx\ny\nb\n"), ("", "x\ny"));
        assert_eq!(changes("", "ä"), ("", "ä"));
        assert_eq!(changes("aä", "aä"), ("", ""));
    }
}
