//! Targets for configuration files in every dialect, their edits, and variables.

use mcp_config::{
    Dialect, Environment, Layers, ReadOptions, Remote, Scope, ServerConfig, Stdio, Template,
    Transport,
    edit::{Edit, edit_text},
    expand,
    expand::{AskInput, NoInputs},
    read, resolve,
};

/// The value of variables and inputs, which must not be shown.
const CANARY: &str = "C4nary";

/// Any bytes in any dialect: every finding has a position, and resolved entries can be explained.
pub(crate) fn read_any(data: &[u8]) {
    let Some((pick, bytes)) = data.split_first() else { return };
    let dialects = Dialect::ALL;
    let mut options = ReadOptions::new(["x.json", "x.toml", "x.yaml"][usize::from(*pick) % 3]);
    // One in this many uses detection of the dialect.
    options.dialect = dialects.get(usize::from(*pick) % (dialects.len() + 1)).copied();
    options.project = Some("/code/app".as_ref());
    let document = read(bytes, &options);
    for diagnostic in &document.diagnostics {
        assert!(diagnostic.place.position.is_some() && !diagnostic.found.is_empty());
    }
    let mut layers = Layers::new();
    layers.push(Scope::User, document.clone());
    layers.push(Scope::Project, document);
    let resolution = resolve(&layers);
    for candidate in &resolution.candidates {
        let config = &candidate.entry.config;
        assert!(!resolution.explain(config.name.as_str()).to_string().is_empty());
        hides_values(config);
    }
}

/// Any text in any dialect: a successful edit has its effect and does not change other entries.
pub(crate) fn edit_any(data: &[u8]) {
    let Some((pick, bytes)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let dialects = Dialect::ALL;
    let mut options = ReadOptions::new("x");
    options.dialect = Some(dialects[usize::from(*pick) % dialects.len()]);
    options.project = Some("/code/app".as_ref());
    let before = read(text.as_bytes(), &options);
    let name: mcp_config::ServerName = "added".parse().expect("a name");
    let added = ServerConfig::new(name, Transport::Stdio(Stdio::new("program")));
    let Ok(with) = edit_text(text, &options, &Edit::Put(Box::new(added.clone()))) else { return };
    let after = read(with.as_bytes(), &options);
    // Unknown fields of an existing entry stay; the program is the new one.
    let found = after.get("added").expect("the added entry exists");
    assert_eq!(found.config.transport.kind(), "stdio");
    for entry in before.entries.iter().filter(|entry| entry.config.name.as_str() != "added") {
        let kept = after.entries.iter().any(|other| other.config == entry.config);
        assert!(kept, "{} was lost", entry.config.name);
    }
    let Ok(without) = edit_text(&with, &options, &Edit::Remove("added".into())) else { return };
    assert!(read(without.as_bytes(), &options).get("added").is_none());
}

/// Any text with variables: it is formatted as it was written, its value is stable and contains the values of the
/// variables, and only [`Template::expose`] shows it.
pub(crate) fn expand_any(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let template = Template::parse(text);
    let again = Template::parse(template.unexpanded());
    assert_eq!(again, template);
    assert_eq!(again.unexpanded(), template.unexpanded());
    let name: mcp_config::ServerName = "x".parse().expect("a name");
    let mut remote = Remote::new(text);
    remote.headers.insert("Authorization", text.into());
    hides_values(&ServerConfig::new(name.clone(), Transport::Http(remote)));
    let mut stdio = Stdio::new(text);
    stdio.args.push(template);
    stdio.env.insert("A", text.into());
    hides_values(&ServerConfig::new(name, Transport::Stdio(stdio)));
}

struct Answers;

impl AskInput for Answers {
    fn input(&self, _id: &str) -> Option<String> {
        Some(format!("{CANARY}\u{7}"))
    }
}

fn hides_values(config: &ServerConfig) {
    let _ = expand(config, &Environment::empty(), &NoInputs).map_err(|error| error.to_string());
    let shown = format!("{config:?}");
    if shown.contains(CANARY) {
        return;
    }
    let mut env = Environment::empty().in_workspace("/code/app".as_ref());
    for name in ["A", "B", "HOME", "TOKEN", "HOST"] {
        // Values are not expanded again.
        env = env.with(name, &format!("{CANARY}${{{name}}}"));
    }
    match expand(config, &env, &Answers) {
        Ok(expanded) => {
            assert!(!format!("{expanded:?}").contains(CANARY), "a value is shown");
            assert_eq!(expand(config, &env, &Answers).ok().as_ref(), Some(&expanded));
            let twice = expand(&expanded, &env, &Answers).expect("there is nothing left to expand");
            assert_eq!(twice, expanded);
        }
        Err(error) => assert!(!format!("{error} {error:?}").contains(CANARY), "{error}"),
    }
}
