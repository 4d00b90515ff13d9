//! The models of the write queue, over pipes.

use mcp_safe::secrets::Redactor;

use super::*;
use crate::io::write_queue::model::{self, Ends, Totals, Wire};

const WIRE: Wire = Wire { open, messages, frame: |text| format!("{text}\n").into_bytes() };

fn open(ends: Ends, max_queued: usize) -> (Link, Totals) {
    let mut options = StdioOptions::new("none");
    options.max_queued = max_queued;
    let stderr = Arc::new(StderrTail::new(None, Redactor::default()));
    let inlet = StdioInlet::new(Box::pin(ends.clone()), Box::pin(ends), None, stderr, &options);
    let outlet = inlet.outlet.clone();
    let totals = outlet.clone();
    let totals = Box::new(move || totals.queue.lock().totals());
    (Link { outlet, inlet: Box::new(inlet) }, totals)
}

fn messages(received: &[u8]) -> Vec<Vec<u8>> {
    received
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(<[u8]>::to_vec)
        .collect()
}

#[test]
fn concurrent_messages_arrive_whole() {
    model::concurrent_messages_arrive_whole(WIRE);
}

#[test]
fn rest_is_written_after_a_full_sink() {
    model::rest_is_written_after_a_full_sink(WIRE);
}

#[test]
fn blocked_sender_is_woken_after_drain() {
    model::blocked_sender_is_woken_after_drain(WIRE);
}
