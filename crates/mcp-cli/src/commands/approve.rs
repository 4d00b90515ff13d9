//! `mcp approve`: decide about servers and custom tools of a project.

mod always;
mod subject;

use clap::{Arg, ArgMatches, Command};
use serde_json::json;

use self::subject::{Decision, Subject};
use super::{flag, texts};
use crate::{
    exit::{Done, Exit, Problem},
    host::app::App,
};

pub(super) fn command() -> Command {
    Command::new("approve")
        .about("Approve or reject the servers and custom tools of this project")
        .long_about(
            "Approve or reject the servers and custom tools of this project.\n\n\
             Each entry is shown in full, with its host, the program it starts, and the variables and \
             files of yours that it would send. An approval covers exactly what was shown: if the entry, its host, its \
             program or a script of the project that it names changes, you are asked again.",
        )
        .after_help(
            "Examples:\n  mcp approve\n  mcp approve files\n  mcp approve files --reject\n  \
             mcp approve --reset\n  mcp approve --always\n  mcp approve --revoke 'mcp:files:*'",
        )
        .arg(Arg::new("names").value_name("NAME").num_args(0..))
        .arg(flag("reject", "Reject them as they are now, also after an approval"))
        .arg(
            flag("reset", "Forget the decisions about them; without names, all decisions of this project")
                .conflicts_with("reject"),
        )
        .arg(
            flag("always", "List the tools you have approved permanently")
                .conflicts_with_all(["names", "reject", "reset"]),
        )
        .arg(
            Arg::new("revoke")
                .long("revoke")
                .value_name("GLOB")
                .conflicts_with_all(["names", "reject", "reset", "always"])
                .help("Ask again about tools you have approved permanently"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let glob = matches.get_one::<String>("revoke");
    if glob.is_some() || matches.get_flag("always") {
        return always::run(app, glob);
    }
    let decision = match (matches.get_flag("reject"), matches.get_flag("reset")) {
        (true, _) => Decision::Reject,
        (_, true) => Decision::Reset,
        _ => Decision::Approve,
    };
    let names = texts(matches, "names");
    let subjects = wanted(app, decision, &names)?;
    // A rejection starts nothing, so naming the entry is enough.
    let is_asked = match decision {
        Decision::Approve => true,
        Decision::Reject => names.is_empty(),
        Decision::Reset => false,
    };
    let mut decided = Vec::new();
    for subject in &subjects {
        if !is_asked || is_agreed(app, subject, decision).await? {
            decided.push(subject);
        }
    }
    if !decided.is_empty() {
        keep(app, &decided, decision)?;
    }
    if decided.is_empty() && !subjects.is_empty() && !app.terminal.can_ask() {
        let message = format!("nothing was {}: asking needs a terminal", decision.done());
        return Err(Problem::new(Exit::Denied, message)
            .hint("run it in a terminal, or read the entries and add --yes"));
    }
    if subjects.is_empty() && !app.out.json {
        app.out.line("no entries of this project wait for an answer")?;
        return Ok(Exit::Done);
    }
    say(app, &decided, decision)?;
    Ok(Exit::Done)
}

/// Returns the entries to decide about: those with the given names, or else all that are undecided.
fn wanted<'a>(
    app: &'a App,
    decision: Decision,
    names: &[String],
) -> Result<Vec<Subject<'a>>, Problem> {
    let mut all = Subject::all(&app.config);
    if names.is_empty() {
        all.retain(|subject| decision == Decision::Reset || subject.is_undecided());
        return Ok(all);
    }
    for name in names {
        if !all.iter().any(|subject| subject.name() == name) {
            let message = format!("not a server or custom tool of this project: `{name}`");
            return Err(Problem::new(Exit::NotFound, message)
                .hint(format!("`mcp explain {name}` shows where it is configured")));
        }
    }
    all.retain(|subject| names.iter().any(|name| name == subject.name()));
    Ok(all)
}

/// Shows the entry, also with `--quiet`, and asks for confirmation.
async fn is_agreed(app: &App, subject: &Subject<'_>, decision: Decision) -> Result<bool, Problem> {
    app.out.instruct(subject.to_string().trim_end());
    let question = format!("{} {}?", decision.verb(), subject.name());
    app.interrupt.or(app.terminal.confirm(&question)).await
}

fn keep(app: &App, decided: &[&Subject<'_>], decision: Decision) -> Result<(), Problem> {
    let no_home =
        || Problem::new(Exit::Config, "cannot store the decision without a home directory");
    let store = app.config.approvals().ok_or_else(no_home)?;
    let stored = store.update(&app.config.project, |approvals| {
        for subject in decided {
            subject.decide(approvals, &app.config, decision);
        }
    });
    stored.map(drop).map_err(|error| Problem::chain(Exit::Config, &error))
}

fn say(app: &App, decided: &[&Subject<'_>], decision: Decision) -> Result<(), Problem> {
    let names: Vec<&str> = decided.iter().map(|subject| subject.name()).collect();
    let done = decision.done();
    if app.out.json {
        app.out.value(&json!({ done: names }))?;
    } else if names.is_empty() {
        app.out.line(format!("nothing {done}"))?;
    } else {
        app.out.line(format!("{done}: {}", names.join(", ")))?;
    }
    Ok(())
}
