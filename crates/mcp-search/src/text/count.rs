//! Conversions of counts to indices and scores.

pub(crate) fn count(len: usize) -> u32 {
    u32::try_from(len).expect("an index holds fewer than 2^32 tools and words")
}

#[expect(clippy::cast_precision_loss, reason = "counts of words in a text are small")]
pub(crate) fn precise(count: u32) -> f32 {
    count as f32
}
