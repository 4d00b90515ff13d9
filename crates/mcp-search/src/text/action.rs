//! Classifies action words, so that "delete the file" ranks `remove_file` above `create_file` when all
//! other words match equally.

use std::sync::LazyLock;

use crate::text::{stem::stem_of, terms::Terms};

/// One line per kind of action.
const KINDS: &[&str] = &[
    "get list read show find search fetch retrieve view display lookup query browse check describe inspect enumerate obtain",
    "create add new make insert register generate build draft compose",
    "update edit modify change set alter patch revise rename adjust replace configure",
    "delete remove erase drop destroy clear purge uninstall unregister",
    "send post publish share submit deliver notify reply forward",
    "run execute invoke launch start trigger play restart resume deploy",
    "stop cancel kill terminate abort halt pause disable close",
    "convert transform translate parse format encode decode transcribe summarize",
    "calculate compute evaluate solve estimate simulate analyze predict count compare measure",
    "move copy duplicate clone replicate relocate merge",
    "transfer upload download import export sync backup restore save",
    "book reserve buy purchase order schedule pay subscribe",
];

/// A set of kinds of action.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Actions(u16);

impl Actions {
    /// The kinds of action for the stem `word`: none, or one.
    pub(crate) fn of(word: &str) -> Self {
        static TABLE: LazyLock<(Terms, Vec<Actions>)> = LazyLock::new(table);
        TABLE.0.find(word).map_or(Self::default(), |id| TABLE.1[id as usize])
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether both have an action: `Some(true)` if they share one, `Some(false)` if they differ.
    pub(crate) fn agree(self, other: Self) -> Option<bool> {
        (self.0 != 0 && other.0 != 0).then_some(self.0 & other.0 != 0)
    }
}

fn table() -> (Terms, Vec<Actions>) {
    let (mut terms, mut actions) = (Terms::default(), Vec::new());
    for (kind, words) in KINDS.iter().enumerate() {
        for word in words.split(' ') {
            if terms.intern(&stem_of(word)) as usize == actions.len() {
                actions.push(Actions(1 << kind));
            }
        }
    }
    (terms, actions)
}

#[cfg(test)]
mod tests {
    use super::Actions;

    #[test]
    fn synonyms_agree_and_opposites_clash() {
        assert_eq!(Actions::of("delet").agree(Actions::of("remov")), Some(true));
        assert_eq!(Actions::of("delet").agree(Actions::of("creat")), Some(false));
        assert_eq!(Actions::of("weather").agree(Actions::of("creat")), None);
    }
}
