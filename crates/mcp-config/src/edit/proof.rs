//! Reading a change back before anybody else does.
//!
//! Text has more ways to be written than any editing by spans foresees: a lone carriage return ends
//! a line in YAML, say. So a change counts only if it reads back as what was meant, with every other
//! server as it was; otherwise it is refused and the file stays.

use super::{Edit, EditError};
use crate::{diff::differences, document::Document, model::ServerConfig};

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
            // Fields of an existing entry that we do not know stay, and "off" may stand in a list.
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
        Err(EditError::Awkward("it would not read back as what was meant"))
    }
}
