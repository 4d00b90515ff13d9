//! A little of a host, and in `tests/` the tests that it deserves: a scripted server, a cassette, faults.

use mcp_host::{Bridge, CallContext, Delivery, RawJson};

/// What the host makes of a forecast.
#[derive(Debug, PartialEq, Eq)]
pub enum Advice {
    TakeUmbrella,
    Enjoy,
    /// The server could not be asked; whether asking again is safe.
    Unknown {
        try_again: bool,
    },
}

/// Asks the server for the weather, and advises.
pub async fn advise(bridge: &Bridge, city: &str) -> Advice {
    let arguments = RawJson::encode(&serde_json::json!({"city": city}));
    let arguments = arguments.unwrap_or_else(|_| RawJson::empty_object());
    let outcome = bridge.call("mcp__server__forecast", arguments, CallContext::default()).await;
    match &outcome.failure {
        Some(failure) => Advice::Unknown { try_again: failure.delivery == Delivery::NotSent },
        None if outcome.is_error => Advice::Unknown { try_again: false },
        None if outcome.text_content().contains("rain") => Advice::TakeUmbrella,
        None => Advice::Enjoy,
    }
}
