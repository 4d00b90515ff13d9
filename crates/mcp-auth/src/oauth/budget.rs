//! How often something may be tried before it is enough for a while.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// At most so many within a window of time.
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

    /// Takes one, if there is one left.
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

    /// As if nothing had been tried: a person asked for it.
    pub(crate) fn reset(&mut self) {
        self.spent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_an_end() {
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
