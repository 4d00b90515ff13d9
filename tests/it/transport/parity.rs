//! The parity suite over every transport and wrapper.

use mcp_transport::{
    Connect, InProcess, InProcessOptions, Stdio, StdioOptions, Ws,
    record::Recorder,
    testing::{
        Fault, Faulty, Plan, When,
        parity::{self, MAX_MESSAGE, MAX_QUEUED, Scenario},
    },
};

use super::http::{Answers, fresh};

fn stdio() -> Stdio {
    let mut options = StdioOptions::new(env!("CARGO_BIN_EXE_parity-server"));
    options.max_message = MAX_MESSAGE;
    options.max_queued = MAX_QUEUED;
    Stdio::new(options)
}

async fn ws(is_secure: bool) -> Ws {
    let mut options = super::ws::parity_server(is_secure).await;
    options.max_message = MAX_MESSAGE;
    options.max_queued = MAX_QUEUED;
    Ws::new(options)
}

fn in_process(through_text: bool) -> InProcess {
    let mut options = InProcessOptions::default();
    options.max_message = MAX_MESSAGE;
    options.through_text = through_text;
    InProcess::with_options(parity::serve, options)
}

/// Serializes every message and delivers it in small pieces, in both directions.
fn split() -> Plan {
    let split = Fault::Split(7);
    Plan::new().outgoing(When::Always, split).incoming(When::Always, split)
}

async fn play(name: &str, transport: &dyn Connect) {
    let scenario = parity::scenarios().iter().find(|scenario| scenario.name == name);
    let scenario = scenario.unwrap_or_else(|| panic!("unknown scenario `{name}`"));
    if let Err(violation) = scenario.run(transport).await {
        panic!("{violation}");
    }
}

/// The capability a transport needs for this scenario, if any.
fn need(scenario: &Scenario) -> &'static str {
    match (scenario.needs_text, scenario.needs_order, scenario.needs_channel) {
        (true, ..) => "text",
        (_, true, _) => "order",
        (.., true) => "channel",
        _ => "",
    }
}

/// Defines a test for each scenario and transport, named `scenario::transport`.
macro_rules! over_every_transport {
    ($($(#[$only:ident])? $scenario:ident,)*) => {
        $(mod $scenario {
            over_every_transport!(@carriers $scenario $($only)?);
        })*

        #[test]
        fn every_scenario_runs_over_every_capable_transport() {
            let all: Vec<_> = parity::scenarios().iter().map(|s| (s.name, need(s))).collect();
            assert_eq!(all, [$((stringify!($scenario), concat!($(stringify!($only))?))),*]);
        }
    };
    (@carriers $scenario:ident) => {
        over_every_transport!(@pipes $scenario);
        over_every_transport!(@memory $scenario);
        over_every_transport!(@stream $scenario);
        over_every_transport!(@play $scenario
            http_with_json = super::fresh(super::Answers::Json).await;
            http_with_events = super::fresh(super::Answers::Events).await;
        );
    };
    (@carriers $scenario:ident text) => {
        over_every_transport!(@pipes $scenario);
        over_every_transport!(@stream $scenario);
    };
    (@carriers $scenario:ident order) => {
        over_every_transport!(@pipes $scenario);
        over_every_transport!(@memory $scenario);
    };
    (@carriers $scenario:ident channel) => {
        over_every_transport!(@pipes $scenario);
        over_every_transport!(@memory $scenario);
        over_every_transport!(@stream $scenario);
    };
    (@memory $scenario:ident) => {
        over_every_transport!(@play $scenario
            in_process = super::in_process(false);
            in_process_through_text = super::in_process(true);
            recorder_around_in_process = super::Recorder::new(super::in_process(false));
        );
    };
    (@stream $scenario:ident) => {
        over_every_transport!(@play $scenario sse = super::fresh(super::Answers::Stream).await;);
    };
    (@pipes $scenario:ident) => {
        over_every_transport!(@play $scenario
            stdio = super::stdio();
            ws = super::ws(false).await;
            wss = super::ws(true).await;
            recorder_around_stdio = super::Recorder::new(super::stdio());
            faulty_without_faults = super::Faulty::new(super::stdio(), super::Plan::new());
            faulty_that_only_splits = super::Faulty::new(super::stdio(), super::split());
        );
    };
    (@play $scenario:ident $($transport:ident = $connect:expr;)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $transport() {
            super::play(stringify!($scenario), &$connect).await;
        })*
    };
}

over_every_transport! {
    echo_comes_back,
    responses_match_their_requests,
    duplicate_responses_are_delivered,
    responses_without_a_request_are_delivered,
    batches_are_taken_apart,
    #[order] responses_may_arrive_out_of_order,
    cancelled_call_frees_its_id,
    server_requests_are_delivered,
    many_tasks_share_a_link,
    order_is_kept_both_ways,
    abandoned_polls_lose_nothing,
    two_connections_are_two_servers,
    an_abandoned_attempt_leaves_the_next_one_alone,
    oversized_response_fails_alone,
    response_below_the_limit_arrives,
    #[text] stray_bytes_are_skipped_and_counted,
    diagnostics_hold_no_contents,
    #[order] server_that_floods_without_reading_blocks_no_sender,
    full_queue_refuses_and_signals_when_drained,
    #[order] requests_unread_by_a_dead_server_were_not_sent,
    close_delivers_what_was_sent_and_reports_a_request,
    close_ends_a_server_that_does_not_listen,
    #[channel] a_server_that_dies_is_reported_as_ended,
    #[channel] a_server_that_closes_its_output_is_reported,
    a_link_without_its_inlet_refuses_to_send,
}
