//! The cost of text that is in every prompt of a session.

/// The price of cached input tokens, in percent of uncached ones.
const CACHED_PERCENT: usize = 10;

/// The cost of text that is sent with every turn of a session, such as a server's instructions.
///
/// ```
/// use mcp_search::cost::SessionCost;
///
/// let cost = SessionCost::new(200);
/// assert_eq!((cost.turns, cost.uncached(), cost.cached()), (50, 10_000, 1_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionCost {
    /// Tokens of the text.
    pub tokens: usize,
    /// The number of turns. Default 50.
    pub turns: usize,
}

impl SessionCost {
    /// The default number of turns.
    pub const TURNS: usize = 50;

    /// The cost of this many tokens over 50 turns.
    pub fn new(tokens: usize) -> Self {
        Self { tokens, turns: Self::TURNS }
    }

    /// The cost over this many turns.
    #[must_use]
    pub fn with_turns(mut self, turns: usize) -> Self {
        self.turns = turns;
        self
    }

    /// Tokens at full price, if the text comes after changing content and is never cached.
    pub fn uncached(self) -> usize {
        self.tokens.saturating_mul(self.turns)
    }

    /// The equivalent in full-price tokens if the text is cached in every turn, at a tenth of the price.
    pub fn cached(self) -> usize {
        self.uncached() / 100 * CACHED_PERCENT + self.uncached() % 100 * CACHED_PERCENT / 100
    }
}
