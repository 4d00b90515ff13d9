//! What may go wrong on purpose, and when.

use std::{borrow::Cow, time::Duration};

/// Something that goes wrong with a message, or from a message on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It takes this much longer, and whatever follows it waits behind it.
    Delay(Duration),
    /// It never arrives.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It changes places with the message after it, for which it waits.
    Reorder,
    /// It is written as text and read again in pieces of this many bytes, which should change nothing.
    Split(usize),
    /// This many bytes of its text are changed. If the rest is no message, it is counted and gone.
    Corrupt(usize),
    /// The other side goes away instead of it.
    Close,
    /// Neither it nor anything after it arrives in this direction, and nobody is told.
    HalfOpen,
    /// From it on nothing moves in either direction: queues fill, and the other side has to wait.
    Stall,
}

/// Which messages of one direction of a link a fault happens to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// This one, counted from 1 on every link.
    Nth(u64),
    /// Those of this method. An answer is of the method of its request.
    Method(Cow<'static, str>),
    /// All of them.
    Always,
}

/// What goes wrong on a [`Faulty`](super::Faulty) link. The same plan does the same every time.
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
/// Faults that fall on one message happen to it in the order they were planned.
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
    /// Nothing goes wrong.
    pub fn new() -> Self {
        Self::default()
    }

    /// Something goes wrong on the way to the server.
    #[must_use]
    pub fn outgoing(mut self, when: When, fault: Fault) -> Self {
        self.outgoing.push(Rule { when, fault });
        self
    }

    /// Something goes wrong on the way from the server.
    #[must_use]
    pub fn incoming(mut self, when: When, fault: Fault) -> Self {
        self.incoming.push(Rule { when, fault });
        self
    }

    /// Another choice of the bytes that [`Fault::Corrupt`] changes.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl Rule {
    /// What happens to the `nth` message, which is of `method`.
    pub(super) fn fault(&self, nth: u64, method: Option<&str>) -> Option<Fault> {
        let happens = match &self.when {
            When::Nth(wanted) => *wanted == nth,
            When::Method(wanted) => method == Some(wanted),
            When::Always => true,
        };
        happens.then_some(self.fault)
    }
}
