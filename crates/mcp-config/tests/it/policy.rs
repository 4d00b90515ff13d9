//! What an IT department can rely on.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use mcp_config::{
    CloudCache, Document, Environment, Exclusivity, Fetch, FileSource, Layers, NoInputs, Refusal,
    Scope, Source, Verdict, expand, load, resolve,
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
fn an_enterprise_document_keeps_the_cloud_out_and_a_managed_one_everybody() {
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
    // Our own format can open up again.
    let mut layers = Layers::new();
    layers.push(
        Scope::Enterprise,
        file("/etc/mcp.json", r#"{"mcpServers":{},"policy":{"exclusive":"none"}}"#),
    );
    layers.push(Scope::Cloud, Document::from_servers("cloud", [program("theirs", "t")]));
    assert_eq!(active(&layers), ["theirs"]);
}

#[test]
fn deny_binds_every_scope_the_enterprises_own_included() {
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
fn names_do_not_open_a_list_that_speaks_of_commands_or_addresses() {
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
    // A list of names alone goes by name; an empty list allows nothing.
    assert_eq!(
        active(&with_managed(r#"{"allowedMcpServers":[{"serverName":"tool"}]}"#, &servers)),
        ["tool"]
    );
    assert!(active(&with_managed(r#"{"allowedMcpServers":[]}"#, &servers)).is_empty());
}

#[test]
fn a_users_list_narrows_and_never_widens() {
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
fn a_repositorys_or_providers_list_binds_only_what_it_brings_itself() {
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
    // The user's own files still bind every scope.
    let mut layers = Layers::new();
    layers.require_approval = false;
    layers.push(Scope::Project, Document::from_servers("project", [program("b", "b")]));
    layers.push(Scope::User, file("~/.claude/settings.json", lists[1]));
    assert!(active(&layers).is_empty());
}

#[test]
fn a_policy_that_can_not_be_read_allows_nothing() {
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
    // A broken file of the user costs the user that file, nothing more.
    let mut layers = with_managed("{\"deniedMcpServers\":[]}", &servers);
    layers.push(Scope::User, file("~/.claude/settings.json", "{"));
    assert_eq!(active(&layers), ["a"]);
}

#[test]
fn policy_holds_again_after_variables_have_changed() {
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
fn with_an_enterprise_document_the_provider_is_not_even_asked() {
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
fn a_providers_answer_is_remembered_and_outlives_its_failures() {
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
        "connectors: warning: found a provider that did not answer, expected its servers (its last answer is used)"
    );
    // From one run to the next.
    let mut next = CloudCache::new("connectors", Counted(Arc::clone(&asked), true));
    next.path = cache.path.clone();
    assert_eq!(next.document_at(start).entries.len(), 1);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
