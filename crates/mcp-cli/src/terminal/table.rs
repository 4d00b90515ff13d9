//! Tables for the terminal.

use std::io;

use crate::terminal::{
    out::{Out, brief},
    paint::{Line, Paint},
};

/// The minimum width of the last column.
const NARROWEST: usize = 24;

/// A table that is as wide as its contents. On a terminal, the last column is cut at the terminal's width. Every cell
/// is reduced to one line.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<(String, Paint)>>,
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = (String, Paint)>) {
        let cells = cells.into_iter().map(|(text, paint)| (brief(&text, usize::MAX), paint));
        self.rows.push(cells.collect());
    }

    pub(crate) fn print(&self, out: Out) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let longest = cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0);
            longest.max(self.head[column].len())
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum();
        let room = columns().map(|columns| columns.saturating_sub(before).max(NARROWEST));
        let head = self.head.iter().map(|title| ((*title).to_owned(), Paint::Dim)).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut row = row.clone();
            if let (Some(room), Some((text, _))) = (room, row.last_mut()) {
                *text = brief(text, room);
            }
            out.line(line(row, &widths))?;
        }
        Ok(())
    }
}

/// Returns the width of the terminal, if stdout is one.
fn columns() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.size_checked().filter(|_| terminal.is_term()).map(|(_, columns)| columns.into())
}

/// Pads all columns except the last one with text.
fn line(row: Vec<(String, Paint)>, widths: &[usize]) -> Line {
    let full = row.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1);
    let mut line = Line::default();
    for (index, (text, paint)) in row.into_iter().take(full).enumerate() {
        let gap = widths[index].saturating_sub(text.chars().count()) + 2;
        line = line.then(paint.of(text));
        if index + 1 < full {
            line = line.then(" ".repeat(gap));
        }
    }
    line
}

/// A cell without colour.
pub(crate) fn plain(text: impl Into<String>) -> (String, Paint) {
    (text.into(), Paint::Plain)
}
