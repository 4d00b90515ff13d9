//! Formats types, bounds and generics of rustdoc's JSON as Rust.
//!
//! A name does not depend on how the source imports it: an item of this crate is written as its last segment, of the
//! standard library as its module and last segment, of another crate as the crate and last segment.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{Document, Origin, array, kind};

/// Names that are written without their module.
const PRELUDE: &[&str] = &[
    "AsRef",
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Display",
    "Drop",
    "Eq",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromStr",
    "Hash",
    "Into",
    "IntoIterator",
    "Iterator",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "Sized",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
];

/// Formats types and collects foreign ones.
pub(super) struct Types<'a> {
    pub(super) document: &'a Document,
    pub(super) foreign: BTreeSet<String>,
}

impl Types<'_> {
    pub(super) fn ty(&mut self, value: &Value) -> String {
        let (name, inner) = kind(value);
        match name {
            "resolved_path" => self.path(inner),
            "generic" | "primitive" => inner.as_str().unwrap_or("?").to_owned(),
            "dyn_trait" => self.dyn_trait(inner),
            "function_pointer" => format!("fn{}", self.signature(&inner["sig"], false)),
            "tuple" => self.tuple(inner),
            "slice" => format!("[{}]", self.ty(inner)),
            "array" => {
                format!("[{}; {}]", self.ty(&inner["type"]), inner["len"].as_str().unwrap_or("?"))
            }
            "impl_trait" => format!("impl {}", self.bounds(inner)),
            "raw_pointer" => {
                let word = if inner["is_mutable"] == true { "mut" } else { "const" };
                format!("*{word} {}", self.ty(&inner["type"]))
            }
            "borrowed_ref" => {
                let lifetime = inner["lifetime"].as_str().map(|name| format!("{name} "));
                let word = if inner["is_mutable"] == true { "mut " } else { "" };
                let ty = self.ty(&inner["type"]);
                let ty = if ty.contains(" + ") { format!("({ty})") } else { ty };
                format!("&{}{word}{ty}", lifetime.unwrap_or_default())
            }
            "qualified_path" => self.qualified(inner),
            "infer" => "_".to_owned(),
            other => format!("?{other}"),
        }
    }

    /// A path with its arguments, for types and traits.
    pub(super) fn path(&mut self, path: &Value) -> String {
        let name = self.name(path);
        let arguments = self.arguments(&path["args"]);
        format!("{name}{arguments}")
    }

    fn name(&mut self, path: &Value) -> String {
        let written = path["path"].as_str().unwrap_or("?");
        let short = written.rsplit("::").next().unwrap_or(written);
        let Some((origin, segments)) = self.document.path(&path["id"]) else {
            return short.to_owned();
        };
        let last = segments.last().copied().unwrap_or(short);
        match origin {
            Origin::Here => last.to_owned(),
            Origin::Standard if PRELUDE.contains(&last) && segments.get(1) != Some(&"io") => {
                last.to_owned()
            }
            Origin::Standard => format!("{}::{last}", segments.get(1).unwrap_or(&"std")),
            Origin::Crate(name) => {
                self.foreign.insert(format!("{name}::{last}"));
                format!("{name}::{last}")
            }
        }
    }

    fn arguments(&mut self, arguments: &Value) -> String {
        let (name, inner) = kind(arguments);
        match name {
            "angle_bracketed" => {
                let mut all: Vec<String> =
                    array(&inner["args"]).map(|one| self.argument(one)).collect();
                all.extend(array(&inner["constraints"]).map(|one| self.constraint(one)));
                if all.is_empty() { String::new() } else { format!("<{}>", all.join(", ")) }
            }
            "parenthesized" => {
                let inputs: Vec<String> = array(&inner["inputs"]).map(|one| self.ty(one)).collect();
                format!("({}){}", inputs.join(", "), self.output(&inner["output"]))
            }
            _ => String::new(),
        }
    }

    fn argument(&mut self, argument: &Value) -> String {
        let (name, inner) = kind(argument);
        match name {
            "lifetime" => inner.as_str().unwrap_or("'_").to_owned(),
            "type" => self.ty(inner),
            "const" => inner["expr"].as_str().unwrap_or("_").to_owned(),
            _ => "_".to_owned(),
        }
    }

    fn constraint(&mut self, constraint: &Value) -> String {
        let name = constraint["name"].as_str().unwrap_or("?").to_owned();
        let (kind, inner) = kind(&constraint["binding"]);
        match kind {
            "constraint" => format!("{name}: {}", self.bounds(inner)),
            _ => format!("{name} = {}", self.term(inner)),
        }
    }

    fn term(&mut self, term: &Value) -> String {
        let (name, inner) = kind(term);
        if name == "type" {
            self.ty(inner)
        } else {
            inner["expr"].as_str().unwrap_or("_").to_owned()
        }
    }

    fn tuple(&mut self, parts: &Value) -> String {
        let parts: Vec<String> = array(parts).map(|part| self.ty(part)).collect();
        match parts.as_slice() {
            [one] => format!("({one},)"),
            _ => format!("({})", parts.join(", ")),
        }
    }

    fn dyn_trait(&mut self, inner: &Value) -> String {
        let traits = array(&inner["traits"]);
        let mut all: Vec<String> = traits
            .map(|one| {
                let binder = binder(&one["generic_params"]);
                format!("{binder}{}", self.path(&one["trait"]))
            })
            .collect();
        all.extend(inner["lifetime"].as_str().map(str::to_owned));
        format!("dyn {}", all.join(" + "))
    }

    fn qualified(&mut self, inner: &Value) -> String {
        let this = self.ty(&inner["self_type"]);
        let name = inner["name"].as_str().unwrap_or("?");
        let arguments = self.arguments(&inner["args"]);
        match &inner["trait"] {
            Value::Null => format!("{this}::{name}{arguments}"),
            of if this == "Self" && of["path"].as_str().is_none_or(str::is_empty) => {
                format!("Self::{name}{arguments}")
            }
            of => format!("<{this} as {}>::{name}{arguments}", self.path(of)),
        }
    }

    /// `(self, name: Type) -> Type`.
    pub(super) fn signature(&mut self, signature: &Value, names: bool) -> String {
        let mut inputs = Vec::new();
        for input in array(&signature["inputs"]) {
            let (name, ty) = (input[0].as_str().unwrap_or("_"), self.ty(&input[1]));
            inputs.push(match (name, ty.as_str()) {
                ("self", "Self") => "self".to_owned(),
                ("self", ty) if ty.starts_with('&') && ty.ends_with("Self") => {
                    format!("{}self", ty.trim_end_matches("Self"))
                }
                (name, ty) if names => format!("{name}: {ty}"),
                (_, ty) => ty.to_owned(),
            });
        }
        format!("({}){}", inputs.join(", "), self.output(&signature["output"]))
    }

    fn output(&mut self, output: &Value) -> String {
        if output.is_null() { String::new() } else { format!(" -> {}", self.ty(output)) }
    }

    pub(super) fn bounds(&mut self, bounds: &Value) -> String {
        array(bounds).map(|bound| self.bound(bound)).collect::<Vec<_>>().join(" + ")
    }

    fn bound(&mut self, bound: &Value) -> String {
        let (name, inner) = kind(bound);
        match name {
            "trait_bound" => {
                let sign = if inner["modifier"] == "maybe" { "?" } else { "" };
                let binder = binder(&inner["generic_params"]);
                format!("{sign}{binder}{}", self.path(&inner["trait"]))
            }
            "outlives" => inner.as_str().unwrap_or("'_").to_owned(),
            "use" => "use<..>".to_owned(),
            other => format!("?{other}"),
        }
    }

    /// `<T: Bound>`, and ` where …`.
    pub(super) fn generics(&mut self, generics: &Value) -> (String, String) {
        let mut params = Vec::new();
        for param in array(&generics["params"]) {
            let name = param["name"].as_str().unwrap_or("?");
            let (kind, inner) = kind(&param["kind"]);
            match kind {
                // An `impl Trait` argument is written inline.
                "type" if inner["is_synthetic"] == true => {}
                "type" => params.push(bounded(name, &self.bounds(&inner["bounds"]))),
                "const" => params.push(format!("const {name}: {}", self.ty(&inner["type"]))),
                _ => params.push(name.to_owned()),
            }
        }
        let params =
            if params.is_empty() { String::new() } else { format!("<{}>", params.join(", ")) };
        let mut wheres = Vec::new();
        for predicate in array(&generics["where_predicates"]) {
            let (kind, inner) = kind(predicate);
            match kind {
                "bound_predicate" => {
                    let ty = self.ty(&inner["type"]);
                    wheres.push(bounded(&ty, &self.bounds(&inner["bounds"])));
                }
                "lifetime_predicate" => {
                    wheres.push(inner["lifetime"].as_str().unwrap_or("'_").to_owned());
                }
                _ => wheres.push(format!(
                    "{} = {}",
                    self.ty(&inner["lhs"]),
                    self.term(&inner["rhs"])
                )),
            }
        }
        let wheres =
            if wheres.is_empty() { String::new() } else { format!(" where {}", wheres.join(", ")) };
        (params, wheres)
    }
}

fn bounded(name: &str, bounds: &str) -> String {
    if bounds.is_empty() { name.to_owned() } else { format!("{name}: {bounds}") }
}

/// `for<'a> `, or nothing.
fn binder(params: &Value) -> String {
    let names: Vec<&str> = array(params).filter_map(|param| param["name"].as_str()).collect();
    if names.is_empty() { String::new() } else { format!("for<{}> ", names.join(", ")) }
}
