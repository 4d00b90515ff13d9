//! Resolves paths to the modules they lead through. Re-exports and globs are followed to the module that defines the
//! item.

use std::collections::BTreeMap;

use super::tree::{Mention, Module, Place};

/// Maximum depth of re-exports; deeper ones are circular.
const DEEPEST: usize = 16;

/// The modules of one crate, by place.
pub(super) struct Names<'a>(pub(super) &'a BTreeMap<Place, Module>);

/// The end of a path.
enum Found {
    Module(Place),
    /// An item of the module at this place.
    Item(Place),
}

impl Names<'_> {
    /// The modules that a mention in `from` refers to: each module on the path and the last one. Empty for a path into
    /// another crate.
    pub(super) fn places(&self, from: &Place, mention: &Mention) -> Vec<Place> {
        let mut passed = Vec::new();
        let _end = self.resolve(from, &mention.segments, &mut passed, 0);
        passed
    }

    /// The modules of the names that a glob import in `from` provides and its code mentions, with the lines.
    pub(super) fn through_glob(&self, from: &Place, glob: &Mention) -> Vec<(Place, usize)> {
        let mut passed = Vec::new();
        let Some(Found::Module(target)) = self.resolve(from, &glob.segments, &mut passed, 0) else {
            return Vec::new();
        };
        let mut places = Vec::new();
        for (word, line) in self.0.get(from).iter().flat_map(|module| &module.words) {
            let mut passed = Vec::new();
            if self.lookup(&target, word, &mut passed, 0).is_some() {
                places.extend(passed.into_iter().map(|place| (place, *line)));
            }
        }
        places
    }

    fn resolve(
        &self,
        from: &Place,
        segments: &[String],
        passed: &mut Vec<Place>,
        depth: usize,
    ) -> Option<Found> {
        let (first, rest) = segments.split_first()?;
        let mut found = match first.as_str() {
            "crate" => Found::Module(Place::new()),
            "self" => Found::Module(from.clone()),
            "super" => Found::Module(parent(from)?),
            name => self.lookup(from, name, passed, depth)?,
        };
        for name in rest {
            let Found::Module(place) = found else { break };
            found = match name.as_str() {
                "super" => Found::Module(parent(&place)?),
                "self" => Found::Module(place),
                // A name without a definition comes from a macro in this module.
                name => self.lookup(&place, name, passed, depth).unwrap_or(Found::Item(place)),
            };
        }
        let (Found::Module(end) | Found::Item(end)) = &found;
        passed.push(end.clone());
        Some(found)
    }

    /// Resolves `name` in the module at `place`: a child, an import, an item, or from a glob.
    fn lookup(
        &self,
        place: &Place,
        name: &str,
        passed: &mut Vec<Place>,
        depth: usize,
    ) -> Option<Found> {
        let module = self.0.get(place)?;
        if depth > DEEPEST {
            return None;
        }
        passed.push(place.clone());
        if module.children.contains(name) {
            let child = [place.as_slice(), &[name.to_owned()]].concat();
            // Tests and fuzzing are declared but not loaded.
            return self.0.contains_key(&child).then_some(Found::Module(child));
        }
        if let Some(import) =
            module.imports.iter().find(|import| import.name.as_deref() == Some(name))
        {
            return self.resolve(place, &import.segments, passed, depth + 1);
        }
        if module.items.contains(name) {
            return Some(Found::Item(place.clone()));
        }
        module.imports.iter().filter(|import| import.is_glob).find_map(|glob| {
            let mut ours = Vec::new();
            let Found::Module(target) =
                self.resolve(place, &glob.segments, &mut ours, depth + 1)?
            else {
                return None;
            };
            let found = self.lookup(&target, name, &mut ours, depth + 1)?;
            passed.append(&mut ours);
            Some(found)
        })
    }
}

fn parent(place: &Place) -> Option<Place> {
    place.split_last().map(|(_, parent)| parent.to_vec())
}
