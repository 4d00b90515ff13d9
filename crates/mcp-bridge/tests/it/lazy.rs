//! Tool search: tools beyond the threshold are searched for, loaded, and found in the catalogue.

use std::time::Duration;

use mcp_bridge::{Bridge, CallContext, ConversationOptions, ServerState, Tool};
use mcp_config::model::{AlwaysLoad, ConnectMode};
use serde_json::{Value, json};

use crate::support::{
    Fake, args, call, config, fakes, names, one, options, reached, settled, told, tool,
};

fn many(count: usize) -> Value {
    (0..count)
        .map(|n| match n {
            7 => json!({"name": "send_invoice", "description": "Sends an invoice to a customer by mail. And more."}),
            n => tool(&format!("thing_{n}")),
        })
        .collect()
}

async fn search(bridge: &Bridge, query: Value) -> Value {
    let outcome = bridge.call("tool_search", args(&query), CallContext::default()).await;
    serde_json::from_str(&outcome.text_content()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn tool_search_starts_above_twenty_tools() {
    for (count, shown) in [(20, 20), (21, 2)] {
        let fake = Fake::new(&[]);
        fake.tools(many(count));
        let bridge = one(&fake, |_| {}).await;
        assert_eq!(names(&bridge).len(), shown);
        assert_eq!(bridge.snapshot().is_lazy(), count == 21);
    }
}

#[tokio::test(start_paused = true)]
async fn found_tools_stay_loaded_in_the_conversation() {
    let fake = Fake::new(&[]);
    fake.tools(many(40));
    let bridge = one(&fake, |_| {}).await;
    let mut events = bridge.events();
    let before = bridge.snapshot();
    let found = search(&bridge, json!({"query": "bill a customer"})).await;
    assert_eq!(found["matches"][0]["id"], "mcp__srv__send_invoice");
    assert_eq!(
        found["matches"][0]["description"], "Sends an invoice to a customer by mail. And more.",
        "the full description"
    );
    assert!(before.get("mcp__srv__send_invoice").is_none(), "the current turn is unchanged");
    assert_eq!(names(&bridge).last().unwrap(), "mcp__srv__send_invoice");
    assert!(!call(&bridge, "mcp__srv__send_invoice").await.is_error);
    let told = told(&mut events);
    assert!(told.contains(&"tool.search") && told.contains(&"tool.dynamicLoad"), "{told:?}");
    let other = bridge.start_conversation(ConversationOptions::default());
    assert!(other.snapshot().get("mcp__srv__send_invoice").is_none(), "another conversation");
    let by_pattern = search(&bridge, json!({"query": "thing_(1|2)$", "regex": true})).await;
    assert_eq!(by_pattern["matches"].as_array().unwrap().len(), 2);
    let exact = search(&bridge, json!({"query": "select:thing_33,nothing"})).await;
    assert_eq!(exact["matches"][0]["id"], "mcp__srv__thing_33");
    assert_eq!(exact["missing"][0]["name"], "nothing");
    assert!(
        !call(&bridge, "mcp__srv__thing_39").await.is_error,
        "a call by exact name loads the tool"
    );
    let cost = bridge.conversation().statistics().total();
    assert!(cost.now < cost.definitions && cost.loaded < cost.tools);
    assert_eq!(bridge.conversation().summaries().len(), cost.tools - cost.loaded);
}

#[tokio::test(start_paused = true)]
async fn always_loaded_tools_stay_and_tool_list_shows_the_others() {
    let fake = Fake::new(&[]);
    fake.tools(many(40));
    let mut options = options(&fakes([("srv", &fake)]));
    options.always_load = vec!["mcp__*__thing_3".into()];
    let bridge = Bridge::new(options);
    let mut server = config("srv");
    server.always_load = AlwaysLoad::Tools(vec!["thing_5".into()]);
    bridge.add_server_as_written(server);
    bridge.start().await;
    let shown = names(&bridge);
    assert_eq!(shown[..2], ["mcp__srv__thing_3", "mcp__srv__thing_5"]);
    let listed =
        bridge.call("tool_list", args(&json!({"server": "srv"})), CallContext::default()).await;
    let listed: Value = serde_json::from_str(&listed.text_content()).unwrap();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 40);
    assert_eq!(listed["tools"][7]["description"], "Sends an invoice to a customer by mail.");
    let servers = call(&bridge, "tool_list").await;
    assert_eq!(servers.text_content(), r#"{"servers":[{"server":"srv","tools":40}]}"#);
}

#[tokio::test(start_paused = true)]
async fn filter_applies_to_search_and_token_budget_enables_it() {
    let fake = Fake::new(&[]);
    fake.tools(many(12));
    let bridge = one(&fake, |options| options.token_budget = Some(50)).await;
    assert!(bridge.snapshot().is_lazy());
    let mut options = ConversationOptions::default();
    options.deny = vec!["mcp:srv:send_*".into()];
    let conversation = bridge.start_conversation(options);
    let query = args(&json!({"query": "send invoice"}));
    let found = conversation.call("tool_search", query, CallContext::default()).await;
    assert!(!found.text_content().contains("send_invoice"), "{found}");
    // A misspelled name must not reveal it either.
    let query = args(&json!({"query": "select:send_invoic"}));
    let found = conversation.call("tool_search", query, CallContext::default()).await;
    assert!(!found.text_content().contains("send_invoice"), "{found}");
}

#[tokio::test(start_paused = true)]
async fn filtered_conversation_finds_its_tool_among_better_matches() {
    let fake = Fake::new(&[]);
    let tools: Vec<_> = (0..200)
        .map(|n| json!({"name": format!("invoice_{n}"), "description": "Sends an invoice."}))
        .chain(
            (0..25).map(|n| json!({"name": format!("other_{n}"), "description": "Waters plants."})),
        )
        .chain([
            json!({"name": "mine", "description": "Does this and that, and may send an invoice."}),
        ])
        .collect();
    fake.tools(json!(tools));
    let bridge = one(&fake, |_| {}).await;
    let mut options = ConversationOptions::default();
    options.deny = vec!["mcp:srv:invoice_*".into()];
    let conversation = bridge.start_conversation(options);
    let query = args(&json!({"query": "send invoice"}));
    let found = conversation.call("tool_search", query, CallContext::default()).await;
    assert!(found.text_content().contains("mcp__srv__mine"), "{found}");
}

#[tokio::test(start_paused = true)]
async fn catalogued_tools_are_found_and_the_first_call_starts_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new(&[]);
    fake.tools(many(40));
    let with_catalogue = |lazy: bool| {
        let mut options = options(&fakes([("srv", &fake)]));
        options.catalogue = Some(folder.path().to_owned());
        let bridge = Bridge::new(options);
        let mut server = config("srv");
        server.connect = Some(if lazy { ConnectMode::Lazy } else { ConnectMode::Eager });
        bridge.add_server_as_written(server);
        bridge
    };
    let first = with_catalogue(true);
    assert!(first.connect("srv").is_ok());
    reached(&first, "srv", ServerState::is_connected).await;
    first.shutdown().await;
    drop(first);
    let connects = fake.connects();
    let again = with_catalogue(true);
    // The catalogue is loaded without waiting for any task.
    assert!(again.snapshot().is_lazy());
    assert_eq!(again.conversation().summaries().len(), 40);
    assert_eq!(again.status()[0].generation, 1);
    again.start().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(again.status()[0].state, ServerState::Idle);
    let found = search(&again, json!({"query": "invoice"})).await;
    assert_eq!(found["matches"][0]["id"], "mcp__srv__send_invoice");
    assert_eq!(fake.connects(), connects, "nothing was started");
    assert!(!call(&again, "mcp__srv__send_invoice").await.is_error);
    assert_eq!(fake.connects(), connects + 1);
    let spec = again.snapshot().get("mcp__srv__send_invoice").unwrap().spec().clone();
    fake.tools(json!([tool("send_invoice")]));
    again.reconnect("srv").unwrap();
    settled().await;
    reached(&again, "srv", ServerState::is_connected).await;
    let now = again.conversation().tool("mcp__srv__send_invoice").unwrap();
    assert_ne!(now.spec().hash, spec.hash);
    let _: &dyn Tool = &*now;
}

#[tokio::test(start_paused = true)]
async fn search_starts_servers_without_a_known_listing() {
    let fake = Fake::new(&["send_invoice"]);
    let bridge = Bridge::new(options(&fakes([("srv", &fake)])));
    let mut server = config("srv");
    server.connect = Some(ConnectMode::Lazy);
    bridge.add_server_as_written(server);
    bridge.start().await;
    settled().await;
    assert_eq!(
        (fake.connects(), names(&bridge)),
        (0, vec!["tool_search".into(), "tool_list".into()])
    );
    let found = search(&bridge, json!({"query": "invoice"})).await;
    assert_eq!(found["matches"][0]["id"], "mcp__srv__send_invoice");
    assert_eq!((fake.connects(), names(&bridge)), (1, vec!["mcp__srv__send_invoice".to_owned()]));
}
