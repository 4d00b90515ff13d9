//! The path to a value in a file.

use std::fmt::Write as _;

use super::shape::Step;
use crate::{diagnostic::printable, format::Node};

/// The path from the root to a value, kept on the stack until a message needs it as a JSON pointer.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(crate) fn key(&'p self, key: &'p str) -> Self {
        Path::Key(self, key)
    }

    pub(crate) fn pointer(&self) -> String {
        let mut pointer = String::with_capacity(self.length());
        self.write(&mut pointer);
        pointer
    }

    /// An estimate of the pointer's length.
    fn length(&self) -> usize {
        match self {
            Self::Root => 0,
            Self::Key(parent, key) => parent.length() + 1 + key.len(),
            Self::Index(parent, _) => parent.length() + 5,
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(parent, key) => {
                parent.write(out);
                out.push('/');
                if key.contains(['~', '/']) {
                    out.push_str(&escape_pointer(key));
                } else {
                    out.push_str(key);
                }
            }
            Self::Index(parent, index) => {
                parent.write(out);
                // Writing to a string does not fail.
                let _ = write!(out, "/{index}");
            }
        }
    }

    /// The last key, safe to print.
    pub(crate) fn shown(&self) -> String {
        printable(self.name())
    }

    /// The last key as written.
    pub(crate) fn name(&self) -> &'p str {
        match self {
            Self::Root => "the file",
            Self::Key(_, key) => key,
            Self::Index(parent, _) => parent.name(),
        }
    }
}

/// Follows `steps` from `node` and calls `then` with the node found and its path.
pub(crate) fn follow<'n, 'a>(
    node: &'n Node<'a>,
    steps: &[Step],
    project: Option<&str>,
    path: &Path<'_>,
    then: &mut dyn FnMut(&'n Node<'a>, &Path<'_>),
) {
    let [step, rest @ ..] = steps else { return then(node, path) };
    let key = match step {
        Step::Key(key) => Some(*key),
        Step::Project => project,
    };
    if let Some((key, next)) = key.and_then(|key| Some((key, node.get(key)?))) {
        follow(next, rest, project, &path.key(key), then);
    }
}

pub(crate) fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
