//! Guarantees of enterprise policy.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use mcp_config::{
    Document, Environment, Layers, Scope, expand,
    expand::NoInputs,
    files::{CloudCache, Fetch, FileSource, Source},
    load,
    policy::{Exclusivity, Refusal},
    resolve,
    resolve::Verdict,
};

use crate::resolution::{file, http, program};

fn with_managed(settings: &str, servers: &[(Scope, mcp_config::ServerConfig)]) -> Layers {
    let mut layers = Layers::new();
    layers.require_approval = false;
    layers.push(Scope::Enterprise, file("/etc/claude-code/managed-settings.json", settings));
    for (scope, server) in servers {
        layers.push(*scope, Document::from_servers(scope.as_str(), [server.clone()]));
    }
    layers
}

fn active(layers: &Layers) -> Vec<String> {
    resolve(layers).servers().map(|candidate| candidate.entry.config.name.to_string()).collect()
}

#[test]
fn enterprise_document_excludes_cloud_and_managed_mcp_excludes_all() {
    let servers = [(Scope::User, program("mine", "m")), (Scope::Cloud, program("theirs", "t"))];
    assert_eq!(active(&with_managed("{\"deniedMcpServers\":[]}", &servers)), ["mine"]);
    let mut layers = with_managed("{\"deniedMcpServers\":[]}", &servers);
    let managed =
        file("/etc/claude-code/managed-mcp.json", r#"{"mcpServers":{"it":{"command":"i"}}}"#);
    layers.push(Scope::Enterprise, managed);
    assert_eq!(active(&layers), ["it"]);
    assert!(
        resolve(&layers)
            .candidates
            .iter()
            .any(|c| c.verdict == Verdict::Withheld(Exclusivity::All))
    );
    // Our own format can allow other scopes again.
    let mut layers = Layers::new();
    layers.push(
        Scope::Enterprise,
        file("/etc/mcp.json", r#"{"mcpServers":{},"policy":{"exclusive":"none"}}"#),
    );
    layers.push(Scope::Cloud, Document::from_servers("cloud", [program("theirs", "t")]));
    assert_eq!(active(&layers), ["theirs"]);
}

#[test]
fn deny_rules_apply_to_every_scope_including_enterprise() {
    let settings = r#"{"mcpServers":{"own":{"command":"bad"}},
        "deniedMcpServers":[{"serverCommand":["bad"]},{"serverUrl":"https://*.evil.test"},{"serverName":"byname"}]}"#;
    let layers = with_managed(
        settings,
        &[
            (Scope::Local, http("a", "https://x.EVIL.test/mcp")),
            (Scope::User, program("byname", "fine")),
            (Scope::Dynamic, program("b", "bad")),
            (Scope::Dynamic, program("good", "fine2")),
        ],
    );
    assert_eq!(active(&layers), ["good"]);
}

#[test]
fn name_alone_does_not_pass_a_list_of_commands_or_urls() {
    let settings = r#"{"allowedMcpServers":[
        {"serverName":"tool"},{"serverCommand":["npx","ok"]},{"serverUrl":"https://ok.test/*"}]}"#;
    let mut ok = program("any", "npx");
    if let mcp_config::Transport::Stdio(stdio) = &mut ok.transport {
        stdio.args = vec!["ok".into()];
    }
    let servers = [
        (Scope::User, ok),
        (Scope::User, program("tool", "evil")),
        (Scope::User, http("remote", "https://ok.test/mcp")),
        (Scope::User, http("tool", "https://evil.test/mcp")),
    ];
    assert_eq!(active(&with_managed(settings, &servers)), ["any", "remote"]);
    // A list with only names matches by name; an empty list allows nothing.
    assert_eq!(
        active(&with_managed(r#"{"allowedMcpServers":[{"serverName":"tool"}]}"#, &servers)),
        ["tool"]
    );
    assert!(active(&with_managed(r#"{"allowedMcpServers":[]}"#, &servers)).is_empty());
}

#[test]
fn user_allow_list_narrows_and_never_widens() {
    let user = |layers: &mut Layers, list: &str| {
        layers.push(Scope::User, file("~/.claude/settings.json", list));
    };
    let servers = [(Scope::User, program("a", "a")), (Scope::User, program("b", "b"))];
    let managed = r#"{"allowedMcpServers":[{"serverName":"a"},{"serverName":"b"}]}"#;
    let mut layers = with_managed(managed, &servers);
    user(&mut layers, r#"{"allowedMcpServers":[{"serverName":"a"},{"serverName":"c"}]}"#);
    assert_eq!(active(&layers), ["a"]);
    let only = managed.replace("{\"allowed", "{\"allowManagedMcpServersOnly\":true,\"allowed");
    let mut layers = with_managed(&only, &servers);
    user(&mut layers, r#"{"allowedMcpServers":[]}"#);
    assert_eq!(active(&layers), ["a", "b"]);
}

#[test]
fn repository_and_provider_lists_apply_only_to_their_own_servers() {
    let lists = [
        r#"{"deniedMcpServers":[{"serverName":"a"},{"serverName":"theirs"}]}"#,
        r#"{"allowedMcpServers":[{"serverName":"ours"}]}"#,
    ];
    for (scope, list) in
        [Scope::Project, Scope::Cloud].into_iter().flat_map(|s| lists.map(|list| (s, list)))
    {
        let mut layers = Layers::new();
        layers.require_approval = false;
        layers.push(Scope::User, Document::from_servers("user", [program("a", "a")]));
        let servers = [program("ours", "o"), program("theirs", "t")];
        layers.push(scope, Document::from_servers("servers", servers));
        layers.push(scope, file("/code/app/.claude/settings.json", list));
        assert_eq!(active(&layers), ["a", "ours"], "{scope} {list}");
        let resolution = resolve(&layers);
        let said: Vec<String> = resolution.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("list that would refuse servers"), "{said:?}");
        let config = &resolution.candidates.iter().find(|c| c.scope == scope).unwrap().entry.config;
        assert_eq!(resolution.policy.check(config, &layers.env), Ok(()));
    }
    // The user's own files apply to every scope.
    let mut layers = Layers::new();
    layers.require_approval = false;
    layers.push(Scope::Project, Document::from_servers("project", [program("b", "b")]));
    layers.push(Scope::User, file("~/.claude/settings.json", lists[1]));
    assert!(active(&layers).is_empty());
}

#[test]
fn unreadable_policy_allows_nothing() {
    let servers = [(Scope::User, program("a", "a"))];
    for broken in [
        "{",
        r#"{"deniedMcpServers":"evil"}"#,
        r#"{"allowedMcpServers":[{"serverNme":"a"}]}"#,
        r#"{"deniedMcpServers":[{"serverUrl":"htps://evil.test/*"}]}"#,
    ] {
        let resolution = resolve(&with_managed(broken, &servers));
        assert_eq!(resolution.servers().count(), 0, "{broken}");
        assert!(
            resolution
                .candidates
                .iter()
                .all(|c| c.verdict == Verdict::Refused(Refusal::BrokenPolicy))
        );
        assert!(!resolution.diagnostics.is_empty());
    }
    // A broken user file affects only that file.
    let mut layers = with_managed("{\"deniedMcpServers\":[]}", &servers);
    layers.push(Scope::User, file("~/.claude/settings.json", "{"));
    assert_eq!(active(&layers), ["a"]);
}

#[test]
fn policy_is_checked_again_after_variables_change() {
    let settings = r#"{"allowedMcpServers":[{"serverUrl":"https://ok.test/*"}]}"#;
    let mut layers = with_managed(settings, &[(Scope::User, http("a", "https://${HOST}/mcp"))]);
    layers.env = Environment::empty().with("HOST", "ok.test");
    let resolution = resolve(&layers);
    let config = &resolution.get("a").unwrap().entry.config;
    let later = Environment::empty().with("HOST", "evil.test");
    let expanded = expand(config, &later, &NoInputs).unwrap();
    assert_eq!(resolution.policy.check(&expanded, &later), Err(Refusal::NotAllowed));
}

struct Counted(Arc<AtomicUsize>, bool);

impl Fetch for Counted {
    fn fetch(&self) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        if self.1 && count > 0 {
            return Err("token=s3cret".into());
        }
        Ok(br#"{"mcpServers":{"cloudy":{"command":"c"}}}"#.to_vec())
    }
}

#[test]
fn cloud_provider_is_not_fetched_with_an_enterprise_document() {
    let folder = tempfile::tempdir().unwrap();
    let managed = folder.path().join("managed-settings.json");
    let asked = Arc::new(AtomicUsize::new(0));
    let sources: Vec<Arc<dyn Source>> = vec![
        Arc::new(CloudCache::new("connectors", Counted(Arc::clone(&asked), false))),
        Arc::new(FileSource::new(Scope::Enterprise, &managed)),
    ];
    let mut layers = Layers::new();
    layers.layers = load(&sources);
    assert_eq!((active(&layers), asked.load(Ordering::SeqCst)), (vec!["cloudy".to_owned()], 1));
    std::fs::write(&managed, "{\"deniedMcpServers\":[]}").unwrap();
    layers.layers = load(&sources);
    assert_eq!((active(&layers), asked.load(Ordering::SeqCst)), (vec![], 1));
}

#[test]
fn provider_response_is_cached_and_used_after_failures() {
    let folder = tempfile::tempdir().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let mut cache = CloudCache::new("connectors", Counted(Arc::clone(&asked), true));
    cache.path = Some(folder.path().join("cloud.json"));
    let start = std::time::SystemTime::now();
    let later = start + cache.max_age * 2;
    assert_eq!(cache.document_at(start).entries.len(), 1);
    assert_eq!(cache.document_at(start).entries.len(), 1);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let stale = cache.document_at(later);
    assert_eq!(stale.entries.len(), 1);
    assert_eq!(
        stale.diagnostics[0].to_string(),
        "connectors: warning: found a provider that did not respond, expected its servers (its last response is used)"
    );
    // The cache file persists between runs.
    let mut next = CloudCache::new("connectors", Counted(Arc::clone(&asked), true));
    next.path = cache.path.clone();
    assert_eq!(next.document_at(start).entries.len(), 1);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// The policy of table H1 in the security review.
const H1: &str = r#"{"allowedMcpServers":[{"serverUrl":"http://*.example.com/*"},
        {"serverUrl":"http://127.0.0.1:*/*"},{"serverCommand":["python3","-m","good_server"]}],
    "deniedMcpServers":[{"serverUrl":"http://127.0.0.1:18083/*"}]}"#;

/// The verdict on `entry` in a user's file, and the policy's decision on the expanded entry.
fn judged(settings: &str, entry: &str, env: &Environment) -> [Result<(), Refusal>; 2] {
    let mut layers = with_managed(settings, &[]);
    layers.env = env.clone();
    let text = format!(r#"{{"mcpServers":{{"x":{entry}}}}}"#);
    let document = file("mcp.json", &text);
    assert!(document.get("x").is_some(), "{:?}", document.diagnostics);
    layers.push(Scope::User, document);
    let resolution = resolve(&layers);
    let candidate = resolution.candidates.iter().find(|c| c.scope == Scope::User).unwrap();
    let verdict = match &candidate.verdict {
        Verdict::Refused(refusal) => Err(refusal.clone()),
        Verdict::Active => Ok(()),
        other => panic!("{other:?}"),
    };
    let expanded = expand(&candidate.entry.config, env, &NoInputs).unwrap();
    [verdict, resolution.policy.judge(Scope::User, &expanded)]
}

#[test]
fn url_policy_uses_variables_that_the_entry_defines() {
    // A variable before `@` is rejected when read; this entry needs none.
    let entry =
        r#"{"type":"http","url":"http://${H}/x.example.com/mcp","env":{"H":"127.0.0.1:18083"}}"#;
    for result in judged(H1, entry, &Environment::empty()) {
        assert!(matches!(result, Err(Refusal::Denied(_))), "{result:?}");
    }
    let text = r#"{"mcpServers":{"x":{"type":"http","url":"http://${H}@x.example.com/mcp"}}}"#;
    assert!(file("mcp.json", text).get("x").is_none());
}

#[test]
fn url_policy_reads_file_variables() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("h"), "127.0.0.1:18083").unwrap();
    let env = Environment::empty().in_workspace(folder.path());
    let entry = r#"{"type":"http","url":"http://${file:h}/x.example.com/mcp"}"#;
    for result in judged(H1, entry, &env) {
        assert!(matches!(result, Err(Refusal::Denied(_))), "{result:?}");
    }
    std::fs::write(folder.path().join("h"), "a.example.com").unwrap();
    assert_eq!(judged(H1, entry, &env), [Ok(()), Ok(())]);
}

#[test]
fn allowed_command_is_refused_if_its_entry_changes_loaded_code() {
    let entry =
        |more: &str| format!(r#"{{"command":"python3","args":["-m","good_server"]{more}}}"#);
    let env = Environment::empty();
    let folder = tempfile::tempdir().unwrap();
    let vars = folder.path().join("vars");
    std::fs::write(&vars, "A=1").unwrap();
    let env_file = format!(r#","envFile":"{}""#, vars.display());
    assert_eq!(judged(H1, &entry(r#","env":{"LANG":"C"}"#), &env), [Ok(()), Ok(())]);
    for (more, what) in [
        (r#","env":{"PATH":"/tmp/bin"}"#, "`env.PATH`"),
        (r#","env":{"PYTHONPATH":"/tmp"}"#, "`env.PYTHONPATH`"),
        (r#","env":{"LD_PRELOAD":"x"}"#, "`env.LD_PRELOAD`"),
        (r#","env":{"DYLD_INSERT_LIBRARIES":"x"}"#, "`env.DYLD_INSERT_LIBRARIES`"),
        (r#","env":{"NODE_OPTIONS":"x"}"#, "`env.NODE_OPTIONS`"),
        (r#","env":{"RUBYOPT":"x"}"#, "`env.RUBYOPT`"),
        (r#","env":{"npm_config_registry":"x"}"#, "`env.npm_config_registry`"),
        (r#","env":{"PATH":null}"#, "`env.PATH`"),
        (r#","envPass":["PYTHONPATH"]"#, "`env.PYTHONPATH`"),
        (&env_file, "`envFile` or `inheritEnv`"),
        (r#","inheritEnv":"all""#, "`envFile` or `inheritEnv`"),
        (r#","cwd":"/tmp""#, "`cwd`"),
    ] {
        for result in judged(H1, &entry(more), &env) {
            assert_eq!(result, Err(Refusal::Alters(vec![what.to_owned()])), "{more}");
        }
    }
    // A rule may permit it.
    let rule = |more: &str| {
        format!(
            r#"{{"allowedMcpServers":[{{"serverCommand":["python3","-m","good_server"]{more}}}]}}"#
        )
    };
    for (rule_says, more) in [
        (r#","env":["PYTHON*"]"#, r#","env":{"PYTHONPATH":"/tmp"}"#),
        (r#","env":["*"]"#, &env_file),
        (r#","cwd":true"#, r#","cwd":"/tmp""#),
    ] {
        assert_eq!(judged(&rule(rule_says), &entry(more), &env), [Ok(()), Ok(())], "{more}");
        assert!(judged(&rule(""), &entry(more), &env).iter().all(Result::is_err), "{more}");
    }
    // A name that is allowed does not permit other settings.
    let by_name = r#"{"allowedMcpServers":[{"serverName":"x"}]}"#;
    assert_eq!(judged(by_name, &entry(r#","cwd":"/tmp""#), &env), [Ok(()), Ok(())]);
}

#[test]
fn headers_helper_is_checked_as_a_command() {
    let env = Environment::empty();
    let entry = |helper: &str, more: &str| {
        format!(
            r#"{{"type":"http","url":"http://a.example.com/","headersHelper":"{helper}"{more}}}"#
        )
    };
    assert_eq!(
        judged(H1, &entry("/tmp/h.sh", ""), &env),
        [Err(Refusal::NotAllowed), Err(Refusal::NotAllowed)]
    );
    let allowed = entry("python3 -m good_server", "");
    assert_eq!(judged(H1, &allowed, &env), [Ok(()), Ok(())]);
    let altered = entry("python3 -m good_server", r#","env":{"PYTHONPATH":"/tmp"}"#);
    assert!(judged(H1, &altered, &env).iter().all(|r| matches!(r, Err(Refusal::Alters(_)))));
    let deny = r#"{"deniedMcpServers":[{"serverCommand":["/tmp/h.sh"]}]}"#;
    let denied = judged(deny, &entry("/tmp/h.sh", ""), &env);
    assert!(denied.iter().all(|result| matches!(result, Err(Refusal::Denied(_)))));
    // A list with only URLs allows no program.
    let urls = r#"{"allowedMcpServers":[{"serverUrl":"http://*.example.com/*"}]}"#;
    assert!(judged(urls, &entry("/tmp/h.sh", ""), &env).iter().all(Result::is_err));
}

#[test]
fn oauth_endpoints_are_checked_like_the_url() {
    let env = Environment::empty().with("H", "evil.test");
    let deny = r#"{"deniedMcpServers":[{"serverUrl":"https://*.evil.test/*"},{"serverUrl":"https://evil.test/*"}]}"#;
    let allow = r#"{"allowedMcpServers":[{"serverUrl":"https://*.example.com/*"}]}"#;
    for field in ["tokenUrl", "authorizationUrl", "authServerMetadataUrl"] {
        let entry = |url: &str| {
            format!(
                r#"{{"type":"http","url":"https://a.example.com/","oauth":{{"{field}":"{url}"}}}}"#
            )
        };
        for url in ["https://login.evil.test/x", "https://${H}/x"] {
            let denied = judged(deny, &entry(url), &env);
            assert!(denied.iter().all(|r| matches!(r, Err(Refusal::Denied(_)))), "{field} {url}");
            let outside = judged(allow, &entry(url), &env);
            assert_eq!(outside, [Err(Refusal::NotAllowed), Err(Refusal::NotAllowed)], "{field}");
        }
        for rules in [deny, allow] {
            assert_eq!(judged(rules, &entry("https://b.example.com/x"), &env), [Ok(()), Ok(())]);
        }
    }
    // The browser opens the redirect URI; no request of ours goes there.
    let local = r#"{"type":"http","url":"https://a.example.com/",
        "oauth":{"redirectUri":"http://127.0.0.1:3118/callback"}}"#;
    assert_eq!(judged(allow, local, &env), [Ok(()), Ok(())]);
}

#[test]
fn unknown_value_is_refused_by_allow_and_deny_lists() {
    let url = r#"{"type":"http","url":"https://${input:host}/"}"#;
    let line = r#"{"command":"x","args":["${UNSET}"]}"#;
    let helper = r#"{"type":"http","url":"https://h/","headersHelper":"x ${UNSET}"}"#;
    let login = r#"{"type":"http","url":"https://h/","oauth":{"tokenUrl":"https://${UNSET}/t"}}"#;
    for (entry, rule, field) in [
        (url, r#"{"serverUrl":"https://a.test"}"#, "url"),
        (login, r#"{"serverUrl":"https://a.test"}"#, "oauth.tokenUrl"),
        (line, r#"{"serverCommand":["a"]}"#, "command"),
        (helper, r#"{"serverCommand":["a"]}"#, "headersHelper"),
    ] {
        for list in ["allowedMcpServers", "deniedMcpServers"] {
            let mut layers = with_managed(&format!(r#"{{"{list}":[{rule}]}}"#), &[]);
            let text = format!(r#"{{"mcpServers":{{"x":{entry}}}}}"#);
            layers.push(Scope::User, file("mcp.json", &text));
            let verdict = resolve(&layers).candidates.remove(0).verdict;
            assert!(
                matches!(&verdict, Verdict::Refused(Refusal::Unknown(of, _)) if *of == field),
                "{list} {entry}: {verdict:?}"
            );
        }
        // Rules about other properties are not affected.
        let mut layers = with_managed(r#"{"deniedMcpServers":[{"serverName":"y"}]}"#, &[]);
        layers.push(Scope::User, file("mcp.json", &format!(r#"{{"mcpServers":{{"x":{entry}}}}}"#)));
        assert_eq!(active(&layers), ["x"]);
    }
}

#[test]
fn rule_may_combine_name_and_transport() {
    let env = Environment::empty();
    let http = r#"{"type":"http","url":"https://h/"}"#;
    let local = r#"{"command":"evil"}"#;
    let allow = r#"{"allowedMcpServers":[{"serverName":"x","transport":"http"}]}"#;
    assert_eq!(judged(allow, http, &env), [Ok(()), Ok(())]);
    assert!(judged(allow, local, &env).iter().all(|result| *result == Err(Refusal::NotAllowed)));
    let deny = r#"{"deniedMcpServers":[{"serverName":"x","transport":"stdio"}]}"#;
    assert_eq!(judged(deny, http, &env), [Ok(()), Ok(())]);
    assert!(judged(deny, local, &env).iter().all(Result::is_err));
    let own = r#"{"mcpServers":{},"policy":{"deny":[{"name":"x","transport":"stdio"}]}}"#;
    let mut layers = Layers::new();
    layers.push(Scope::Enterprise, file("/etc/mcp.json", own));
    layers.push(Scope::User, Document::from_servers("user", [program("x", "evil")]));
    assert!(active(&layers).is_empty());
}

#[test]
fn unreadable_rule_condition_breaks_the_policy() {
    let servers = [(Scope::User, program("a", "a"))];
    for rule in [
        r#"{"serverName":"a","transport":"htttp"}"#,
        r#"{"serverName":"a","transport":1}"#,
        r#"{"serverCommand":["a"],"env":"PATH"}"#,
        r#"{"serverCommand":["a"],"env":[1]}"#,
        r#"{"serverCommand":["a"],"cwd":"/tmp"}"#,
    ] {
        let settings = format!(r#"{{"allowedMcpServers":[{rule}]}}"#);
        let resolution = resolve(&with_managed(&settings, &servers));
        assert_eq!(
            resolution.candidates[0].verdict,
            Verdict::Refused(Refusal::BrokenPolicy),
            "{rule}"
        );
    }
}
