//! The delay before the next connection attempt.

use std::time::Duration;

use crate::setters::setters;

/// The schedule of connection attempts after failures.
///
/// ```
/// use mcp_bridge::lifecycle::Backoff;
/// use std::time::Duration;
///
/// let schedule = Backoff::default();
/// assert_eq!(schedule.delay(1), Some(Duration::from_secs(1)));
/// assert_eq!(schedule.delay(100), Some(Duration::from_secs(60))); // never gives up
/// assert_eq!(Backoff::five_attempts().delay(5), None);            // gives up
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Backoff {
    /// The delay after the first failure, the second, and so on; the last one repeats.
    pub delays: Vec<Duration>,
    /// After this many consecutive failures no more attempts are made. `None`: attempts continue.
    pub attempts: Option<u32>,
    /// After this many consecutive failures the server is shown as failed. Default 5.
    pub shown_failed: u32,
    /// The maximum random increase of a delay, as a fraction. Delays are never shortened. Default 0.2.
    pub jitter: f64,
}

setters! {
    Backoff {
        with_delays => delays(delays: Vec<Duration>) = delays;
        with_attempts => attempts(most: impl Into<Option<u32>>) = most.into();
        with_shown_failed => shown_failed(failures: u32) = failures;
        with_jitter => jitter(part: f64) = part;
    }
}

impl Default for Backoff {
    /// 1, 2, 5, 15 and 60 seconds, then every 60 seconds.
    fn default() -> Self {
        let delays = [1, 2, 5, 15, 60].map(Duration::from_secs).to_vec();
        Self { delays, attempts: None, shown_failed: 5, jitter: 0.2 }
    }
}

impl Backoff {
    /// 1, 2, 4, 8 seconds, with a permanent failure after the fifth attempt.
    pub fn five_attempts() -> Self {
        let delays = [1, 2, 4, 8, 16, 30].map(Duration::from_secs).to_vec();
        Self { delays, attempts: Some(5), ..Self::default() }
    }

    /// The delay after this many consecutive failures, before jitter. `None`: no more attempts.
    pub fn delay(&self, failures: u32) -> Option<Duration> {
        if self.attempts.is_some_and(|most| failures >= most) {
            return None;
        }
        let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
        let last = self.delays.last().copied().unwrap_or(Duration::from_secs(60));
        Some(self.delays.get(index).copied().unwrap_or(last))
    }

    /// The delay with jitter; `random` is any number.
    pub(crate) fn jittered(&self, failures: u32, random: u64) -> Option<Duration> {
        let delay = self.delay(failures)?;
        // 20 bits are enough for milliseconds, and convert without loss.
        let unit = f64::from(u32::try_from(random & 0xf_ffff).unwrap_or(0)) / f64::from(0xf_ffff);
        Some(delay.mul_f64(1.0 + self.jitter.max(0.0) * unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_and_five_attempt_schedules() {
        let secs = |backoff: &Backoff| -> Vec<_> {
            (1..=7).map(|n| backoff.delay(n).map(|delay| delay.as_secs())).collect()
        };
        let (some, none) = (Some, None);
        assert_eq!(
            secs(&Backoff::default()),
            [some(1), some(2), some(5), some(15), some(60), some(60), some(60)]
        );
        assert_eq!(
            secs(&Backoff::five_attempts()),
            [some(1), some(2), some(4), some(8), none, none, none]
        );
    }

    #[test]
    fn jitter_lengthens_a_delay_by_at_most_a_fifth() {
        let backoff = Backoff::default();
        for random in [0, 1, u64::MAX, 0x5_5555, 0xf_ffff] {
            let delay = backoff.jittered(4, random).unwrap().as_secs_f64();
            assert!((15.0..=18.0).contains(&delay), "{delay}");
        }
    }
}
