//! All offers of a server pass the same gate: resources, prompts, completions, logins, elicitation.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use mcp_bridge::{
    Approval, ApprovalRequest, Approver, Bridge, BridgeOptions, CallContext, ConversationOptions,
    Event, FailureKind, ToolOutcome,
    connect::{ConfirmPage, Login, LoginFailure, LoginPage, LoginUser, ServerRoute},
    error::OfferError,
    hooks::{Hook, HookCall, Verdict},
    tool::BoxFuture,
    trust::{Action, Decision, Policy, PolicyCall, Rule, Rules, ToolApprovals, TrustPolicy},
};
use mcp_client::{
    CallError, ClientCapabilities, ElicitRequest, ElicitResult, Handler,
    types::{CreateMessageRequest, CreateMessageResult, events::Refusal},
};
use mcp_jsonrpc::{Delivery, ErrorClass, FailureCause, Loss};
use mcp_transport::ConnectError;
use serde_json::json;

use crate::support::{Fake, Reply, all, args, call, config, fakes, names, one, options, settled};

/// An approver with scripted answers that records the requests.
#[derive(Default)]
struct Says(Mutex<Vec<Approval>>, Mutex<Vec<ApprovalRequest>>);

impl Approver for Says {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        self.1.lock().unwrap().push(request);
        let answer = self.0.lock().unwrap().pop().unwrap_or(Approval::Deny);
        Box::pin(async move { answer })
    }
}

impl Says {
    fn asked(&self) -> usize {
        self.1.lock().unwrap().len()
    }

    fn say(&self, answer: Approval) {
        self.0.lock().unwrap().push(answer);
    }
}

fn library() -> Fake {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "note://listed", "name": "listed"}]));
    fake.prompts(json!([{"name": "p", "arguments": [{"name": "x"}]}]));
    fake
}

/// A bridge with one untrusted server `srv`.
async fn untrusted(fake: &Fake, change: impl FnOnce(&mut BridgeOptions)) -> Bridge {
    let mut options = options(&fakes([("srv", fake)]));
    change(&mut options);
    let bridge = Bridge::new(options);
    let mut server = config("srv");
    server.trust = false;
    bridge.add_server_as_written(server);
    bridge.start().await;
    bridge
}

fn deny(glob: &str) -> Arc<TrustPolicy> {
    Arc::new(TrustPolicy::new(Rules::new([vec![Rule::new(glob, Action::Deny)]])))
}

#[tokio::test(start_paused = true)]
async fn deny_rule_for_a_server_hides_and_denies_all_its_offers() {
    let fake = library();
    fake.instructions("INJECTED");
    let bridge = one(&fake, |options| options.policy = deny("mcp:srv:*")).await;
    assert!(bridge.resources().await.is_empty() && bridge.resource_templates().await.is_empty());
    assert!(bridge.commands().is_empty() && bridge.instructions(1_000).is_empty());
    let read = bridge.read_resource("srv", "note://listed").await;
    assert!(matches!(read, Err(OfferError::Call(CallError::Declined(_)))), "{read:?}");
    assert!(bridge.subscribe("srv", vec!["note://listed".into()]).await.is_err());
    assert!(bridge.run_command("mcp__srv__p", &[]).await.is_err());
    assert!(bridge.complete("mcp__srv__p", "x", "", &BTreeMap::new()).await.is_err());
    let arguments = args(&json!({"server": "srv", "uri": "note://listed"}));
    let outcome = bridge.call("read_mcp_resource", arguments, CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Denied));
    let listed = call(&bridge, "list_mcp_resources").await;
    assert_eq!(listed.text_content(), r#"{"resources":[]}"#);
    let login = bridge.login("srv", Arc::new(|_| {})).await;
    assert!(matches!(login, Err(LoginFailure::Denied(_))), "{login:?}");
    for method in ["resources/read", "prompts/get", "completion/complete", "resources/subscribe"] {
        assert!(fake.seen(method).is_empty(), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_for_one_resource_or_prompt_applies_to_it_only() {
    let fake = library();
    let rules = vec![
        Rule::new("mcp:srv:resource/note://*", Action::Deny),
        Rule::new("mcp:srv:prompt/p", Action::Deny),
    ];
    let policy = Arc::new(TrustPolicy::new(Rules::new([rules])));
    let bridge = one(&fake, |options| options.policy = policy).await;
    assert!(bridge.resources().await.is_empty() && bridge.commands().is_empty());
    assert!(bridge.read_resource("srv", "other://x").await.is_ok());
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
}

#[tokio::test(start_paused = true)]
async fn unlisted_resources_of_untrusted_servers_need_approval() {
    let (fake, says) = (library(), Arc::new(Says::default()));
    let bridge = untrusted(&fake, |options| options.approver = says.clone()).await;
    assert!(bridge.read_resource("srv", "note://listed").await.is_ok());
    assert_eq!(says.asked(), 0);
    let secret = "note://x?d=secret";
    assert!(bridge.read_resource("srv", secret).await.is_err());
    let arguments = args(&json!({"server": "srv", "uri": secret}));
    let outcome = bridge.call("read_mcp_resource", arguments, CallContext::default()).await;
    assert_eq!(outcome.text_content(), "denied: the user said no");
    assert_eq!(fake.seen("resources/read").len(), 1, "the URI was not sent");
    {
        let asked = says.1.lock().unwrap();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].permission, format!("mcp:srv:resource/{secret}"));
        assert!(asked[0].arguments.as_str().contains(secret));
        assert_eq!(asked[0].server.as_deref(), Some("srv"));
    }
    says.say(Approval::Once);
    assert!(bridge.read_resource("srv", secret).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn conversation_can_be_denied_single_resources() {
    let fake = library();
    let bridge = one(&fake, |_| {}).await;
    let mut filter = ConversationOptions::default();
    filter.deny = vec!["mcp:srv:resource/note://*".into()];
    let conversation = bridge.start_conversation(filter);
    let read = |uri: &str| args(&json!({"server": "srv", "uri": uri}));
    let context = CallContext::default;
    let hidden = conversation.call("read_mcp_resource", read("note://listed"), context()).await;
    assert!(hidden.is_error);
    let other = conversation.call("read_mcp_resource", read("other://x"), context()).await;
    assert!(!other.is_error);
}

/// A login that opens a page.
struct Paged(Fake, bool);

impl Login for Paged {
    fn login(&self, user: LoginUser) -> BoxFuture<'_, Result<(), LoginFailure>> {
        let confirm: ConfirmPage = user.confirm.clone();
        Box::pin(async move {
            let page = LoginPage::new("https://bank.test/login?x=1", "https://srv.test/mcp");
            if self.1 && !confirm(page).await {
                return Err(LoginFailure::Cancelled);
            }
            (user.tell)("the page is open".into());
            self.0.refuse(None);
            Ok(())
        })
    }

    fn logout(&self) -> BoxFuture<'_, Result<(), LoginFailure>> {
        Box::pin(async { Ok(()) })
    }

    fn confirms_page(&self) -> bool {
        self.1
    }
}

struct WithLogin(Fake, bool);

impl mcp_bridge::connect::Connector for WithLogin {
    fn open(&self, _: &mcp_bridge::ServerConfig) -> Result<ServerRoute, ConnectError> {
        let mut way = ServerRoute::new(Arc::new(self.0.clone()));
        way.login = Some(Arc::new(Paged(self.0.clone(), self.1)));
        Ok(way)
    }
}

fn login_needed() -> ConnectError {
    let loss = Loss::new(Delivery::NotSent, ErrorClass::Auth, FailureCause::Credentials, "401");
    ConnectError::Refused(Box::new(loss))
}

#[tokio::test(start_paused = true)]
async fn login_question_names_the_page_and_the_token_recipient() {
    for confirms in [true, false] {
        let (fake, says) = (Fake::new(&["a"]), Arc::new(Says::default()));
        fake.refuse(Some(login_needed));
        let bridge = untrusted(&fake, |options| {
            options.connector = Arc::new(WithLogin(fake.clone(), confirms));
            options.approver = says.clone();
        })
        .await;
        let outcome = call(&bridge, "mcp__srv__authenticate").await;
        assert_eq!(outcome.text_content(), "denied: the user said no");
        assert!(fake.is_refusing(), "no page was opened");
        {
            let asked = says.1.lock().unwrap();
            assert_eq!(asked[0].permission, "mcp:srv:login");
            let shown = asked[0].arguments.as_str();
            assert!(!confirms || shown.contains(r#""login_page":"https://bank.test/login""#));
            assert!(!confirms || shown.contains("https://srv.test/mcp"), "{shown}");
        }
        says.say(Approval::Once);
        let outcome = call(&bridge, "mcp__srv__authenticate").await;
        assert_eq!(
            outcome.text_content(),
            "the page is open\nlogged in to srv; its tools: mcp__srv__a"
        );
        assert_eq!(says.asked(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn denied_login_is_hidden_and_not_performed() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(login_needed));
    let bridge = untrusted(&fake, |options| {
        options.connector = Arc::new(WithLogin(fake.clone(), true));
        options.policy = deny("mcp:srv:login");
    })
    .await;
    assert!(names(&bridge).is_empty());
    assert!(call(&bridge, "mcp__srv__authenticate").await.is_error && fake.is_refusing());
}

#[tokio::test(start_paused = true)]
async fn colon_in_a_name_does_not_affect_rule_matching() {
    let (files, evil) = (Fake::new(&["read"]), Fake::new(&["read"]));
    let mut options = options(&fakes([("files", &files), ("files:evil", &evil)]));
    let rules = vec![Rule::new("mcp:files:*", Action::Allow)];
    options.policy = Arc::new(TrustPolicy::new(Rules::new([rules])));
    let bridge = Bridge::new(options);
    for name in ["files", "files:evil"] {
        let mut server = config(name);
        server.trust = false;
        bridge.add_server_as_written(server);
    }
    bridge.start().await;
    assert!(!call(&bridge, "mcp__files__read").await.is_error);
    assert!(call(&bridge, "mcp__files_evil__read").await.is_error);
    assert_eq!(evil.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn denial_tells_only_the_user_how_to_allow_the_call() {
    let (fake, says) = (Fake::new(&["a"]), Arc::new(Says::default()));
    says.say(Approval::Unasked("this client cannot ask; use --allow-tool".into()));
    let bridge = untrusted(&fake, |options| options.approver = says.clone()).await;
    let mut events = bridge.events();
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert_eq!(outcome.text_content(), "denied: the user could not be asked");
    let told = all(&mut events).into_iter().find_map(|event| match event {
        Event::Denied { permission, message, .. } => Some((permission, message)),
        _ => None,
    });
    let (permission, message) = told.unwrap();
    assert_eq!(permission, "mcp:srv:a");
    assert!(message.contains("--allow-tool") && message.contains("add a rule"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn permanent_approval_does_not_apply_to_another_server_of_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.json");
    let bridge_in = |project: &'static str, says: Arc<Says>| {
        let (fake, path) = (Fake::new(&["ping"]), path.clone());
        async move {
            let bridge = untrusted(&fake, |options| {
                options.approver = says;
                options.approvals = Arc::new(ToolApprovals::load(path).unwrap());
                options.project = Some(project.into());
                options.from_project = Some(Arc::new(|_| true));
            })
            .await;
            call(&bridge, "mcp__srv__ping").await
        }
    };
    let says = Arc::new(Says::default());
    says.say(Approval::Always);
    assert!(!bridge_in("/a", says.clone()).await.is_error);
    assert!(!bridge_in("/a", says.clone()).await.is_error, "approved permanently");
    assert_eq!(says.asked(), 1);
    assert!(bridge_in("/b", says.clone()).await.is_error, "a server of another project");
    assert_eq!(says.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn truncated_diff_cannot_be_approved_permanently() {
    let (fake, says) = (Fake::new(&["a"]), Arc::new(Says::default()));
    let bridge = untrusted(&fake, |options| options.approver = says.clone()).await;
    says.say(Approval::Always);
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
    let long: String = "do evil ".repeat(200);
    fake.tools(json!([{"name": "a", "description": long}]));
    fake.notify("notifications/tools/list_changed");
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    says.say(Approval::Always);
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
    assert!(call(&bridge, "mcp__srv__a").await.is_error, "the approval was for one call");
    let asked = says.1.lock().unwrap();
    assert!(asked[1].changed_is_cut && asked[1].once_only);
}

#[tokio::test(start_paused = true)]
async fn changed_definition_is_asked_about_again_within_the_turn() {
    let (fake, says) = (Fake::new(&["a"]), Arc::new(Says::default()));
    let bridge = untrusted(&fake, |options| options.approver = says.clone()).await;
    says.say(Approval::Always);
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
    let turn = bridge.snapshot();
    fake.tools(json!([{"name": "a", "description": "Does evil."}]));
    fake.notify("notifications/tools/list_changed");
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let outcome = turn.call("mcp__srv__a", args(&json!({})), CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Denied));
    let asked = says.1.lock().unwrap();
    assert!(asked[1].changed.as_deref().unwrap().starts_with("+ description: \"Does evil.\""));
}

#[tokio::test(start_paused = true)]
async fn changed_definition_of_a_trusted_server_is_reported_and_optionally_asked_about() {
    for asks in [false, true] {
        let (fake, says) = (Fake::new(&["a"]), Arc::new(Says::default()));
        let bridge = one(&fake, |options| {
            options.approver = says.clone();
            options.ask_on_change = asks;
        })
        .await;
        let mut events = bridge.events();
        assert!(!call(&bridge, "mcp__srv__a").await.is_error);
        fake.tools(json!([{"name": "a", "description": "Does evil."}]));
        fake.notify("notifications/tools/list_changed");
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let is_told = |event: &Event| matches!(event, Event::DefinitionChanged { .. });
        assert_eq!(all(&mut events).iter().filter(|event| is_told(event)).count(), 1);
        assert_eq!(call(&bridge, "mcp__srv__a").await.is_error, asks);
        says.say(Approval::Once);
        assert!(!call(&bridge, "mcp__srv__a").await.is_error);
        assert!(!call(&bridge, "mcp__srv__a").await.is_error, "the user was asked already");
        assert_eq!(says.asked(), if asks { 2 } else { 0 });
    }
}

struct AllowsAll(Decision);

impl Policy for AllowsAll {
    fn decide(&self, _: &PolicyCall<'_>) -> Decision {
        self.0.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn destructive_tools_need_approval_under_any_policy() {
    for (decision, asked) in [(Decision::Allow, 1), (Decision::AllowDestructive, 0)] {
        let (fake, says) = (Fake::new(&[]), Arc::new(Says::default()));
        fake.tools(json!([{"name": "drop", "annotations": {"destructiveHint": true}}]));
        let bridge = one(&fake, |options| {
            options.policy = Arc::new(AllowsAll(decision.clone()));
            options.approver = says.clone();
        })
        .await;
        assert_eq!(call(&bridge, "mcp__srv__drop").await.is_error, asked > 0);
        assert_eq!(says.asked(), asked, "{decision:?}");
    }
}

/// A hook that blocks calls and records those it saw afterwards.
struct OnlyAbout(&'static str, Mutex<Vec<String>>);

impl Hook for OnlyAbout {
    fn matcher(&self) -> &str {
        self.0
    }

    fn before<'a>(&'a self, _: &'a mut HookCall) -> BoxFuture<'a, Verdict> {
        Box::pin(async { Verdict::Block("not now".into()) })
    }

    fn after<'a>(&'a self, call: &'a HookCall, _: &'a mut ToolOutcome) -> BoxFuture<'a, ()> {
        self.1.lock().unwrap().push(call.spec.name.clone());
        Box::pin(async {})
    }
}

#[tokio::test(start_paused = true)]
async fn hook_applies_to_matching_tools_and_runs_after_a_blocked_call() {
    let fake = Fake::new(&["read_x", "write_x"]);
    let hook = Arc::new(OnlyAbout("mcp__srv__write_*", Mutex::default()));
    let bridge = one(&fake, |options| options.hooks = vec![hook.clone()]).await;
    assert!(!call(&bridge, "mcp__srv__read_x").await.is_error);
    assert_eq!(call(&bridge, "mcp__srv__write_x").await.text_content(), "blocked: not now");
    assert_eq!(*hook.1.lock().unwrap(), ["mcp__srv__write_x"]);
}

/// Records the server of each request.
#[derive(Default)]
struct Host(Mutex<Vec<String>>);

impl Handler for Host {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered.sampling = true;
        offered.roots = true;
        offered
    }

    fn elicit_for(&self, server: &str, _: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        self.0.lock().unwrap().push(server.to_owned());
        Box::pin(async { ElicitResult::decline() })
    }

    fn sample_for(
        &self,
        server: &str,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        let context = request.include_context.unwrap_or_else(|| "no context".into());
        self.0.lock().unwrap().push(format!("{server}: {context}"));
        Box::pin(async { Err(Refusal::new("no")) })
    }
}

#[tokio::test(start_paused = true)]
async fn untrusted_servers_get_no_sampling_or_roots_and_requests_name_their_server() {
    for allowed in [false, true] {
        let (fake, host) = (Fake::new(&["a"]), Arc::new(Host::default()));
        fake.on_call(|_, _| Reply::Elicit);
        let bridge = untrusted(&fake, |options| {
            options.handler = host.clone();
            options.policy = Arc::new(AllowsAll(Decision::Allow));
            options.untrusted_sampling = allowed;
            options.untrusted_roots = allowed;
        })
        .await;
        let offered = fake.seen("initialize")[0]["capabilities"].clone();
        assert_eq!(offered.get("sampling").is_some(), allowed, "{offered}");
        assert_eq!(offered.get("roots").is_some(), allowed, "{offered}");
        call(&bridge, "mcp__srv__a").await;
        assert_eq!(*host.0.lock().unwrap(), ["srv"]);
        let params = json!({"messages": [], "maxTokens": 5, "includeContext": "allServers"});
        let request = mcp_jsonrpc::Request::new(
            "s1",
            "sampling/createMessage",
            mcp_bridge::RawJson::encode(&params).ok(),
        );
        fake.send(&mcp_jsonrpc::Message::Request(request));
        settled().await;
        let expected = if allowed { vec!["srv", "srv: no context"] } else { vec!["srv"] };
        assert_eq!(*host.0.lock().unwrap(), expected);
    }
}
