//! From byte offsets to the lines and columns people count in.

use memchr::memrchr;

use crate::diagnostic::Position;

/// Answers "which line and column is this byte?", fast for questions asked in reading order.
///
/// Walking on from the last answer keeps a ten-megabyte file on a single line linear.
pub(crate) struct Cursor<'t> {
    text: &'t str,
    here: Spot,
    /// Where to start over from when asked about something earlier.
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

    /// Remembers the last answer as a place that questions may go back to.
    pub(crate) fn mark(&mut self) {
        self.mark = self.here;
    }

    pub(crate) fn at(&mut self, offset: usize) -> Position {
        let offset = floor_char_boundary(self.text, offset);
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

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_going_back_is_allowed() {
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
