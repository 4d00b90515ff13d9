//! Verifies an edit by reading the new text back.
//!
//! Editing by spans cannot anticipate every way to write a file: for example, a lone carriage return ends a
//! line in YAML. An edit is therefore accepted only if the result reads back as intended, with every other
//! server unchanged. Otherwise it is rejected and the file is not written.

use super::operation::{Edit, EditError};
use crate::{
    dialect::Document,
    model::{ServerConfig, differences},
};

pub(super) fn check(before: &Document, after: &Document, edit: &Edit) -> Result<(), EditError> {
    let name = match edit {
        Edit::Put(config) => config.name.as_str(),
        Edit::Remove(name) | Edit::Enable(name, _) => name,
    };
    let others = |document: &Document| -> Vec<(String, ServerConfig)> {
        let others = document.entries.iter().filter(|entry| entry.config.name.as_str() != name);
        others.map(|entry| (entry.place.pointer.clone(), entry.config.clone())).collect()
    };
    let own = |document: &Document| -> Vec<ServerConfig> {
        let own = document.entries.iter().filter(|entry| entry.config.name.as_str() == name);
        own.map(|entry| entry.config.clone()).collect()
    };
    let (was, is) = (own(before), own(after));
    let off = |document: &Document| document.switched_off.iter().any(|named| named.name == name);
    let done = match edit {
        Edit::Put(config) => is.iter().any(|found| {
            let mut wrong = differences(found, config);
            // Unknown fields of an existing entry are preserved, and a list may disable the server.
            wrong.retain(|field| *field != "other fields" && !(*field == "enabled" && off(after)));
            wrong.is_empty()
        }),
        Edit::Remove(_) => is.len() < was.len().max(1),
        Edit::Enable(_, true) => !off(after) && is.iter().all(|config| config.enabled),
        Edit::Enable(_, false) => off(after) || is.iter().any(|config| !config.enabled),
    };
    if done && others(before) == others(after) {
        Ok(())
    } else {
        Err(EditError::Awkward("the result would not read back as intended"))
    }
}
