//! Counts the results of calls.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::plan::Kind;

/// Number of failures that are quoted.
const QUOTED: usize = 8;
/// Buckets for powers of two of a microsecond: the last is more than half an hour.
const BUCKETS: usize = 32;

/// Counts for one kind of server.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) asked: AtomicU64,
    /// Calls with the right answer.
    pub(crate) answered: AtomicU64,
    /// Calls with a wrong answer.
    pub(crate) crossed: AtomicU64,
    /// Calls without an answer.
    pub(crate) lost: AtomicU64,
    /// Calls dropped by the caller.
    pub(crate) given_up: AtomicU64,
    /// Calls reported as unavailable because of an injected failure.
    pub(crate) refused: AtomicU64,
    times: [AtomicU64; BUCKETS],
}

impl Row {
    pub(crate) fn took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = (u64::BITS - micros.leading_zeros()) as usize;
        self.times[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
    }

    /// An upper bound, in microseconds, for the duration of `percent` of the calls. A power of two.
    pub(crate) fn within(&self, percent: u64) -> u64 {
        let counts = self.times.each_ref().map(|count| count.load(Ordering::Relaxed));
        let wanted = (counts.iter().sum::<u64>() * percent).div_ceil(100);
        let mut seen = 0;
        let bucket = counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        1 << bucket.unwrap_or(BUCKETS - 1)
    }
}

/// Counts for all kinds of servers.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: [Row; 5],
    quoted: Mutex<Vec<String>>,
}

impl Tally {
    pub(crate) fn of(&self, kind: Kind) -> &Row {
        let at = Kind::ALL.iter().position(|known| *known == kind);
        &self.rows[at.unwrap_or_default()]
    }

    pub(crate) fn sum(&self, count: impl Fn(&Row) -> &AtomicU64) -> u64 {
        self.rows.iter().map(|row| count(row).load(Ordering::SeqCst)).sum()
    }

    pub(crate) fn quote(&self, what: String) {
        let mut quoted = self.quoted.lock().unwrap_or_else(PoisonError::into_inner);
        if quoted.len() < QUOTED {
            quoted.push(what);
        }
    }

    pub(crate) fn quoted(&self) -> Vec<String> {
        self.quoted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(crate) fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::SeqCst);
}
