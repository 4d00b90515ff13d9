//! Ad hoc servers: a URL or command line given with `--server` instead of a configured name.

use serde_json::{Value, json};

/// Returns the name and entry of the server that `spec` describes. `None` if it is empty, or a quotation mark is not
/// closed.
pub(crate) fn entry(spec: &str) -> Option<(String, Value)> {
    if is_address(spec) {
        let kind = if spec.starts_with("ws") { "ws" } else { "http" };
        return Some((name(spec)?, json!({"type": kind, "url": spec})));
    }
    let words = split(spec)?;
    let (program, rest) = words.split_first()?;
    Some((name(spec)?, json!({"command": program, "args": rest})))
}

/// Whether `text` is the URL of a server.
pub(crate) fn is_address(text: &str) -> bool {
    ["http://", "https://", "ws://", "wss://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Derives a short name from the host, package or program.
pub(crate) fn name(spec: &str) -> Option<String> {
    let word = if let Some((_, rest)) = spec.split_once("://").filter(|_| is_address(spec)) {
        rest.split(['/', '?', '#']).next().unwrap_or(rest).to_owned()
    } else {
        let words = split(spec)?;
        let is_runner =
            |word: &str| ["npx", "uvx", "uv", "node", "python", "python3", "bunx"].contains(&word);
        let mut meant = words.iter().filter(|word| !word.starts_with('-'));
        let first = meant.next()?;
        let word = if is_runner(first) { meant.next().unwrap_or(first) } else { first };
        let word = word.trim_end_matches('/').rsplit('/').next().unwrap_or(word);
        // Without the version of a package or the extension of a script.
        word.split(['@', '.']).next().filter(|name| !name.is_empty()).unwrap_or(word).to_owned()
    };
    let clean: String = word
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' })
        .take(40)
        .collect();
    Some(clean.trim_matches('-').to_owned()).filter(|name| !name.is_empty())
}

/// Splits a command line like a shell: at blanks, with quotation marks and backslashes, without expansion.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => word.push(chars.next()?),
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_derived_from_host_package_or_program() {
        for (spec, expected) in [
            ("https://mcp.example.com:8080/mcp?x=1", "mcp-example-com-8080"),
            ("npx -y @modelcontextprotocol/server-everything@1.2 stdio", "server-everything"),
            ("uvx mcp-server-time --local-timezone UTC", "mcp-server-time"),
            ("/opt/bin/server.sh --x", "server"),
        ] {
            assert_eq!(name(spec).as_deref(), Some(expected), "{spec}");
        }
    }

    #[test]
    fn command_lines_are_split_like_in_a_shell() {
        let words = split(r#"a 'b c' "d \" e" f\ g ''"#).unwrap();
        assert_eq!(words, ["a", "b c", "d \" e", "f g", ""]);
        assert_eq!((split("a 'b"), split("  ")), (None, None));
    }
}
