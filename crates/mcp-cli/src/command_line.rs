//! Rewrites the command line before clap parses it, so that URLs and `--key value` tool arguments are accepted.

use std::{collections::BTreeSet, ffi::OsString};

use clap::Command;

use crate::host::adhoc;

/// Commands that take a server first, and therefore accept a URL there.
const TAKES_SERVER: &[&str] = &[
    "call",
    "connect",
    "explain",
    "get",
    "logs",
    "ping",
    "prompt",
    "prompts",
    "read",
    "record",
    "resources",
    "subscribe",
    "tools",
    "types",
    "validate",
    "watch",
];
/// Commands that require a server. `--server` alone satisfies them.
const REQUIRES_SERVER: &[&str] =
    &["connect", "explain", "get", "logs", "ping", "record", "subscribe", "types"];
/// Commands with further arguments after the server. With `--server`, these may be the only ones.
const MORE_AFTER_SERVER: &[&str] = &["record", "subscribe"];

/// Rewrites the arguments: a URL in place of a server name becomes `--server URL`, and unknown options of
/// `mcp call` become arguments of the tool.
pub(crate) fn rewrite(root: &Command, words: Vec<OsString>) -> Vec<OsString> {
    // An argument that is not Unicode is a file name, which is never rewritten.
    let text: Option<Vec<String>> = words.iter().map(|w| w.to_str().map(str::to_owned)).collect();
    let Some(mut text) = text else { return words };
    let first = positions(root, &text, 1);
    let Some(mut at) = first.first().copied() else { return words };
    // `mcp generate types SERVER`
    if text[at] == "generate"
        && let Some(kind) = first.get(1)
    {
        at = *kind;
    }
    let command = text[at].clone();
    // Options before the tool name belong to `mcp`.
    if command == "call"
        && let Some(tool) = positions(root, &text, at + 1).first()
    {
        options_to_arguments(root, &mut text, tool + 1);
    }
    if TAKES_SERVER.contains(&command.as_str()) {
        let rest = positions(root, &text, at + 1);
        let first = rest.first().copied();
        // The URI of a resource may be a URL too; the server is then the argument before it.
        let is_server = command != "read" || rest.len() > 1;
        let address = first.map(|first| text[first].clone()).filter(|word| adhoc::is_address(word));
        if let (Some(first), Some(address), true) = (first, address, is_server) {
            if let Some(name) = adhoc::name(&address) {
                text[first] = name;
                text.insert(at + 1, "--server".to_owned());
                text.insert(at + 2, address);
            }
        } else if REQUIRES_SERVER.contains(&command.as_str())
            && let Some(name) = given_server(&text).and_then(|spec| adhoc::name(&spec))
        {
            let is_named = |word: &str| word.split('/').next() == Some(&name);
            // `mcp record -- COMMAND` has no server.
            let end = text.iter().position(|word| word == "--").filter(|_| command == "record");
            match first {
                None if end.is_none() => text.push(name),
                Some(first)
                    if MORE_AFTER_SERVER.contains(&command.as_str()) && !is_named(&text[first]) =>
                {
                    text.insert(first, name);
                }
                _ => {}
            }
        }
    }
    text.into_iter().map(OsString::from).collect()
}

fn given_server(words: &[String]) -> Option<String> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--server") {
            Some("") => return words.next().cloned(),
            Some(rest) if rest.starts_with('=') => return Some(rest[1..].to_owned()),
            _ => {}
        }
    }
    None
}

/// Returns the names of options that take a value, of the root command and of `command`.
fn with_values(root: &Command, command: Option<&str>) -> BTreeSet<String> {
    let nested = |name| root.get_subcommands().find_map(|one| one.find_subcommand(name));
    let own = command.and_then(|name| root.find_subcommand(name).or_else(|| nested(name)));
    let all = root.get_arguments().chain(own.into_iter().flat_map(Command::get_arguments));
    let mut names = BTreeSet::new();
    for arg in all.filter(|arg| arg.get_action().takes_values()) {
        names.extend(arg.get_long().map(|long| format!("--{long}")));
        names.extend(arg.get_short().map(|short| format!("-{short}")));
    }
    names
}

/// Returns the indexes of positional arguments from `from` up to `--`.
fn positions(root: &Command, words: &[String], from: usize) -> Vec<usize> {
    let command = words.get(from.wrapping_sub(1)).map(String::as_str).filter(|_| from > 1);
    let takes = with_values(root, command);
    let mut found = Vec::new();
    let mut at = from;
    while let Some(word) = words.get(at).filter(|word| *word != "--") {
        if takes.contains(word) {
            at += 1;
        } else if !word.starts_with('-') || word == "-" {
            found.push(at);
        }
        at += 1;
    }
    found
}

/// Turns unknown options into tool arguments: `--key value` and `--key=value` into `key=value`, and `--key` into
/// `key=true`. A `key=value` after `--key` is an argument of its own.
fn options_to_arguments(root: &Command, words: &mut Vec<String>, from: usize) {
    let own = root.find_subcommand("call");
    let all = root.get_arguments().chain(own.into_iter().flat_map(Command::get_arguments));
    let mut known: BTreeSet<&str> = all.filter_map(clap::Arg::get_long).collect();
    known.extend(["help", "version"]);
    let takes = with_values(root, Some("call"));
    let mut at = from;
    while at < words.len() && words[at] != "--" {
        if takes.contains(&words[at]) {
            at += 2;
            continue;
        }
        let option = words[at].strip_prefix("--").map(str::to_owned);
        if let Some(option) = option.filter(|option| !option.is_empty()) {
            let name = option.split('=').next().unwrap_or_default();
            if !known.contains(name) {
                let next = words.get(at + 1).filter(|word| is_value(word)).cloned();
                let is_pair = option.contains('=');
                words[at] = match &next {
                    _ if is_pair => option,
                    Some(value) => format!("{option}={value}"),
                    None => format!("{option}=true"),
                };
                if !is_pair && next.is_some() {
                    words.remove(at + 1);
                }
            }
        }
        at += 1;
    }
}

/// Whether the word after an option is its value, and neither an option nor a `key=value` argument.
fn is_value(word: &str) -> bool {
    let is_name = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c))
    };
    let is_pair = word.split_once('=').is_some_and(|(key, _)| is_name(key));
    !word.starts_with("--") && !is_pair
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let words = rewrite(&crate::commands::root(), words);
        words.into_iter().map(|w| w.into_string().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn unknown_options_of_a_call_are_arguments() {
        for (line, expected) in [
            ("mcp call t/x --a 2 --b=3 --yes", "mcp call t/x a=2 b=3 --yes"),
            ("mcp --json call t/x --flag --a -1", "mcp --json call t/x flag=true a=-1"),
            ("mcp call t/x --flag a=1", "mcp call t/x flag=true a=1"),
            ("mcp call t/x --flag a:=[1]", "mcp call t/x flag=true a:=[1]"),
            ("mcp call t/x --where=a=1 --sum 1+1=2", "mcp call t/x where=a=1 sum=1+1=2"),
            ("mcp call t/x --timeout 5 a=1", "mcp call t/x --timeout 5 a=1"),
            ("mcp call t/x -o out.png --args {}", "mcp call t/x -o out.png --args {}"),
            ("mcp call --frobnicate", "mcp call --frobnicate"),
            ("mcp tools --a 2", "mcp tools --a 2"),
        ] {
            assert_eq!(rewritten(line), expected);
        }
    }

    #[test]
    fn url_in_place_of_a_server_becomes_the_server_option() {
        for (line, expected) in [
            (
                "mcp tools https://a.example/mcp",
                "mcp tools --server https://a.example/mcp a-example",
            ),
            (
                "mcp --config c.json call https://a.example/mcp t x=1",
                "mcp --config c.json call --server https://a.example/mcp a-example t x=1",
            ),
            ("mcp read https://a.example/page", "mcp read https://a.example/page"),
            ("mcp call t/x url=https://a.example", "mcp call t/x url=https://a.example"),
            ("mcp logs --server uvx", "mcp logs --server uvx uvx"),
            ("mcp add x https://a.example", "mcp add x https://a.example"),
            (
                "mcp generate types --format json-schema https://a.example",
                "mcp generate types --server https://a.example --format json-schema a-example",
            ),
            ("mcp generate types --server uvx", "mcp generate types --server uvx uvx"),
            ("mcp watch https://a.example", "mcp watch --server https://a.example a-example"),
            ("mcp watch --server uvx", "mcp watch --server uvx"),
            ("mcp subscribe --server uvx a:b c:d", "mcp subscribe --server uvx uvx a:b c:d"),
            ("mcp subscribe --server uvx uvx a:b", "mcp subscribe --server uvx uvx a:b"),
            ("mcp record --server uvx -o f", "mcp record --server uvx -o f uvx"),
            ("mcp record --server uvx -o f now z=1", "mcp record --server uvx -o f uvx now z=1"),
            ("mcp record --server uvx -o f uvx/now", "mcp record --server uvx -o f uvx/now"),
            (
                "mcp record --server uvx -o f -- mcp tools",
                "mcp record --server uvx -o f -- mcp tools",
            ),
        ] {
            assert_eq!(rewritten(line), expected);
        }
    }
}
