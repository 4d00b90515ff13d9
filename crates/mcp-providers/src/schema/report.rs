//! Collects losses with their location.

use crate::loss::{Loss, Lost};

/// Losses, and the path of the current schema.
#[derive(Debug, Default)]
pub(super) struct Report {
    path: Vec<String>,
    losses: Vec<Loss>,
}

impl Report {
    pub(super) fn lose(&mut self, lost: Lost) {
        self.losses.push(Loss { at: self.pointer(), lost });
    }

    pub(super) fn keyword(&mut self, word: &str) {
        self.lose(Lost::Keyword(word.to_owned()));
    }

    pub(super) fn is_at_the_top(&self) -> bool {
        self.path.is_empty()
    }

    /// Goes one step deeper, until [`Report::pop`].
    pub(super) fn push(&mut self, step: &str) {
        self.path.push(step.replace('~', "~0").replace('/', "~1"));
    }

    pub(super) fn pop(&mut self) {
        self.path.pop();
    }

    pub(super) fn into_losses(self) -> Vec<Loss> {
        self.losses
    }

    fn pointer(&self) -> String {
        self.path.iter().flat_map(|step| ["/", step]).collect()
    }
}
