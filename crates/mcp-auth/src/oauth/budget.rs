//! A limit on attempts per window of time.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Allows a number of attempts within a sliding window of time.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    window: Duration,
    spent: VecDeque<Instant>,
}

impl Budget {
    pub(crate) fn new(most: usize, window: Duration) -> Self {
        Self { most, window, spent: VecDeque::new() }
    }

    /// Takes one attempt. Returns `false` if none is left.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        while self.spent.front().is_some_and(|at| now.duration_since(*at) >= self.window) {
            self.spent.pop_front();
        }
        let has_one = self.spent.len() < self.most;
        if has_one {
            self.spent.push_back(now);
        }
        has_one
    }

    /// Forgets earlier attempts, because the user asked for a new one.
    pub(crate) fn reset(&mut self) {
        self.spent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_renewed_after_its_window() {
        let (start, minute) = (Instant::now(), Duration::from_secs(60));
        let mut budget = Budget::new(2, minute);
        assert!(budget.take(start) && budget.take(start + minute / 2));
        assert!(!budget.take(start + minute / 2));
        assert!(budget.take(start + minute));
        assert!(!budget.take(start + minute));
        budget.reset();
        assert!(budget.take(start + minute));
    }
}
