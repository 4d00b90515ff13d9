//! `mcp completions` and `mcp man`: made from the command line itself, so they are never wrong.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::{
    app::App,
    exit::{Done, Exit},
};

pub(super) fn completions_command() -> Command {
    Command::new("completions")
        .about("Print completions for a shell")
        .after_help(
            "Examples:\n  mcp completions bash > ~/.local/share/bash-completion/completions/mcp",
        )
        .arg(Arg::new("shell").required(true).value_parser(value_parser!(Shell)))
}

pub(super) fn man_command() -> Command {
    Command::new("man")
        .about("Print the manual page")
        .after_help("Examples:\n  mcp man > mcp.1\n  mcp man call > mcp-call.1")
        .arg(Arg::new("command").value_name("COMMAND"))
}

pub(super) fn completions(app: &App, matches: &ArgMatches) -> Done {
    let mut text = Vec::new();
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        clap_complete::generate(*shell, &mut super::root(), "mcp", &mut text);
    }
    app.out.line(String::from_utf8_lossy(&text).trim_end())?;
    Ok(Exit::Done)
}

pub(super) fn man(app: &App, matches: &ArgMatches) -> Done {
    let mut root = super::root();
    root.build();
    let page = match matches.get_one::<String>("command") {
        Some(name) => {
            if let Some(command) = root.find_subcommand(name) {
                clap_mangen::Man::new(command.clone().display_name(format!("mcp-{name}")))
            } else {
                let message = format!("there is no command {name}");
                return Err(crate::exit::Problem::new(Exit::NotFound, message));
            }
        }
        None => clap_mangen::Man::new(root),
    };
    let mut text = Vec::new();
    page.render(&mut text)?;
    app.out.line(String::from_utf8_lossy(&text).trim_end())?;
    Ok(Exit::Done)
}
