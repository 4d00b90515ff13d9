//! Rows and columns for people.

use std::io;

use crate::out::{Out, Paint};

/// A table that is as wide as what is in it.
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
        let head = self.head.iter().map(|title| ((*title).to_owned(), Paint::Dim)).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            out.line(line(out, row, &widths))?;
        }
        Ok(())
    }
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
