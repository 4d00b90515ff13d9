//! Converts byte offsets to lines and columns.

use mcp_safe::text::prefix;
use memchr::memrchr;

use crate::diagnostic::Position;

/// Converts byte offsets to positions, efficiently if they are requested in ascending order.
///
/// Continuing from the last position keeps a ten-megabyte file on a single line linear.
pub(crate) struct Cursor<'t> {
    text: &'t str,
    here: Spot,
    /// Where to restart for an earlier offset.
    mark: Spot,
}

#[derive(Clone, Copy)]
struct Spot {
    offset: usize,
    line: usize,
    column: usize,
}

const START: Spot = Spot { offset: 0, line: 1, column: 1 };

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, here: START, mark: START }
    }

    /// Saves the last position as the restart point for earlier offsets.
    pub(crate) fn mark(&mut self) {
        self.mark = self.here;
    }

    pub(crate) fn at(&mut self, offset: usize) -> Position {
        let offset = prefix(self.text, offset).len();
        if offset < self.here.offset {
            self.here = if offset < self.mark.offset { START } else { self.mark };
        }
        let here = &mut self.here;
        let gap = &self.text[here.offset..offset];
        match memrchr(b'\n', gap.as_bytes()) {
            Some(last) => {
                here.line += memchr::memchr_iter(b'\n', gap.as_bytes()).count();
                here.column = 1 + gap[last + 1..].chars().count();
            }
            None => here.column += gap.chars().count(),
        }
        here.offset = offset;
        Position { line: here.line, column: here.column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_earlier_offsets_work() {
        let text = "ab\nçé\u{1F980}x\n";
        let mut cursor = Cursor::new(text);
        let crab_end = text.find('x').unwrap();
        assert_eq!(cursor.at(crab_end), Position { line: 2, column: 4 });
        cursor.mark();
        assert_eq!(cursor.at(crab_end + 1), Position { line: 2, column: 5 });
        assert_eq!(cursor.at(crab_end), Position { line: 2, column: 4 });
        assert_eq!(cursor.at(1), Position { line: 1, column: 2 });
        assert_eq!(cursor.at(usize::MAX), Position { line: 3, column: 1 });
    }
}
