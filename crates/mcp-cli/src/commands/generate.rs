//! `mcp completions` and `mcp man`, generated from the clap definitions.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::{
    exit::{Done, Exit},
    host::{app::App, tools},
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
        text.extend(names(*shell).unwrap_or_default().as_bytes());
    }
    app.out.line(String::from_utf8_lossy(&text).trim_end())?;
    Ok(Exit::Done)
}

/// Returns shell code that completes names of servers, tools and prompts with `mcp names`, for `mcp` and `mcph`. It
/// runs the program that is being completed where the shell can: another `mcp` may come first on PATH.
fn names(shell: Shell) -> Option<&'static str> {
    Some(match shell {
        Shell::Bash => {
            r#"
_mcp_names() {
    _mcp "$@"
    local cur="${COMP_WORDS[COMP_CWORD]}"
    case "$cur" in -*) return ;; esac
    local names
    names="$("${COMP_WORDS[0]}" names -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)"
    if [ -n "$names" ]; then COMPREPLY+=( $(compgen -W "$names" -- "$cur") ); fi
}
complete -F _mcp_names -o bashdefault -o default mcp mcph
"#
        }
        Shell::Zsh => {
            r#"
_mcp_names() {
    _mcp "$@"
    local -a names
    names=(${(f)"$(${words[1]} names -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)"})
    (( ${#names} )) && compadd -a names
}
compdef _mcp_names mcp mcph
"#
        }
        Shell::Fish => {
            r#"
complete -c mcp -f -n 'test -n "$(mcp names -- (commandline -opc)[2..] 2>/dev/null)"' -a '(mcp names -- (commandline -opc)[2..] 2>/dev/null)'
complete -c mcph -w mcp
"#
        }
        _ => return None,
    })
}

pub(super) fn names_command() -> Command {
    Command::new("names")
        .about("Print completions of a command line")
        .hide(true)
        .arg(Arg::new("words").last(true).num_args(0..))
}

/// Prints the matching names, one per line, without starting servers.
pub(super) fn print_names(app: &App, matches: &ArgMatches) -> Done {
    let words = super::texts(matches, "words");
    let words: Vec<&str> =
        words.iter().map(String::as_str).filter(|w| !w.starts_with('-')).collect();
    for name in fitting(app, &words) {
        app.out.line(name)?;
    }
    Ok(Exit::Done)
}

fn fitting(app: &App, words: &[&str]) -> Vec<String> {
    let Some((command, rest)) = words.split_first() else { return Vec::new() };
    let servers = || app.config.resolution.servers().map(|s| s.entry.config.name.to_string());
    match (*command, rest) {
        ("call" | "tools", []) => {
            let bridge = app.quiet_bridge();
            let tools = tools::all(&bridge);
            let tools = tools.iter().map(|tool| tools::short(tool.spec()));
            let servers = servers().filter(|_| *command == "tools");
            servers.chain(tools).collect()
        }
        ("call", [tool, given @ ..]) => {
            let bridge = app.quiet_bridge();
            let all = tools::all(&bridge);
            let Some(tool) = all.iter().find(|one| tools::short(one.spec()) == *tool) else {
                return Vec::new();
            };
            let schema: serde_json::Value =
                serde_json::from_str(tool.spec().input_schema.as_str()).unwrap_or_default();
            let names =
                schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
            let is_given =
                |name: &str| given.iter().any(|word| word.split('=').next() == Some(name));
            names.filter(|name| !is_given(name)).map(|name| format!("{name}=")).collect()
        }
        ("prompt", []) => {
            let commands = app.quiet_bridge().commands();
            commands.iter().map(|one| format!("{}/{}", one.server, one.prompt)).collect()
        }
        ("prompt", [prompt, ..]) => {
            let commands = app.quiet_bridge().commands();
            let it =
                commands.iter().find(|one| format!("{}/{}", one.server, one.prompt) == *prompt);
            it.into_iter().flat_map(|one| &one.arguments).map(|a| format!("{}=", a.name)).collect()
        }
        (
            "connect" | "disable" | "disconnect" | "enable" | "explain" | "get" | "login"
            | "logout" | "logs" | "ping" | "prompts" | "read" | "record" | "remove" | "resources"
            | "rm" | "subscribe" | "trust" | "validate",
            [],
        )
        | ("generate", ["types"])
        | ("watch", _) => servers().collect(),
        _ => Vec::new(),
    }
}

pub(super) fn man(app: &App, matches: &ArgMatches) -> Done {
    let mut root = super::root();
    root.build();
    let page = match matches.get_one::<String>("command") {
        Some(name) => {
            if let Some(command) = root.find_subcommand(name) {
                clap_mangen::Man::new(command.clone().display_name(format!("mcp-{name}")))
            } else {
                let message = format!("command not found: {name}");
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
