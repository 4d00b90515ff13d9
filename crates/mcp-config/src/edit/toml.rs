//! Edits TOML with `toml_edit`, which preserves comments and order.

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{
    operation::{EditError, NewValue, Operation},
    text::with_line_ends_of,
};

pub(super) fn apply(text: &str, operation: &Operation) -> Result<String, EditError> {
    let unreadable =
        |error: toml_edit::TomlError| EditError::Unreadable(error.message().to_owned());
    let mut document: DocumentMut = text.parse().map_err(unreadable)?;
    match operation {
        Operation::Set(path, value) => set(document.as_table_mut(), path, value)?,
        Operation::Remove(path) => {
            let Some((key, parents)) = path.split_last() else { return Ok(text.to_owned()) };
            if let Some(table) = walk(document.as_table_mut(), parents) {
                table.remove(key);
            }
        }
    }
    Ok(with_line_ends_of(text, document.to_string()))
}

fn walk<'t>(mut table: &'t mut dyn TableLike, keys: &[String]) -> Option<&'t mut dyn TableLike> {
    for key in keys {
        table = table.get_mut(key)?.as_table_like_mut()?;
    }
    Some(table)
}

fn set(table: &mut dyn TableLike, path: &[String], value: &NewValue) -> Result<(), EditError> {
    let Some((key, rest)) = path.split_first() else { return Ok(()) };
    if rest.is_empty() {
        let fresh = match value {
            NewValue::Value(value) => Item::Value(scalar(value)?),
            NewValue::Entry(members) => Item::Table(entry(members)?),
        };
        match (table.get_mut(key), fresh) {
            // Keep the comment after the old value.
            (Some(Item::Value(old)), Item::Value(mut new)) => {
                *new.decor_mut() = old.decor().clone();
                *old = new;
            }
            (_, fresh) => {
                table.insert(key, fresh);
            }
        }
        return Ok(());
    }
    if table.get(key).is_none() {
        let mut between = Table::new();
        between.set_implicit(true);
        table.insert(key, Item::Table(between));
    }
    let inner = table.get_mut(key).and_then(Item::as_table_like_mut);
    set(inner.ok_or(EditError::Awkward("expected a table, found another value"))?, rest, value)
}

fn entry(members: &[(String, NewValue)]) -> Result<Table, EditError> {
    let mut table = Table::new();
    for (key, value) in members {
        table.insert(key, Item::Value(scalar(&value.clone().into_json())?));
    }
    Ok(table)
}

fn scalar(value: &Json) -> Result<Value, EditError> {
    Ok(match value {
        Json::Null => return Err(EditError::Awkward("TOML has no null")),
        Json::Bool(yes) => (*yes).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().map(scalar).collect::<Result<Array, _>>()?.into(),
        Json::Object(members) => {
            let mut table = InlineTable::new();
            for (key, value) in members {
                table.insert(key, scalar(value)?);
            }
            table.into()
        }
    })
}
