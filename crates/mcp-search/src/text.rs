//! Text processing: tokens, stems, spellings and synonyms.

pub(crate) mod action;
pub(crate) mod count;
pub(crate) mod edits;
pub(crate) mod fold;
pub(crate) mod similar;
pub(crate) mod stem;
pub(crate) mod stop;
mod synonyms;
pub(crate) mod terms;
pub(crate) mod tokenize;

pub use self::synonyms::Synonyms;
