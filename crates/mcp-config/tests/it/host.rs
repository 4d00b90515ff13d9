//! Host settings, flat files, and ordered lists of files.

use std::{fs, time::Duration};

use mcp_config::{
    Dialect, Layers, ReadOptions, Scope, Transport,
    diagnostic::Severity,
    files::load_hierarchical,
    model::{AuthKind, HostSettings, RuleAction},
    read, resolve,
};
use mcp_sandbox::Level;

use crate::resolution::file;

const FULL: &str = r#"{"mcpServers":{"x":{"command":"x"}},
    "tool_search":{"enabled":true,"threshold":7,"max_matches":4},"summaryDescriptionLimit":90,
    "alwaysLoadTools":["mcp_x_*"],"retry":{"attempts":5,"initialDelayMs":50,"maxDelayMs":900},
    "trustRules":[{"permission":"mcp:x:*","pattern":"*","action":"allow"},
        {"permission":"mcp:*:shell_*","action":"ask"},{"permission":"mcp:y:*","action":"deny"}]}"#;

fn host(layers: &[(Scope, &str, &str)]) -> (HostSettings, Vec<String>) {
    let mut all = Layers::new();
    for (scope, place, text) in layers {
        all.push(*scope, file(place, text));
    }
    let resolution = resolve(&all);
    let said = resolution.diagnostics.iter().map(ToString::to_string).collect();
    (resolution.host, said)
}

#[test]
fn host_settings_are_read_from_our_files_attocodes_and_the_connector_guides() {
    let own = host(&[(Scope::User, "mcp.json", FULL)]).0;
    assert_eq!(own.tool_search, Some(true));
    assert_eq!((own.search_threshold, own.max_matches), (Some(7), Some(4)));
    assert_eq!(own.summary_limit, Some(90));
    assert_eq!(own.always_load, ["mcp_x_*"]);
    assert_eq!(own.retry.attempts, Some(5));
    assert_eq!(own.retry.initial_delay, Some(Duration::from_millis(50)));
    assert_eq!(own.retry.max_delay, Some(Duration::from_millis(900)));
    let actions: Vec<RuleAction> = own.rules.iter().flatten().map(|rule| rule.action).collect();
    assert_eq!(actions, [RuleAction::Allow, RuleAction::Ask, RuleAction::Deny]);
    assert_eq!(own.rules[0][1].pattern, "*");
    let attocode = r#"{"servers":{"x":{"command":"x"}},"lazyLoading":true,"summaryDescriptionLimit":100,
        "maxToolsPerSearch":5,"alwaysLoadTools":["mcp_playwright_browser_snapshot"]}"#;
    assert_eq!(file("/code/app/.mcp.json", attocode).dialect, Some(Dialect::Attocode));
    let attocode = host(&[(Scope::User, "/code/app/.mcp.json", attocode)]).0;
    assert_eq!((attocode.search_threshold, attocode.max_matches), (Some(0), Some(5)));
    assert_eq!(attocode.always_load, ["mcp_playwright_browser_snapshot"]);
    let never = host(&[(Scope::User, "mcp.json", r#"{"mcpServers":{},"lazyLoading":false}"#)]).0;
    assert_eq!(never.tool_search, Some(false));
    for (place, text) in [
        (
            "agent.json",
            r#"{"mcp":{"x":{"type":"local","command":["x"]}},"tool_search":{"max_matches":3}}"#,
        ),
        ("agent.json", r#"{"tool_search":{"max_matches":3}}"#),
        (".mcp.json", r#"{"x":{"command":"x"},"tool_search":{"max_matches":3}}"#),
    ] {
        let (settings, said) = host(&[(Scope::User, place, text)]);
        assert_eq!((settings.max_matches, said), (Some(3), vec![]), "{text}");
    }
}

#[test]
fn invalid_host_setting_is_reported_and_skipped() {
    for (text, said) in [
        (r#""tool_search":true"#, "found a boolean for `tool_search`, expected an object"),
        (r#""tool_search":{"threshold":-1}"#, "expected a whole number, zero or more"),
        (
            r#""tool_search":{"max_matches":0}"#,
            "found zero for `max_matches`, expected a whole number, one or more",
        ),
        (r#""tool_search":{"treshold":1}"#, "did you mean `threshold`?"),
        (r#""lazyLoading":"yes""#, "found a string for `lazyLoading`, expected true or false"),
        (r#""summaryDescriptionLimit":"x""#, "expected a whole number"),
        (r#""maxToolsPerSearch":0"#, "found zero"),
        (r#""alwaysLoadTools":"x""#, "expected an array of strings"),
        (r#""retry":{"attempts":0}"#, "found zero"),
        (r#""retry":{"initialDelayMs":"x"}"#, "expected a number of milliseconds"),
        (r#""sandboxMinimum":"lax""#, "expected `off`, `standard` or `strict`"),
        (r#""trustRules":{}"#, "expected an array of rules"),
        (
            r#""trustRules":[{"permission":"mcp:*"}]"#,
            "expected an object with `permission` and `action`",
        ),
        (
            r#""trustRules":[{"permission":"mcp:*","action":"maybe"}]"#,
            "expected `allow`, `ask` or `deny`",
        ),
    ] {
        let text = format!(r#"{{"mcpServers":{{"x":{{"command":"x"}}}},"max":1,{text}}}"#);
        let (settings, found) = host(&[(Scope::User, "mcp.json", &text)]);
        assert!(found.iter().any(|found| found.contains(said)), "{text}: {found:?}");
        assert_eq!(settings, HostSettings::default(), "{text}");
        assert!(file("mcp.json", &text).get("x").is_some());
    }
    // Unreadable restrictions of a managed file: they might deny.
    for broken in [
        r#"{"mcpServers":{},"trustRules":[{"permission":"mcp:*"}]}"#,
        r#"{"mcpServers":{},"sandboxMinimum":"strickt"}"#,
    ] {
        let mut layers = Layers::new();
        layers.push(Scope::Enterprise, file("/etc/mcp.json", broken));
        assert!(resolve(&layers).policy.broken, "{broken}");
    }
}

#[test]
fn strictest_sandbox_minimum_of_all_files_counts() {
    let minimum = |level: &str| format!(r#"{{"mcpServers":{{}},"sandboxMinimum":"{level}"}}"#);
    let (off, standard, strict) = (minimum("off"), minimum("standard"), minimum("strict"));
    for (enterprise, user, project, expected) in [
        (&standard, &off, &off, Level::Standard),
        (&off, &off, &standard, Level::Standard),
        (&standard, &strict, &off, Level::Strict),
        (&off, &off, &off, Level::Off),
    ] {
        let (settings, said) = host(&[
            (Scope::Enterprise, "/etc/mcp.json", enterprise),
            (Scope::User, "mcp.json", user),
            (Scope::Project, ".mcp.json", project),
        ]);
        assert_eq!(settings.sandbox_minimum, Some(expected));
        assert_eq!(said, Vec::<String>::new());
    }
    assert_eq!(host(&[]).0.sandbox_minimum, None);
}

#[test]
fn entry_with_an_invalid_sandbox_is_dropped_with_its_place() {
    for (text, said) in [
        (r#""strickt""#, "the profiles are `off`, `standard` and `strict`"),
        (r#"{"profile":"strict","reads":["/a"]}"#, "`reads` of the sandbox profile"),
        (r#"{"profile":"off","read":["/a"]}"#, "takes no settings"),
        ("true", "must be an object"),
    ] {
        let text = format!(r#"{{"mcpServers":{{"x":{{"command":"x","sandbox":{text}}}}}}}"#);
        let document = file("mcp.json", &text);
        assert!(document.get("x").is_none(), "{text}");
        let found = document.diagnostics.iter().map(ToString::to_string).collect::<String>();
        assert!(found.contains(said) && found.starts_with("mcp.json:1:45"), "{found}");
    }
}

#[test]
fn a_higher_scope_wins_setting_by_setting() {
    let enterprise = r#"{"mcpServers":{},"tool_search":{"max_matches":2},
        "trustRules":[{"permission":"mcp:z:*","action":"deny"}]}"#;
    let (settings, said) =
        host(&[(Scope::User, "mcp.json", FULL), (Scope::Enterprise, "/etc/mcp.json", enterprise)]);
    assert_eq!((settings.max_matches, settings.search_threshold), (Some(2), Some(7)));
    let order: Vec<&str> = settings.rules.iter().map(|list| list[0].permission.as_str()).collect();
    assert_eq!(order, ["mcp:z:*", "mcp:x:*"]);
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn a_repository_may_tighten_and_never_loosen() {
    let loose = r#"{"mcpServers":{},"tool_search":{"enabled":false,"threshold":500,"max_matches":50},
        "summaryDescriptionLimit":2000,"alwaysLoadTools":["*"],"retry":{"attempts":100,"initialDelayMs":0},
        "trustRules":[{"permission":"mcp:*","action":"allow"}]}"#;
    let strict = r#"{"mcpServers":{},"tool_search":{"enabled":true,"threshold":3,"max_matches":1},
        "summaryDescriptionLimit":20,"retry":{"attempts":1},
        "trustRules":[{"permission":"mcp:a:*","action":"allow"},{"permission":"mcp:b:*","action":"ask"},
            {"permission":"mcp:c:*","action":"deny"}]}"#;
    for scope in [Scope::Project, Scope::Cloud] {
        let (settings, said) = host(&[(scope, ".mcp.json", loose)]);
        assert_eq!(settings, HostSettings::default());
        let all = "tool_search.enabled, tool_search.threshold, tool_search.max_matches, \
            summaryDescriptionLimit, alwaysLoadTools, retry, trustRules that allow";
        assert!(said[0].contains(all), "{said:?}");
        let (same, _) = host(&[(Scope::User, "mcp.json", FULL), (scope, ".mcp.json", loose)]);
        assert_eq!(same, host(&[(Scope::User, "mcp.json", FULL)]).0);
        let (settings, said) =
            host(&[(Scope::User, "mcp.json", FULL), (scope, ".mcp.json", strict)]);
        assert_eq!((settings.search_threshold, settings.max_matches), (Some(3), Some(1)));
        assert_eq!((settings.summary_limit, settings.retry.attempts), (Some(20), Some(1)));
        let last: Vec<&str> =
            settings.rules.last().unwrap().iter().map(|rule| rule.permission.as_str()).collect();
        assert_eq!((settings.rules.len(), last), (2, vec!["mcp:b:*", "mcp:c:*"]));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].ends_with("loosen the user's: trustRules that allow (ignored)"),
            "{said:?}"
        );
        let (alone, _) = host(&[(scope, ".mcp.json", strict)]);
        assert_eq!((alone.tool_search, alone.search_threshold), (Some(true), Some(3)));
    }
}

#[test]
fn connector_guide_accepts_opencode_fields() {
    let text = r#"{"mcp":{
        "a":{"type":"remote","url":"https://${HOST}/","headers":{"A":"{env:TOKEN}"},
            "oauth":{"client_id":"${ID}","scopes":["s"],"callback_port":8123},"timeout":2000},
        "b":{"type":"local","command":["x","${ARG}"],"environment":{"K":"v"},"cwd":"/tmp","timeout_ms":30000},
        "c":{"type":"remote","url":"https://h/","oauth":{"clientId":"i","scope":"a b","callbackPort":1}},
        "d":{"type":"remote","url":"https://h/d","oauth":false}}}"#;
    for text in [text.to_owned(), text.replace(r#","timeout_ms":30000"#, "")] {
        let document = read(text.as_bytes(), &ReadOptions::new("/code/app/agent.json"));
        assert_eq!(document.dialect, Some(Dialect::Connector));
        assert_eq!(document.diagnostics, []);
        let config = |name: &str| &document.get(name).unwrap().config;
        let a = config("a").transport.remote().unwrap();
        assert_eq!(a.url.variables().collect::<Vec<_>>(), ["HOST"]);
        assert_eq!(
            a.headers.get("A").unwrap().template().variables().collect::<Vec<_>>(),
            ["TOKEN"]
        );
        let oauth = a.oauth.as_ref().unwrap();
        assert_eq!(oauth.client_id.as_ref().unwrap().variables().collect::<Vec<_>>(), ["ID"]);
        assert_eq!(
            (oauth.scopes.as_slice(), oauth.callback_port),
            (&["s".to_owned()][..], Some(8123))
        );
        assert_eq!(config("a").timeouts.call, Some(Duration::from_secs(2)));
        let Transport::Stdio(b) = &config("b").transport else { panic!("a program") };
        assert_eq!(b.args[0].variables().collect::<Vec<_>>(), ["ARG"]);
        assert!(b.env.contains("K") && b.cwd.is_some());
        let c = config("c").transport.remote().unwrap().oauth.as_ref().unwrap();
        assert_eq!((c.scopes.len(), c.callback_port), (2, Some(1)));
        assert_eq!(config("d").auth, Some(AuthKind::Headers));
    }
    let opencode = r#"{"mcp":{"a":{"type":"local","command":["x","${ARG}"]}}}"#;
    let document = read(opencode.as_bytes(), &ReadOptions::new("/code/app/opencode.json"));
    assert_eq!(document.dialect, Some(Dialect::OpenCode));
}

#[test]
fn flat_file_reports_members_that_are_not_servers() {
    let text = r#"{"$schema":"x","version":1,"time":{"command":"mcp-time"},"web":{"url":"https://h/"},
        "own":{"type":"sdk"},"notes":{"a":"b"},"list":[1]}"#;
    let document = file("/code/app/.mcp.json", text);
    assert_eq!(document.dialect, Some(Dialect::Flat));
    let names: Vec<&str> = document.entries.iter().map(|e| e.config.name.as_str()).collect();
    assert_eq!(names, ["time", "web", "own"]);
    let said: Vec<String> = document.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    for (found, name) in said.iter().zip(["version", "notes", "list"]) {
        assert!(found.contains(&format!("`{name}`, which is not a server")), "{found}");
    }
    assert!(document.diagnostics.iter().all(|found| found.severity == Severity::Hint));
    // An object without any server is not a flat file.
    assert_eq!(file("/code/app/.mcp.json", r#"{"notes":{"a":"b"}}"#).dialect, None);
}

#[test]
fn later_file_of_an_ordered_list_wins() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let first = write(
        "z.json",
        r#"{"mcpServers":{"x":{"command":"old"},"y":{"command":"y"}},"maxToolsPerSearch":1}"#,
    );
    let bad = write("bad.json", "{");
    let last = write("a.json", r#"{"servers":{"x":{"command":"new"}},"maxToolsPerSearch":2}"#);
    let absent = folder.path().join("absent.json");
    let mut layers = Layers::new();
    layers.layers = load_hierarchical(Scope::User, [first, bad, absent, last.clone()]);
    let resolution = resolve(&layers);
    let place = |name: &str| resolution.get(name).unwrap().entry.place.file.to_string();
    assert_eq!(place("x"), last.to_string_lossy());
    assert!(place("y").ends_with("z.json"));
    assert_eq!(resolution.host.max_matches, Some(2));
    assert_eq!(resolution.diagnostics.iter().filter(|d| d.severity == Severity::Error).count(), 1);
}

#[test]
fn repository_does_not_loosen_the_settings_of_the_host_itself() {
    let text = r#"{"mcpServers":{},"tool_search":{"threshold":10,"max_matches":7},
        "summaryDescriptionLimit":60,"retry":{"attempts":2}}"#;
    let mut layers = Layers::new();
    layers.push(Scope::Project, file(".mcp.json", text));
    let by_default = resolve(&layers);
    assert_eq!(by_default.host.search_threshold, Some(10), "below the default");
    layers.host.search_threshold = Some(5);
    layers.host.max_matches = Some(3);
    layers.host.summary_limit = Some(50);
    layers.host.retry.attempts = Some(1);
    let resolution = resolve(&layers);
    assert_eq!(resolution.host, HostSettings::default(), "the host keeps its own settings");
    let said: Vec<String> = resolution.diagnostics.iter().map(ToString::to_string).collect();
    let keys = "tool_search.threshold, tool_search.max_matches, summaryDescriptionLimit, retry";
    assert!(said.iter().any(|text| text.contains(keys)), "{said:?}");
    layers.host.search_threshold = Some(11);
    assert_eq!(resolve(&layers).host.search_threshold, Some(10));
}
