//! One direction of a faulty link. Plain state: time is an argument.

use std::{collections::VecDeque, time::Duration};

use mcp_jsonrpc::Message;
use tokio::time::Instant;

use super::{
    super::fault::{Fault, Rule},
    Outgoing,
};
use crate::{io::line_reader::LineReader, link::Inbound};

/// An item of a channel, which contains a message.
pub(super) trait Item: Clone {
    fn message(&self) -> Option<&Message>;
    fn with(&self, message: Message) -> Self;
}

impl Item for Inbound {
    fn message(&self) -> Option<&Message> {
        match self {
            Inbound::Message(message) => Some(message),
            Inbound::Reply(_) | Inbound::Lost { .. } => None,
        }
    }

    fn with(&self, message: Message) -> Self {
        Inbound::Message(message)
    }
}

impl Item for Outgoing {
    fn message(&self) -> Option<&Message> {
        Some(&self.message)
    }

    fn with(&self, message: Message) -> Self {
        Self { ticket: self.ticket, message }
    }
}

/// The messages in transit in one direction, and the faults planned for them.
pub(super) struct Channel<T> {
    rules: Vec<Rule>,
    seed: u64,
    count: u64,
    queue: VecDeque<(Instant, T)>,
    /// Waits for the next message, to be delivered after it.
    held: Option<(Instant, T)>,
    /// The number of messages since a stall. They never move again, so they are only counted.
    stuck: Option<usize>,
    /// Whether all messages are dropped.
    pub(super) half_open: bool,
    /// The number of lines that are not messages after a corruption.
    pub(super) noise: u64,
}

/// The effect of a message on the link as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    Close,
    Stall,
}

impl<T: Item> Channel<T> {
    pub(super) fn new(rules: Vec<Rule>, seed: u64) -> Self {
        // The generator never leaves a state of zero, so the seed must not be zero.
        let seed = (seed ^ 0x9E37_79B9_7F4A_7C15) | 1;
        let (queue, held) = (VecDeque::new(), None);
        Self { rules, seed, count: 0, queue, held, stuck: None, half_open: false, noise: 0 }
    }

    /// Whether the next message, of `method`, can be forwarded unchanged.
    pub(super) fn is_clear(&self, method: Option<&str>) -> bool {
        let mut faults = self.rules.iter().filter_map(|rule| rule.fault(self.count + 1, method));
        !self.half_open && self.queue.is_empty() && self.held.is_none() && faults.next().is_none()
    }

    /// Counts a message that was forwarded unchanged.
    pub(super) fn passed(&mut self) {
        self.count += 1;
    }

    /// Stops all messages.
    pub(super) fn stall(&mut self) {
        self.stuck.get_or_insert(0);
    }

    /// Accepts the next message, of `method`, and applies its faults.
    pub(super) fn push(&mut self, item: T, method: Option<&str>, now: Instant) -> Effect {
        if let Some(stuck) = &mut self.stuck {
            *stuck += 1;
            return Effect::None;
        }
        let Some(message) = item.message() else {
            self.enqueue(now, vec![item], false);
            return Effect::None;
        };
        self.count += 1;
        let nth = self.count;
        let faults: Vec<Fault> =
            self.rules.iter().filter_map(|rule| rule.fault(nth, method)).collect();
        let (mut copies, mut delay) = (vec![message.clone()], Duration::ZERO);
        let (mut reorder, mut effect) = (false, Effect::None);
        for fault in faults {
            match fault {
                Fault::Delay(more) => delay += more,
                Fault::Drop => copies.clear(),
                Fault::Duplicate => {
                    copies = copies.iter().flat_map(|m| [m.clone(), m.clone()]).collect();
                }
                Fault::Reorder => reorder = true,
                Fault::Split(size) => copies = self.reframed(&copies, size, 0),
                Fault::Corrupt(bytes) => copies = self.reframed(&copies, usize::MAX, bytes),
                Fault::HalfOpen => self.half_open = true,
                Fault::Stall => {
                    copies.clear();
                    self.stuck = Some(1);
                    effect = Effect::Stall;
                }
                Fault::Close => {
                    copies.clear();
                    effect = Effect::Close;
                }
            }
        }
        if !self.half_open {
            let copies = copies.into_iter().map(|message| item.with(message)).collect();
            // A delay beyond the clock's range is ignored, which avoids a panic.
            self.enqueue(now.checked_add(delay).unwrap_or(now), copies, reorder);
        }
        effect
    }

    fn enqueue(&mut self, due: Instant, items: Vec<T>, reorder: bool) {
        let mut items = items.into_iter().map(|item| (due, item));
        if reorder && self.held.is_none() {
            self.held = items.next();
            self.queue.extend(items);
            return;
        }
        let held = items.len() > 0;
        self.queue.extend(items);
        if held {
            self.queue.extend(self.held.take());
        }
    }

    /// Releases the held message, since no message will follow.
    pub(super) fn finish(&mut self) {
        self.queue.extend(self.held.take());
    }

    /// Returns the next message that is due, without [taking](Self::take) it.
    pub(super) fn due(&self, now: Instant) -> Option<&T> {
        self.queue.front().filter(|(due, _)| *due <= now).map(|(_, item)| item)
    }

    pub(super) fn take(&mut self) -> Option<T> {
        self.queue.pop_front().map(|(_, item)| item)
    }

    /// Returns when the next message is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.queue.front().map(|(due, _)| *due)
    }

    /// Returns all messages that have not been taken yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &T> {
        self.queue.iter().chain(&self.held).map(|(_, item)| item)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.stuck.unwrap_or(0)
    }

    /// Serializes the messages and parses them again in chunks of `size` bytes, with `flipped` bytes changed.
    fn reframed(&mut self, messages: &[Message], size: usize, flipped: usize) -> Vec<Message> {
        let (mut reader, mut arrived) = (LineReader::new(usize::MAX), Vec::new());
        for message in messages {
            let mut text = Vec::new();
            message.write(&mut text);
            for _ in 0..flipped {
                let (at, change) = (self.random(), self.random());
                // Never zero, so the byte changes.
                let change = u8::try_from(change % 255).unwrap_or(0) + 1;
                let at = usize::try_from(at % text.len() as u64).unwrap_or(0);
                text[at] ^= change;
            }
            text.push(b'\n');
            for piece in text.chunks(size.max(1)) {
                reader.buffer().extend_from_slice(piece);
                reader.take(&mut arrived);
            }
        }
        let mut diagnostics = crate::diagnostics::Diagnostics::default();
        reader.skipped().report_to(&mut diagnostics);
        self.noise += diagnostics.skipped_lines;
        let arrived = arrived.into_iter().map(Inbound::read);
        // Text that only resembles a response counts as noise too.
        let (messages, noise): (Vec<_>, Vec<_>) =
            arrived.map(|inbound| inbound.message().cloned()).partition(Option::is_some);
        self.noise += noise.len() as u64;
        messages.into_iter().flatten().collect()
    }

    /// Xorshift: of low quality, but deterministic.
    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }
}
