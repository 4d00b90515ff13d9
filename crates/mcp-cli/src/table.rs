//! Rows and columns for people.

use std::io;

use crate::out::{Out, Paint, brief};

/// The least that is left of the last column on a narrow terminal.
const NARROWEST: usize = 24;

/// A table that is as wide as what is in it; on a terminal, the last column ends where the terminal does.
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
        self.rows.push(cells.into_iter().collect());
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
            out.line(line(out, &row, &widths))?;
        }
        Ok(())
    }
}

/// How wide the terminal is, if there is one.
fn columns() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.size_checked().filter(|_| terminal.is_term()).map(|(_, columns)| columns.into())
}

/// The last column is not filled up: nobody needs spaces at the end of a line.
fn line(out: Out, row: &[(String, Paint)], widths: &[usize]) -> String {
    let mut line = String::new();
    for (index, (text, paint)) in row.iter().enumerate() {
        line.push_str(&out.paint(*paint, text));
        if index + 1 < row.len() {
            let gap = widths[index].saturating_sub(text.chars().count()) + 2;
            line.extend(std::iter::repeat_n(' ', gap));
        }
    }
    line.trim_end().to_owned()
}

/// A cell without paint.
pub(crate) fn plain(text: impl Into<String>) -> (String, Paint) {
    (text.into(), Paint::Plain)
}
