//! `mcp prompts` and `mcp prompt`: list prompts, and fill one in.

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::offers::Command as Prepared;
use mcp_client::RawJson;
use serde_json::{Value, json};

use super::{content, resources, server_arg, text, texts};
use crate::{
    exit::{Done, Exit, Problem},
    host::app::App,
    terminal::{
        out::brief,
        paint::Paint,
        table::{Table, plain},
    },
};

pub(super) fn list_command() -> Command {
    Command::new("prompts")
        .about("List the prompts of the servers")
        .after_help("Examples:\n  mcp prompts\n  mcp prompts github --json")
        .arg(server_arg())
}

pub(super) fn get_command() -> Command {
    Command::new("prompt")
        .about("Fill a prompt in")
        .after_help("Examples:\n  mcp prompt github/review number=42")
        .arg(Arg::new("prompt").value_name("SERVER/PROMPT").required(true))
        .arg(Arg::new("arguments").value_name("key=value").num_args(0..))
}

pub(super) async fn list(app: &App, matches: &ArgMatches) -> Done {
    let server = text(matches, "server");
    let bridge = app.bridge();
    resources::connect(app, &bridge, server).await?;
    let left_out = resources::left_out(app, &bridge, server);
    let all = bridge.commands();
    let wanted: Vec<&Prepared> =
        all.iter().filter(|one| server.is_empty() || &*one.server == server).collect();
    if app.out.json {
        let described: Vec<Value> = wanted.iter().map(|one| describe(one)).collect();
        app.out.value(&json!({"prompts": described, "notSearched": left_out}))?;
    } else if wanted.is_empty() {
        app.explain_empty("no prompts found");
    } else {
        let mut table = Table::new(&["PROMPT", "TAKES", "DESCRIPTION"]);
        for one in wanted {
            let takes: Vec<String> = one
                .arguments
                .iter()
                .map(|argument| {
                    if argument.required {
                        brief(&argument.name, 40)
                    } else {
                        format!("[{}]", brief(&argument.name, 40))
                    }
                })
                .collect();
            table.row([
                (format!("{}/{}", one.server, brief(&one.prompt, 60)), Paint::Bold),
                plain(takes.join(" ")),
                plain(brief(&one.description, 80)),
            ]);
        }
        table.print(app.out)?;
    }
    Ok(Exit::Done)
}

pub(super) async fn get(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "prompt");
    let bridge = app.bridge();
    let server = name.split_once('/').map(|(server, _)| server).unwrap_or_default();
    resources::connect(app, &bridge, server).await?;
    let all = bridge.commands();
    let fits = |one: &&Prepared| {
        one.name == name || one.prompt == name || format!("{}/{}", one.server, one.prompt) == name
    };
    let Some(prepared) = all.iter().find(fits) else {
        let problem = Problem::new(Exit::NotFound, format!("prompt not found: {name}"));
        return Err(problem.hint("`mcp prompts` lists them"));
    };
    let words = in_order(prepared, &texts(matches, "arguments"))?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let filled = app.wait(bridge.run_command(&prepared.name, &words)).await?;
    let filled = filled.map_err(|error| resources::refused(app, &error))?;
    if app.out.json {
        let raw = RawJson::encode(&filled).ok();
        let value = raw.and_then(|raw| serde_json::from_str::<Value>(raw.as_str()).ok());
        app.out.value(&value.unwrap_or_default())?;
    } else {
        for message in &filled.messages {
            let said = content::in_words(&message.content);
            let role = Paint::Bold.of(format!("{}:", brief(&message.role, 40)));
            app.out.line(role.then(format!(" {said}")))?;
        }
    }
    Ok(Exit::Done)
}

/// Orders the values by the prompt's argument list, as the bridge expects them.
fn in_order(prepared: &Prepared, given: &[String]) -> Result<Vec<String>, Problem> {
    let mut words = vec![String::new(); prepared.arguments.len()];
    for word in given {
        let Some((key, value)) = word.split_once('=') else {
            return Err(Problem::usage(format!("`{word}` is not `key=value`")));
        };
        let Some(at) = prepared.arguments.iter().position(|argument| argument.name == key) else {
            let names: Vec<_> = prepared.arguments.iter().map(|a| brief(&a.name, 60)).collect();
            return Err(Problem::usage(format!("unknown argument `{key}`"))
                .hint(format!("known arguments: {}", names.join(", "))));
        };
        value.clone_into(&mut words[at]);
    }
    let absent =
        prepared.arguments.iter().zip(&words).find(|(a, word)| a.required && word.is_empty());
    match absent {
        Some((argument, _)) => {
            let name = brief(&argument.name, 60);
            let example = format!("mcp prompt {}/{} {name}=…", prepared.server, prepared.prompt);
            Err(Problem::usage(format!("missing argument `{name}`")).hint(brief(&example, 200)))
        }
        None => Ok(words),
    }
}

fn describe(one: &Prepared) -> Value {
    let arguments: Vec<Value> = one
        .arguments
        .iter()
        .map(|a| json!({"name": a.name, "description": a.description, "required": a.required}))
        .collect();
    json!({"name": format!("{}/{}", one.server, one.prompt), "server": &*one.server,
        "commandName": one.name, "description": one.description, "arguments": arguments})
}
