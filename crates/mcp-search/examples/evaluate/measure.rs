//! Quality measures for a ranking.

use std::ops::AddAssign;

/// Measures of one query, or the sum over several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measures {
    pub(crate) recall_1: f64,
    pub(crate) recall_5: f64,
    pub(crate) recall_10: f64,
    pub(crate) mrr_10: f64,
    pub(crate) ndcg_10: f64,
}

impl Measures {
    /// Measures the ranking `found` against the relevant tools.
    pub(crate) fn of<S: AsRef<str>>(found: &[S], gold: &[String]) -> Self {
        let right: Vec<bool> =
            found.iter().take(10).map(|id| gold.iter().any(|g| g == id.as_ref())).collect();
        let recall = |k: usize| {
            right.iter().take(k).filter(|&&r| r).count() as f64 / k.min(gold.len()).max(1) as f64
        };
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let got: f64 = (0..right.len()).filter(|&rank| right[rank]).map(gain).sum();
        let ideal: f64 = (0..gold.len().clamp(1, 10)).map(gain).sum();
        Self {
            recall_1: recall(1),
            recall_5: recall(5),
            recall_10: recall(10),
            mrr_10: right.iter().position(|&r| r).map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
            ndcg_10: got / ideal,
        }
    }

    /// The mean in percent over `count` queries or sets.
    pub(crate) fn mean(self, count: usize) -> [f64; 5] {
        [self.recall_1, self.recall_5, self.recall_10, self.mrr_10, self.ndcg_10]
            .map(|sum| 100.0 * sum / count.max(1) as f64)
    }
}

impl AddAssign for Measures {
    fn add_assign(&mut self, other: Self) {
        self.recall_1 += other.recall_1;
        self.recall_5 += other.recall_5;
        self.recall_10 += other.recall_10;
        self.mrr_10 += other.mrr_10;
        self.ndcg_10 += other.ndcg_10;
    }
}
