//! Reads item names and paths from rustdoc's JSON.

use serde_json::Value;

/// One crate as rustdoc describes it.
pub(super) struct Document(Value);

/// Where a named item comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin<'a> {
    /// This crate.
    Here,
    /// `std`, `core` or `alloc`.
    Standard,
    /// Another crate, one of ours or foreign.
    Crate(&'a str),
}

impl Document {
    /// Fails on JSON of another shape: the format changes between rustdoc versions.
    pub(super) fn parse(json: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| format!("rustdoc wrote no JSON: {error}"))?;
        let document = Self(value);
        match document.item(&document.0["root"]) {
            Some(root) if root["inner"]["module"].is_object() => Ok(document),
            _ => Err(format!(
                "unsupported format of rustdoc's JSON: version {}",
                document.0["format_version"]
            )),
        }
    }

    pub(super) fn root(&self) -> &Value {
        self.item(&self.0["root"]).unwrap_or(&Value::Null)
    }

    /// The item of this id, if this crate defines it.
    pub(super) fn item(&self, id: &Value) -> Option<&Value> {
        self.0["index"].get(id.to_string())
    }

    /// The full path of a named item of any crate, and where it comes from.
    pub(super) fn path(&self, id: &Value) -> Option<(Origin<'_>, Vec<&str>)> {
        let summary = self.0["paths"].get(id.to_string())?;
        let path: Vec<&str> = texts(&summary["path"]).collect();
        let origin = match summary["crate_id"].as_u64()? {
            0 => Origin::Here,
            other => match self.0["external_crates"][other.to_string()]["name"].as_str()? {
                "std" | "core" | "alloc" => Origin::Standard,
                name => Origin::Crate(name),
            },
        };
        Some((origin, path))
    }
}

pub(super) fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(super) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    array(value).filter_map(Value::as_str)
}

/// The only key of an object such as `{"struct": …}`, and its value. A plain string is a key without a value.
pub(super) fn kind(value: &Value) -> (&str, &Value) {
    if let Some(name) = value.as_str() {
        return (name, &Value::Null);
    }
    let first = value.as_object().and_then(|object| object.iter().next());
    first.map_or(("", &Value::Null), |(name, inner)| (name.as_str(), inner))
}
