//! Faults that can be injected, and the messages they apply to.

use std::{borrow::Cow, time::Duration};

/// A fault that applies to a message, or from a message on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is delayed by this much, and later messages wait behind it.
    Delay(Duration),
    /// It never arrives.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It waits for the next message, and is delivered after it.
    Reorder,
    /// It is serialized and parsed again in chunks of this many bytes, which should not change anything.
    Split(usize),
    /// This many bytes of its text are changed. If the result is not a message, it is counted and dropped.
    Corrupt(usize),
    /// The peer closes the link instead of it.
    Close,
    /// Neither it nor any later message arrives in this direction, without an error.
    HalfOpen,
    /// From it on, no message moves in either direction: queues fill up, and the peer has to wait.
    Stall,
}

/// The messages of one direction of a link that a fault applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// The message with this number, starting from 1 on every link.
    Nth(u64),
    /// The messages of this method. A response has the method of its request.
    Method(Cow<'static, str>),
    /// All messages.
    Always,
}

/// The faults of a [`Faulty`](super::Faulty) link. A plan is deterministic.
///
/// ```
/// use mcp_transport::testing::{Fault, Plan, When};
/// use std::time::Duration;
///
/// let plan = Plan::new()
///     .outgoing(When::Nth(2), Fault::Drop)
///     .incoming(When::Method("tools/call".into()), Fault::Delay(Duration::from_secs(3)));
/// ```
///
/// Several faults of one message are applied in the order they were planned.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub(super) outgoing: Vec<Rule>,
    pub(super) incoming: Vec<Rule>,
    pub(super) seed: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    when: When,
    fault: Fault,
}

impl Plan {
    /// A plan without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a fault in the direction to the server.
    #[must_use]
    pub fn outgoing(mut self, when: When, fault: Fault) -> Self {
        self.outgoing.push(Rule { when, fault });
        self
    }

    /// Adds a fault in the direction from the server.
    #[must_use]
    pub fn incoming(mut self, when: When, fault: Fault) -> Self {
        self.incoming.push(Rule { when, fault });
        self
    }

    /// Sets the seed for the bytes that [`Fault::Corrupt`] changes.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl Rule {
    /// Returns the fault for the `nth` message, which has this `method`.
    pub(super) fn fault(&self, nth: u64, method: Option<&str>) -> Option<Fault> {
        let happens = match &self.when {
            When::Nth(wanted) => *wanted == nth,
            When::Method(wanted) => method == Some(wanted),
            When::Always => true,
        };
        happens.then_some(self.fault)
    }
}
