//! The scenarios, by theme.

mod answers;
mod backpressure;
mod ending;
mod limits;
mod order;

use super::Scenario;

macro_rules! scenarios {
    ($($(#[$need:ident])* $theme:ident::$name:ident,)*) => {
        /// Returns all scenarios.
        pub fn scenarios() -> &'static [Scenario] {
            const ALL: &[Scenario] = &[$(
                Scenario::new(stringify!($name), |connect| Box::pin($theme::$name(connect)))
                    $(.$need())*
            ),*];
            ALL
        }
    };
}

scenarios! {
    answers::echo_comes_back,
    answers::responses_match_their_requests,
    answers::duplicate_responses_are_delivered,
    answers::responses_without_a_request_are_delivered,
    answers::batches_are_taken_apart,
    #[needs_order] answers::responses_may_arrive_out_of_order,
    answers::cancelled_call_frees_its_id,
    answers::server_requests_are_delivered,
    answers::many_tasks_share_a_link,
    order::order_is_kept_both_ways,
    order::abandoned_polls_lose_nothing,
    order::two_connections_are_two_servers,
    order::an_abandoned_attempt_leaves_the_next_one_alone,
    limits::oversized_response_fails_alone,
    limits::response_below_the_limit_arrives,
    #[needs_text] limits::stray_bytes_are_skipped_and_counted,
    limits::diagnostics_hold_no_contents,
    #[needs_order] backpressure::server_that_floods_without_reading_blocks_no_sender,
    backpressure::full_queue_refuses_and_signals_when_drained,
    #[needs_order] backpressure::requests_unread_by_a_dead_server_were_not_sent,
    ending::close_delivers_what_was_sent_and_reports_a_request,
    ending::close_ends_a_server_that_does_not_listen,
    #[needs_channel] ending::a_server_that_dies_is_reported_as_ended,
    #[needs_channel] ending::a_server_that_closes_its_output_is_reported,
    ending::a_link_without_its_inlet_refuses_to_send,
}
