//! One direction of a faulty link. Plain state: time is an argument.

use std::{collections::VecDeque, time::Duration};

use mcp_jsonrpc::Message;
use tokio::time::Instant;

use super::{
    super::fault::{Fault, Rule},
    Outgoing,
};
use crate::{lines::LineReader, link::Inbound};

/// What moves through a channel: something with a message in it.
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

/// Messages on their way in one direction, and what is planned for them.
pub(super) struct Channel<T> {
    rules: Vec<Rule>,
    seed: u64,
    count: u64,
    queue: VecDeque<(Instant, T)>,
    /// Waits to change places with the next one.
    held: Option<(Instant, T)>,
    /// How many have come since nothing moves any more. Since nothing ever will, they are only counted.
    stuck: Option<usize>,
    /// Whether everything is swallowed.
    pub(super) half_open: bool,
    /// Lines that were no messages any more.
    pub(super) noise: u64,
}

/// What a message did to the link as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    Close,
    Stall,
}

impl<T: Item> Channel<T> {
    pub(super) fn new(rules: Vec<Rule>, seed: u64) -> Self {
        // Any seed will do but zero, which this generator would never leave.
        let seed = (seed ^ 0x9E37_79B9_7F4A_7C15) | 1;
        let (queue, held) = (VecDeque::new(), None);
        Self { rules, seed, count: 0, queue, held, stuck: None, half_open: false, noise: 0 }
    }

    /// Whether the next message, of `method`, could be passed on as it is.
    pub(super) fn is_clear(&self, method: Option<&str>) -> bool {
        let mut faults = self.rules.iter().filter_map(|rule| rule.fault(self.count + 1, method));
        !self.half_open && self.queue.is_empty() && self.held.is_none() && faults.next().is_none()
    }

    /// Counts a message that was passed on as it is.
    pub(super) fn passed(&mut self) {
        self.count += 1;
    }

    /// Nothing moves any more.
    pub(super) fn stall(&mut self) {
        self.stuck.get_or_insert(0);
    }

    /// Takes the next message, of `method`, and does to it what is planned.
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
            // A delay beyond the clock's range is felt as none rather than as a panic.
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

    /// Nothing will follow, so nothing waits for it.
    pub(super) fn finish(&mut self) {
        self.queue.extend(self.held.take());
    }

    /// The next message that is due. It stays until it is [taken](Self::take).
    pub(super) fn due(&self, now: Instant) -> Option<&T> {
        self.queue.front().filter(|(due, _)| *due <= now).map(|(_, item)| item)
    }

    pub(super) fn take(&mut self) -> Option<T> {
        self.queue.pop_front().map(|(_, item)| item)
    }

    /// When to look again.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.queue.front().map(|(due, _)| *due)
    }

    /// Everything that has not been taken yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &T> {
        self.queue.iter().chain(&self.held).map(|(_, item)| item)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.stuck.unwrap_or(0)
    }

    /// The messages as they are after having been text, cut in pieces of `size` bytes, of which so
    /// many are `flipped`.
    fn reframed(&mut self, messages: &[Message], size: usize, flipped: usize) -> Vec<Message> {
        let (mut reader, mut arrived) = (LineReader::new(usize::MAX), Vec::new());
        for message in messages {
            let mut text = Vec::new();
            message.write(&mut text);
            for _ in 0..flipped {
                let (at, change) = (self.random(), self.random());
                // Never zero, so the byte does change.
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
        reader.skipped().add_to(&mut diagnostics);
        self.noise += diagnostics.skipped_lines;
        let arrived = arrived.into_iter().map(Inbound::read);
        // What only looked like an answer is noise too.
        let (messages, noise): (Vec<_>, Vec<_>) =
            arrived.map(|inbound| inbound.message().cloned()).partition(Option::is_some);
        self.noise += noise.len() as u64;
        messages.into_iter().flatten().collect()
    }

    /// Xorshift: poor randomness, and the same every time.
    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }
}
