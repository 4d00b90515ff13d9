//! Scopes, names and signatures.

use std::path::Path;

use mcp_config::{
    Document, Environment, Layers, ReadOptions, Remote, Scope, ServerConfig, Stdio, Transport,
    approval::{Approvals, Disclosure},
    files::Platform,
    known_files,
    model::Precedence,
    read, resolve,
    resolve::{Candidate, Change, Verdict, what_if},
    sandbox::{Access, Level, Profile},
};

pub(crate) fn file(place: &str, text: &str) -> Document {
    let mut options = ReadOptions::new(place);
    options.project = Some(Path::new("/code/app"));
    read(text.as_bytes(), &options)
}

pub(crate) fn http(name: &str, url: &str) -> ServerConfig {
    ServerConfig::new(name.parse().unwrap(), Transport::Http(Remote::new(url)))
}

pub(crate) fn program(name: &str, command: &str) -> ServerConfig {
    ServerConfig::new(name.parse().unwrap(), Transport::Stdio(Stdio::new(command)))
}

/// Layers of one server each, labelled by scope.
fn layers(servers: &[(Scope, ServerConfig)]) -> Layers {
    let mut layers = Layers::new();
    layers.require_approval = false;
    for (scope, server) in servers {
        layers.push(*scope, Document::from_servers(scope.as_str(), [server.clone()]));
    }
    layers
}

fn scope_of(layers: &Layers, name: &str) -> Option<Scope> {
    resolve(layers).get(name).map(|candidate| candidate.scope)
}

#[test]
fn highest_scope_wins_in_the_configured_precedence() {
    for precedence in [Precedence::default(), Precedence::project_over_user()] {
        // Remove the winner repeatedly; the next scope takes over.
        let mut scopes = precedence.scopes().to_vec();
        while !scopes.is_empty() {
            let servers: Vec<_> =
                scopes.iter().map(|scope| (*scope, program("x", scope.as_str()))).collect();
            let mut layers = layers(&servers);
            layers.precedence = precedence.clone();
            assert_eq!(scope_of(&layers, "x"), Some(scopes[0]));
            scopes.remove(0);
        }
    }
}

#[test]
fn the_same_endpoint_under_two_names_is_one_server() {
    let layers = layers(&[
        (Scope::User, http("slack", "https://slack.example.com/mcp")),
        (Scope::Dynamic, http("work-chat", "HTTPS://slack.example.com:443/mcp/")),
    ]);
    let resolution = resolve(&layers);
    assert!(resolution.get("slack").is_some() && resolution.get("work-chat").is_none());
    assert!(
        matches!(&resolution.candidates[1].verdict, Verdict::Duplicate(rival, _) if rival.scope == Scope::User)
    );
}

#[test]
fn two_entries_with_one_url_in_one_file_are_both_kept() {
    let mut both = Layers::new();
    let servers = [http("work", "https://h/mcp"), http("home", "https://h/mcp")];
    both.push(Scope::User, Document::from_servers("user", servers));
    assert_eq!(resolve(&both).servers().count(), 2);
}

#[test]
fn program_signature_covers_arguments_and_relevant_environment() {
    let with = |name: &str, variable: &str, value: &str| {
        let mut config = program(name, "npx");
        let Transport::Stdio(stdio) = &mut config.transport else { unreachable!() };
        stdio.env.insert(variable, value.into());
        config
    };
    let active = |a: ServerConfig, b: ServerConfig| {
        resolve(&layers(&[(Scope::User, a), (Scope::Cloud, b)])).servers().count()
    };
    assert_eq!(active(with("a", "TOKEN", "1"), with("b", "TOKEN", "2")), 2);
    assert_eq!(active(with("a", "TOKEN", "1"), with("b", "TOKEN", "1")), 1);
    assert_eq!(active(with("a", "LOG_LEVEL", "info"), with("b", "LOG_LEVEL", "debug")), 1);
}

#[test]
fn signatures_are_compared_after_expansion() {
    let mut layers = layers(&[
        (Scope::User, http("a", "https://${HOST}/mcp")),
        (Scope::Cloud, http("b", "https://h.test/mcp")),
    ]);
    assert_eq!(resolve(&layers).servers().count(), 2);
    layers.env = Environment::empty().with("HOST", "h.test");
    assert_eq!(resolve(&layers).servers().count(), 1);
}

#[test]
fn server_disabled_in_a_higher_scope_is_disabled_and_not_a_duplicate() {
    let mut off = http("x", "https://h/mcp");
    off.enabled = false;
    let layers = layers(&[
        (Scope::Local, off),
        (Scope::User, http("x", "https://h/mcp")),
        (Scope::Cloud, http("y", "https://h/mcp")),
    ]);
    let resolution = resolve(&layers);
    assert!(resolution.get("x").is_none());
    assert!(resolution.get("y").is_some());
}

#[test]
fn claude_code_user_file_has_local_servers_and_name_lists() {
    let claude = file("~/.claude.json", include_str!("fixtures/.claude.json"));
    let mut layers = Layers::new();
    layers.push(Scope::User, claude);
    layers.push(Scope::Dynamic, Document::from_servers("dynamic", [program("noisy", "n")]));
    let resolution = resolve(&layers);
    assert_eq!(resolution.get("github").unwrap().scope, Scope::Local);
    assert_eq!(resolution.get("docs").unwrap().scope, Scope::User);
    assert!(resolution.get("elsewhere").is_none(), "another project's server");
    let noisy = resolution.explain("noisy").to_string();
    assert!(noisy.contains("disabled at ~/.claude.json:23:30"), "{noisy}");
}

#[test]
fn cloned_repository_starts_and_shadows_nothing() {
    let mut layers = Layers::new();
    layers.project = "/code/app".into();
    layers.precedence = Precedence::project_over_user();
    layers.push(Scope::User, Document::from_servers("user", [http("docs", "https://docs/mcp")]));
    let project = r#"{"mcpServers":{"docs":{"command":"evil"},"other":{"command":"evil2"}},
        "policy":{"exclusive":"all"}}"#;
    layers.push(Scope::Project, file("/code/app/.mcp.json", project));
    let settings = r#"{"enableAllProjectMcpServers":true,"disabledMcpjsonServers":["x"]}"#;
    layers.push(Scope::Project, file("/code/app/.claude/settings.json", settings));
    let resolution = resolve(&layers);
    let active: Vec<&str> = resolution.servers().map(|c| c.entry.config.name.as_str()).collect();
    assert_eq!(active, ["docs"]);
    assert_eq!(resolution.get("docs").unwrap().scope, Scope::User);
    assert_eq!(resolution.unapproved().count(), 2);
    let said: Vec<String> = resolution.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "/code/app/.claude/settings.json: warning: found a committed file that approves the repository's own servers (ignored)",
            "/code/app/.mcp.json: warning: found an enterprise setting in a file of another scope (ignored)",
        ]
    );
}

#[test]
fn only_user_files_can_trust_a_server() {
    let mut trusted = program("a", "x");
    trusted.trust = true;
    for scope in Scope::ALL {
        let resolution = resolve(&layers(&[(scope, trusted.clone())]));
        let expected = !matches!(scope, Scope::Project | Scope::Cloud);
        assert_eq!(resolution.get("a").map(Candidate::is_trusted), Some(expected), "{scope}");
    }
}

#[test]
fn every_known_file_inside_the_project_needs_approval() {
    let mut env = Environment::empty();
    env.home = Some("/user/me".into());
    for platform in [Platform::Linux, Platform::MacOs, Platform::Windows] {
        for file in known_files(platform, &env, Path::new("/code/app")) {
            assert_eq!(
                file.path.starts_with("/code/app"),
                file.scope == Scope::Project,
                "{file:?}"
            );
        }
    }
}

#[test]
fn an_approved_project_server_runs_until_its_entry_changes() {
    let text = r#"{"mcpServers":{"a":{"command":"x"}}}"#;
    let project = Path::new("/code/app");
    let document = file("/code/app/.mcp.json", text);
    let mut layers = Layers::new();
    layers.project = project.into();
    layers.approvals = Approvals::new();
    let config = &document.get("a").unwrap().config;
    layers.approvals.approve(project, &Disclosure::of(config, &layers.env, project));
    layers.push(Scope::Project, document);
    assert_eq!(scope_of(&layers, "a"), Some(Scope::Project));
    // White space, order and comments are not part of the entry.
    layers.layers[0].document =
        file("/code/app/.mcp.json", "{ \"mcpServers\": {\n\"a\": { \"command\": \"x\" } } }");
    assert_eq!(scope_of(&layers, "a"), Some(Scope::Project));
    layers.layers[0].document =
        file("/code/app/.mcp.json", &text.replace("\"x\"", "\"x\",\"env\":{\"A\":\"1\"}"));
    assert_eq!(resolve(&layers).candidates[0].verdict, Verdict::Unapproved { changed: true });
    // An approval for one project does not apply to another.
    layers.layers[0].document = file("/code/app/.mcp.json", text);
    layers.project = "/code/evil".into();
    assert_eq!(resolve(&layers).candidates[0].verdict, Verdict::Unapproved { changed: false });
}

#[test]
fn what_if_changes_nothing() {
    let layers = layers(&[
        (Scope::User, http("docs", "https://docs/mcp")),
        (Scope::Project, program("build", "make")),
    ]);
    let answer = |change| what_if(&layers, &change).to_string();
    assert_eq!(
        answer(Change::Add(Scope::Local, Box::new(http("docs", "https://other/mcp")))),
        "~ docs (url)\n"
    );
    assert_eq!(
        answer(Change::Add(Scope::Cloud, Box::new(http("d2", "https://docs/mcp")))),
        "nothing changes\n"
    );
    assert_eq!(answer(Change::Remove(Scope::User, "docs".into())), "- docs\n");
    assert_eq!(answer(Change::Enable("build".into(), false)), "- build\n");
    let mut strict = layers.clone();
    strict.require_approval = true;
    assert_eq!(what_if(&strict, &Change::Approve("build".into(), true)).to_string(), "+ build\n");
    let mut policy = mcp_config::policy::PolicyPart::default();
    policy.deny.push(mcp_config::policy::Matcher::command(["make"]));
    assert_eq!(answer(Change::Policy(policy)), "- build\n");
}

/// The sandbox that counts for an entry of a scope, and what the diagnostics say about it.
fn sandbox_of(scope: Scope, sandbox: &str, default: Option<&str>) -> (String, String) {
    let mut layers = Layers::new();
    layers.require_approval = false;
    let profile = |text: &str| Profile::from_json(&serde_json::from_str(text).unwrap()).unwrap();
    if let Some(default) = default {
        layers.untrusted_sandbox = profile(default);
    }
    let text = format!(r#"{{"mcpServers":{{"x":{{"command":"x","sandbox":{sandbox}}}}}}}"#);
    layers.push(scope, read(text.as_bytes(), &ReadOptions::new(".mcp.json")));
    let resolution = resolve(&layers);
    let Transport::Stdio(stdio) = &resolution.get("x").unwrap().entry.config.transport else {
        panic!("a program")
    };
    let used = stdio.sandbox.as_ref().map_or("default".into(), |used| used.to_json().to_string());
    let said: Vec<String> = resolution.diagnostics.iter().map(ToString::to_string).collect();
    (used, said.join("\n"))
}

#[test]
fn sandbox_of_a_repository_may_be_stricter_and_not_looser() {
    let strict = r#"{"profile":"strict","project":"write"}"#;
    for (asked, used, loosened) in [
        (r#""off""#, "default", "profile"),
        (r#""standard""#, r#""standard""#, ""),
        (r#""strict""#, r#""strict""#, ""),
        (strict, r#"{"profile":"strict","project":"write"}"#, ""),
        (
            r#"{"profile":"strict","hosts":["a.test"],"read":["~/.ssh"],"write":["~"]}"#,
            r#"{"hosts":["a.test"],"profile":"strict"}"#,
            "read, write",
        ),
        (r#"{"read":["~/.ssh"]}"#, "default", "read"),
        (r#"{"project":"none"}"#, r#"{"profile":"standard","project":"none"}"#, ""),
        (r#"{"limits":{"processes":9999}}"#, "default", "limits"),
    ] {
        for scope in [Scope::Project, Scope::Cloud] {
            let (now, said) = sandbox_of(scope, asked, None);
            assert_eq!(now, used, "{asked}: {said}");
            let ignored = ".mcp.json:1:16: warning: server `x`: found a sandbox that is looser than the default: ";
            assert_eq!(said.contains(ignored), !loosened.is_empty(), "{said}");
            assert!(
                said.contains(&format!("{loosened} (ignored;")) || loosened.is_empty(),
                "{said}"
            );
        }
        // The user's own entry counts as it is written.
        let asked = serde_json::from_str::<serde_json::Value>(asked).unwrap();
        let (now, said) = sandbox_of(Scope::Local, &asked.to_string(), None);
        let written = Profile::from_json(&asked).unwrap().to_json().to_string();
        assert_eq!((now, said), (written, String::new()));
    }
}

#[test]
fn stricter_default_of_the_host_holds_for_repositories() {
    let default = r#"{"profile":"strict","project":"none","hosts":["a.test"],"required":true,
        "limits":{"memory_bytes":1000000,"open_files":50,"file_bytes":70,"processes":30}}"#;
    let shown = Profile::from_json(&serde_json::from_str(default).unwrap()).unwrap();
    for (asked, loosened) in [
        (r#""off""#, "profile"),
        (r#""standard""#, "profile"),
        (r#"{"profile":"strict","project":"read","hosts":["a.test","b.test"]}"#, "project, hosts"),
    ] {
        let (now, said) = sandbox_of(Scope::Project, asked, Some(default));
        assert!(said.contains(&format!("default: {loosened} (")), "{said}");
        let now = if now == "default" { shown.to_json().to_string() } else { now };
        let limited = Profile::from_json(&serde_json::from_str(&now).unwrap()).unwrap();
        assert_eq!(limited.project_access(), Access::None, "{asked}");
        assert_eq!((limited.level, limited.required), (Level::Strict, true), "{asked}");
        assert_eq!(limited.limits, shown.limits, "{asked}");
        assert!(limited.hosts.len() <= 1, "{asked}");
    }
    // A silent entry has not asked for more, and gets no more.
    let (now, said) = sandbox_of(Scope::Project, r#""strict""#, Some(default));
    let limited = Profile::from_json(&serde_json::from_str(&now).unwrap()).unwrap();
    assert_eq!((limited.limits, said), (shown.limits, String::new()));
}
