//! The scripted server of the test kit, used through a client.

use mcp_client::{Client, ClientOptions, EraChoice};
use mcp_server::testing::Scripted;
use mcp_tests::soon;
use mcp_tool::ToolOutcome;
use serde_json::json;

#[tokio::test]
async fn scripted_calls_are_answered_as_written() {
    let server = Scripted::new()
        .tool("weather", "Tells the weather")
        .on_call("weather", &json!({"city": "Bern", "days": 1}), "sunny")
        .on_call("weather", &json!({"city": "Bern", "days": 1}), "rainy")
        .on_call("weather", &json!({"city": "Atlantis"}), ToolOutcome::error("no such city"))
        .tool("clock", "Tells the time")
        .on_any_call("clock", ToolOutcome::structured(&json!({"hour": 12})));
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let options = ClientOptions::default().with_era(era);
        let client = soon("the handshake", Client::connect(&server, options)).await.unwrap();
        let tools = soon("the tools", client.list_tools()).await.unwrap();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["weather", "clock"]
        );
        let clock = soon("the time", client.call_tool("clock", &json!({"zone": "UTC"}))).await;
        assert_eq!(clock.unwrap().structured::<serde_json::Value>().unwrap(), json!({"hour": 12}));
        let bad = soon("an error", client.call_tool("weather", &json!({"city": "Atlantis"}))).await;
        assert!(bad.as_ref().unwrap().is_error && bad.unwrap().text() == "no such city");
    }

    let options = ClientOptions::default();
    let client = soon("the handshake", Client::connect(&server, options)).await.unwrap();
    for expected in ["sunny", "rainy", "rainy"] {
        // Members in a different order than in the script.
        let arguments = json!({"days": 1, "city": "Bern"});
        let told = soon("the weather", client.call_tool("weather", &arguments)).await.unwrap();
        assert_eq!(told.text(), expected);
    }
    let unknown = soon("a refusal", client.call_tool("weather", &json!({"city": "Rome"}))).await;
    let text = unknown.unwrap_err().to_string();
    assert!(text.contains(r#"no scripted result for `weather` with {"city":"Rome"}"#), "{text}");
    let calls = server.calls();
    let last = calls.last().unwrap();
    assert_eq!((calls.len(), last.tool.as_str(), last.is_answered), (8, "weather", false));
}
