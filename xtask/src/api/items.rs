//! Lists the public items of a crate, one per line: modules by name, and below a type its fields, variants, methods
//! and trait implementations.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    document::{Document, Origin, array, kind},
    types::Types,
};

/// Auto traits, which are reported only when they are not implemented.
const AUTO: &[&str] = &["Send", "Sync", "Unpin"];

/// The lines of all public items, and the types of other crates in them, as `crate::Name`.
pub(super) fn lines(document: &Document) -> (Vec<String>, Vec<String>) {
    let types = Types { document, foreign: BTreeSet::new() };
    let mut walk = Walk { types, open: Vec::new() };
    let root = document.root();
    let name = root["name"].as_str().unwrap_or("crate").to_owned();
    let mut lines = vec![format!("pub mod {name}")];
    lines.extend(walk.module(root, &name));
    (lines, walk.types.foreign.into_iter().collect())
}

struct Walk<'a> {
    types: Types<'a>,
    /// The modules being visited: a glob may lead back to one.
    open: Vec<String>,
}

impl<'a> Walk<'a> {
    fn module(&mut self, module: &'a Value, path: &str) -> Vec<String> {
        let id = module["id"].to_string();
        if self.open.contains(&id) {
            return Vec::new();
        }
        self.open.push(id);
        let mut blocks = Vec::new();
        for item in array(&module["inner"]["module"]["items"]) {
            if let Some(item) = self.types.document.item(item) {
                let name = item["name"].as_str().unwrap_or_default();
                blocks.extend(self.item(item, name, path));
            }
        }
        self.open.pop();
        blocks.sort();
        blocks.dedup();
        blocks.into_iter().flat_map(|(_, lines)| lines).collect()
    }

    /// The item under a name in the module at `path`; several for a glob.
    fn item(&mut self, item: &'a Value, name: &str, path: &str) -> Vec<(String, Vec<String>)> {
        let full = format!("{path}::{name}");
        let (kind, inner) = kind(&item["inner"]);
        let lines = match kind {
            "use" => return self.import(inner, path),
            "module" => {
                let mut lines = vec![format!("pub mod {full}")];
                lines.extend(self.module(item, &full));
                lines
            }
            "struct" | "enum" | "union" => self.data(item, kind, inner, &full),
            "trait" => self.trait_(inner, &full),
            "function" => vec![format!("pub {}", self.function(inner, &full))],
            "type_alias" => {
                let (params, wheres) = self.types.generics(&inner["generics"]);
                vec![format!("pub type {full}{params} = {}{wheres}", self.types.ty(&inner["type"]))]
            }
            "constant" => vec![format!("pub const {full}: {}", self.types.ty(&inner["type"]))],
            "static" => vec![format!("pub static {full}: {}", self.types.ty(&inner["type"]))],
            "macro" | "proc_macro" => vec![format!("pub macro {full}!")],
            _ => Vec::new(),
        };
        vec![(full, lines)]
    }

    fn import(&mut self, inner: &'a Value, path: &str) -> Vec<(String, Vec<String>)> {
        let document = self.types.document;
        let name = inner["name"].as_str().unwrap_or_default();
        match (document.item(&inner["id"]), inner["is_glob"] == true) {
            (Some(module), true) => {
                let lines = self.module(module, path);
                vec![(path.to_owned(), lines)]
            }
            (Some(item), false) => self.item(item, name, path),
            (None, _) => {
                let source = document.path(&inner["id"]);
                let source = source.map_or_else(
                    || inner["source"].as_str().unwrap_or_default().to_owned(),
                    |(origin, segments)| match origin {
                        Origin::Crate(of) => {
                            let last = segments.last().copied().unwrap_or_default();
                            self.types.foreign.insert(format!("{of}::{last}"));
                            format!("{of}::{last}")
                        }
                        _ => segments.join("::"),
                    },
                );
                let full = format!("{path}::{name}");
                vec![(full.clone(), vec![format!("pub use {full} = {source}")])]
            }
        }
    }

    fn data(&mut self, item: &'a Value, kind: &str, inner: &'a Value, full: &str) -> Vec<String> {
        let (params, wheres) = self.types.generics(&inner["generics"]);
        let tuple = self.tuple(&inner["kind"]["tuple"]);
        let mut lines = vec![format!("{}pub {kind} {full}{params}{tuple}{wheres}", growth(item))];
        let fields = array(&inner["kind"]["plain"]["fields"]).chain(array(&inner["fields"]));
        lines.extend(self.fields(fields, full));
        for id in array(&inner["variants"]) {
            let Some(variant) = self.types.document.item(id) else { continue };
            let name = format!("{full}::{}", variant["name"].as_str().unwrap_or_default());
            let shape = &variant["inner"]["variant"]["kind"];
            let tuple = self.tuple(&shape["tuple"]);
            lines.push(format!("{}pub {name}{tuple}", growth(variant)));
            lines.extend(self.fields(array(&shape["struct"]["fields"]), &name));
        }
        lines.extend(self.impls(array(&inner["impls"]), full));
        lines
    }

    /// `(pub T, _)` of a tuple struct, `(T)` of a variant. Private fields have no id.
    fn tuple(&mut self, ids: &Value) -> String {
        if ids.is_null() {
            return String::new();
        }
        let document = self.types.document;
        let parts = array(ids).map(|id| match document.item(id) {
            Some(field) => self.types.ty(&field["inner"]["struct_field"]),
            None => "_".to_owned(),
        });
        format!("({})", parts.collect::<Vec<_>>().join(", "))
    }

    fn fields(&mut self, ids: impl Iterator<Item = &'a Value>, full: &str) -> Vec<String> {
        let fields = ids.filter_map(|id| self.types.document.item(id)).collect::<Vec<_>>();
        let line = |field: &Value| {
            let name = field["name"].as_str().unwrap_or_default();
            format!("pub {full}::{name}: {}", self.types.ty(&field["inner"]["struct_field"]))
        };
        fields.into_iter().map(line).collect()
    }

    fn trait_(&mut self, inner: &'a Value, full: &str) -> Vec<String> {
        let (params, wheres) = self.types.generics(&inner["generics"]);
        let bounds = self.types.bounds(&inner["bounds"]);
        let bounds = if bounds.is_empty() { bounds } else { format!(": {bounds}") };
        let mut lines = vec![format!("pub trait {full}{params}{bounds}{wheres}")];
        if inner["is_dyn_compatible"] == false {
            lines[0].push_str(" // not dyn");
        }
        lines.extend(self.members(array(&inner["items"]), full));
        // Implementations for types of this crate are listed below those types.
        let document = self.types.document;
        let is_elsewhere = |id: &&Value| {
            let of = &document.item(id).unwrap_or(&Value::Null)["inner"]["impl"]["for"];
            document.item(&of["resolved_path"]["id"]).is_none()
        };
        let elsewhere = array(&inner["implementations"]).filter(is_elsewhere);
        lines.extend(self.impls(elsewhere, full));
        lines
    }

    fn members(&mut self, ids: impl Iterator<Item = &'a Value>, full: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for item in ids.filter_map(|id| self.types.document.item(id)).collect::<Vec<_>>() {
            let full = format!("{full}::{}", item["name"].as_str().unwrap_or_default());
            let (kind, inner) = kind(&item["inner"]);
            lines.push(match kind {
                "function" => format!("pub {}", self.function(inner, &full)),
                "assoc_const" => format!("pub const {full}: {}", self.types.ty(&inner["type"])),
                "assoc_type" => {
                    let bounds = self.types.bounds(&inner["bounds"]);
                    let bounds = if bounds.is_empty() { bounds } else { format!(": {bounds}") };
                    let ty = match &inner["type"] {
                        Value::Null => String::new(),
                        ty => format!(" = {}", self.types.ty(ty)),
                    };
                    format!("pub type {full}{bounds}{ty}")
                }
                other => format!("pub {other} {full}"),
            });
        }
        lines.sort();
        lines
    }

    /// Inherent methods, then implemented traits.
    fn impls(&mut self, ids: impl Iterator<Item = &'a Value>, full: &str) -> Vec<String> {
        let (mut own, mut traits) = (Vec::new(), Vec::new());
        for item in ids.filter_map(|id| self.types.document.item(id)).collect::<Vec<_>>() {
            let inner = &item["inner"]["impl"];
            if !inner["blanket_impl"].is_null() {
                continue;
            }
            if inner["trait"].is_null() {
                own.extend(self.members(array(&inner["items"]), full));
                continue;
            }
            let is_negative = inner["is_negative"] == true;
            let name = inner["trait"]["path"].as_str().unwrap_or_default();
            let is_auto = inner["is_synthetic"] == true;
            if name.ends_with("StructuralPartialEq")
                || (is_auto && !(is_negative && AUTO.contains(&name)))
            {
                continue;
            }
            let (params, wheres) = self.types.generics(&inner["generics"]);
            let (of, ty) = (self.types.path(&inner["trait"]), self.types.ty(&inner["for"]));
            let sign = if is_negative { "!" } else { "" };
            traits.push(format!("impl{params} {sign}{of} for {ty}{wheres}"));
        }
        own.sort();
        traits.sort();
        traits.dedup();
        own.extend(traits);
        own
    }

    fn function(&mut self, inner: &Value, full: &str) -> String {
        let header = &inner["header"];
        let word = |key: &str, word: &'static str| if header[key] == true { word } else { "" };
        let words =
            [word("is_const", "const "), word("is_async", "async "), word("is_unsafe", "unsafe ")];
        let (params, wheres) = self.types.generics(&inner["generics"]);
        let signature = self.types.signature(&inner["sig"], true);
        format!("{}fn {full}{params}{signature}{wheres}", words.concat())
    }
}

fn growth(item: &Value) -> &'static str {
    let is_open = array(&item["attrs"]).any(|attribute| kind(attribute).0 == "non_exhaustive");
    if is_open { "#[non_exhaustive] " } else { "" }
}
