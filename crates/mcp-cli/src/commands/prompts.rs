//! `mcp prompts` and `mcp prompt`: what servers have prepared to say.

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::Command as Prepared;
use mcp_client::{Content, RawJson};
use serde_json::{Value, json};

use super::{resources, server_arg, text, texts};
use crate::{
    app::App,
    exit::{Done, Exit, Problem},
    out::{Paint, brief, shown},
    table::{Table, plain},
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
    let all = bridge.commands();
    let wanted: Vec<&Prepared> =
        all.iter().filter(|one| server.is_empty() || &*one.server == server).collect();
    if app.out.json {
        let described: Vec<Value> = wanted.iter().map(|one| describe(one)).collect();
        app.out.value(&json!({ "prompts": described }))?;
    } else if wanted.is_empty() {
        if app.has_servers() {
            app.out.remark("there are no prompts");
        }
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
        let problem = Problem::new(Exit::NotFound, format!("there is no prompt called {name}"));
        return Err(problem.hint("`mcp prompts` lists them"));
    };
    let words = in_order(prepared, &texts(matches, "arguments"))?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let filled = app.interrupt.or(bridge.run_command(&prepared.name, &words)).await?;
    let filled = filled.map_err(|error| resources::refused(&error))?;
    if app.out.json {
        let raw = RawJson::encode(&filled).ok();
        let value = raw.and_then(|raw| serde_json::from_str::<Value>(raw.as_str()).ok());
        app.out.value(&value.unwrap_or_default())?;
    } else {
        for message in &filled.messages {
            let said = match &message.content {
                Content::Text(text) => shown(&text.text),
                other => brief(RawJson::encode(other).map_or("", |_| "[not text]"), 40),
            };
            app.out.line(format!(
                "{} {said}",
                app.out.paint(Paint::Bold, &format!("{}:", message.role))
            ))?;
        }
    }
    Ok(Exit::Done)
}

/// The bridge takes words in the order of the prompt's own arguments.
fn in_order(prepared: &Prepared, given: &[String]) -> Result<Vec<String>, Problem> {
    let mut words = vec![String::new(); prepared.arguments.len()];
    for word in given {
        let Some((key, value)) = word.split_once('=') else {
            return Err(Problem::new(Exit::Usage, format!("`{word}` is not `key=value`")));
        };
        let Some(at) = prepared.arguments.iter().position(|argument| argument.name == key) else {
            let names: Vec<&str> = prepared.arguments.iter().map(|a| a.name.as_str()).collect();
            return Err(Problem::new(Exit::Usage, format!("the prompt takes no `{key}`"))
                .hint(format!("it takes {}", names.join(", "))));
        };
        value.clone_into(&mut words[at]);
    }
    let absent =
        prepared.arguments.iter().zip(&words).find(|(a, word)| a.required && word.is_empty());
    match absent {
        Some((argument, _)) => {
            Err(Problem::new(Exit::Usage, format!("the prompt needs `{}`", argument.name)))
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
