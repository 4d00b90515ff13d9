//! `cargo test -p example-testing`

use example_testing::{Advice, advise};
use mcp_host::{
    Bridge, BridgeOptions,
    testing::{
        Scripted, bridge_over, bridge_with,
        faults::{Fault, Faulty, Plan, When},
        record::{Cassette, Recorder, Replay},
    },
    tools::ToolOutcome,
};
use serde_json::json;

fn weather() -> Scripted {
    Scripted::new()
        .tool("forecast", "Tells the weather")
        .on_call("forecast", &json!({"city": "Bern"}), "sunny")
        .on_call("forecast", &json!({"city": "Bergen"}), "rain, as ever")
        .on_call("forecast", &json!({"city": "Atlantis"}), ToolOutcome::error("no such city"))
}

async fn done(bridge: Bridge, city: &str) -> Advice {
    let advice = advise(&bridge, city).await;
    bridge.shutdown().await;
    advice
}

#[tokio::test]
async fn advice_follows_the_forecast() {
    let server = weather();
    let bridge = bridge_over(server.clone()).await;
    assert_eq!(advise(&bridge, "Bern").await, Advice::Enjoy);
    assert_eq!(advise(&bridge, "Bergen").await, Advice::TakeUmbrella);
    assert_eq!(advise(&bridge, "Atlantis").await, Advice::Unknown { try_again: false });
    assert_eq!(server.calls().len(), 3);
    bridge.shutdown().await;
}

/// The cassette of a session with the real server is a file of the repository. Here both are made on the spot.
#[tokio::test]
async fn a_recorded_session_is_played_without_the_server() {
    let recorder = std::sync::Arc::new(Recorder::new(weather()));
    assert_eq!(done(bridge_over(recorder.clone()).await, "Bergen").await, Advice::TakeUmbrella);
    let file = recorder.cassette().to_string();

    let cassette: Cassette = file.parse().unwrap();
    assert_eq!(
        done(bridge_over(Replay::new(cassette)).await, "Bergen").await,
        Advice::TakeUmbrella
    );
}

/// The clock is paused, so the time limit of two minutes costs none.
#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_is_lost_is_not_tried_again() {
    let plan = Plan::new().incoming(When::Method("tools/call".into()), Fault::Drop);
    let server = weather();
    let options = BridgeOptions::default();
    let bridge = bridge_with(options, Faulty::new(server.clone(), plan)).await;
    assert_eq!(done(bridge, "Bern").await, Advice::Unknown { try_again: false });
    assert_eq!(server.calls().len(), 1, "the call may have been carried out");
}
