//! How long to wait before the next try.

use std::time::Duration;

/// When to try again after a failure.
///
/// ```
/// use mcp_bridge::Backoff;
/// use std::time::Duration;
///
/// let schedule = Backoff::default();
/// assert_eq!(schedule.delay(1), Some(Duration::from_secs(1)));
/// assert_eq!(schedule.delay(100), Some(Duration::from_secs(60))); // never gives up
/// assert_eq!(Backoff::five_attempts().delay(6), None);            // gives up
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Backoff {
    /// The delay after the first failure, the second, and so on; the last one repeats.
    pub delays: Vec<Duration>,
    /// After so many failures in a row no more tries are made. `None`: tries go on.
    pub attempts: Option<u32>,
    /// From so many failures in a row on, the server is shown as failed. Default 5.
    pub shown_failed: u32,
    /// How far a delay may be off at random, as a part of it. Default 0.2.
    pub jitter: f64,
}

impl Default for Backoff {
    /// 1, 2, 5, 15, 60 seconds and every 60 seconds from then on.
    fn default() -> Self {
        let delays = [1, 2, 5, 15, 60].map(Duration::from_secs).to_vec();
        Self { delays, attempts: None, shown_failed: 5, jitter: 0.2 }
    }
}

impl Backoff {
    /// 1, 2, 4, 8, 16 seconds (at most 30), then failed for good.
    pub fn five_attempts() -> Self {
        let delays = [1, 2, 4, 8, 16].map(Duration::from_secs).to_vec();
        Self { delays, attempts: Some(5), ..Self::default() }
    }

    /// The delay after so many failures in a row, before jitter. `None`: no more tries.
    pub fn delay(&self, failures: u32) -> Option<Duration> {
        if self.attempts.is_some_and(|most| failures > most) {
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
        Some(delay.mul_f64((1.0 + self.jitter * (2.0 * unit - 1.0)).max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_schedules() {
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
            [some(1), some(2), some(4), some(8), some(16), none, none]
        );
    }

    #[test]
    fn jitter_stays_within_a_fifth() {
        let backoff = Backoff::default();
        for random in [0, 1, u64::MAX, 0x5_5555, 0xf_ffff] {
            let delay = backoff.jittered(4, random).unwrap().as_secs_f64();
            assert!((12.0..=18.0).contains(&delay), "{delay}");
        }
    }
}
