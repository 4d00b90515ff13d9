//! The page: a head, then sections. Sections that are not run again keep their text.

const HEAD: &str = "\
# Figures

Written by `cargo xtask figures`, never by hand: each section is what the command it quotes said. Machines differ, so compare
within a row and not between pages.
";

/// Sections by title, in the order in which they were found.
pub(super) struct Page(Vec<(String, String)>);

impl Page {
    pub(super) fn read(text: &str) -> Self {
        let mut sections = Vec::new();
        for part in text.split("\n## ").skip(1) {
            let (title, body) = part.split_once('\n').unwrap_or((part, ""));
            sections.push((title.to_owned(), body.trim_matches('\n').to_owned()));
        }
        Self(sections)
    }

    pub(super) fn set(&mut self, title: &str, body: &str) {
        self.0.retain(|(known, _)| known != title);
        self.0.push((title.to_owned(), body.trim_matches('\n').to_owned()));
    }

    /// The page with its sections in the order of `titles`; other sections are dropped.
    pub(super) fn text(&self, titles: &[&str]) -> String {
        let section = |title: &&str| {
            let (_, body) = self.0.iter().find(|(known, _)| known == title)?;
            Some(format!("\n## {title}\n\n{body}\n"))
        };
        std::iter::once(HEAD.to_owned()).chain(titles.iter().filter_map(section)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_not_run_keep_their_text_and_unknown_ones_are_dropped() {
        let mut page = Page::read("");
        page.set("Size", "small\n");
        page.set("Speed", "fast");
        page.set("Taste", "sweet");
        let mut again = Page::read(&page.text(&["Speed", "Size", "Taste"]));
        again.set("Size", "smaller");
        let text = again.text(&["Speed", "Size"]);
        assert!(text.starts_with(HEAD));
        assert!(text.ends_with("\n## Speed\n\nfast\n\n## Size\n\nsmaller\n"), "{text}");
    }
}
