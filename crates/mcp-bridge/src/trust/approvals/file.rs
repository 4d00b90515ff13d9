//! The format of the approvals file, in its current and earlier versions.

use std::{collections::BTreeMap, path::Path};

use mcp_safe::fs::read_private;
use serde_json::{Value, json};

use super::{Approved, Key, ToolApprovalsError, Tools};

/// The maximum size of the file.
const LARGEST: usize = 64 << 20;

pub(super) fn encode(tools: &Tools) -> String {
    let approved = tools.approved.iter().map(|(key, approved)| {
        json!({"permission": key.permission, "server": key.server,
            "hash": approved.hash, "definition": approved.definition})
    });
    let pins = tools.pins.iter().map(
        |(key, hash)| json!({"permission": key.permission, "server": key.server, "hash": hash}),
    );
    json!({"version": 2, "approved": approved.collect::<Vec<_>>(), "seen": pins.collect::<Vec<_>>()})
        .to_string()
}

/// Reads the file. A file that is inside the project or that others can write to is an error, and none of its approvals
/// apply.
pub(super) fn read(path: &Path, project: Option<&Path>) -> Result<Tools, ToolApprovalsError> {
    if project.is_some_and(|project| is_inside(path, project)) {
        return Err(ToolApprovalsError::InsideProject(path.to_owned()));
    }
    let bytes = match read_private(path, LARGEST) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Tools::default()),
        Err(error) => return Err(ToolApprovalsError::Io(path.to_owned(), error)),
    };
    let root = serde_json::from_slice(&bytes).ok();
    let tools = root.as_ref().and_then(|root: &Value| match root.get("version") {
        Some(Value::Number(version)) => (version.as_u64() == Some(2)).then(|| second(root))?,
        _ => first(root),
    });
    tools.ok_or_else(|| ToolApprovalsError::Malformed(path.to_owned()))
}

/// Whether the file, which may not exist yet, is inside the folder.
fn is_inside(path: &Path, folder: &Path) -> bool {
    let real = path.ancestors().find_map(|near| near.canonicalize().ok());
    match (real, folder.canonicalize()) {
        (Some(path), Ok(folder)) => path.starts_with(folder),
        _ => !folder.as_os_str().is_empty() && path.starts_with(folder),
    }
}

fn second(root: &Value) -> Option<Tools> {
    let mut tools = Tools::default();
    for entry in root.get("approved")?.as_array()? {
        let (hash, definition) = (text(entry, "hash")?, text(entry, "definition")?);
        tools.approved.insert(key(entry)?, Approved { hash, definition });
    }
    for entry in root.get("seen")?.as_array()? {
        tools.pins.insert(key(entry)?, text(entry, "hash")?);
    }
    Some(tools)
}

/// Version 1: approvals by permission only, not bound to a server.
fn first(root: &Value) -> Option<Tools> {
    let mut approved = BTreeMap::new();
    for (permission, entry) in root.as_object()? {
        let (hash, definition) = (text(entry, "hash")?, text(entry, "definition")?);
        approved.insert(Key::new(permission, ""), Approved { hash, definition });
    }
    Some(Tools { approved, ..Tools::default() })
}

fn key(entry: &Value) -> Option<Key> {
    Some(Key::new(&text(entry, "permission")?, &text(entry, "server")?))
}

fn text(entry: &Value, name: &str) -> Option<String> {
    entry.get(name)?.as_str().map(str::to_owned)
}
