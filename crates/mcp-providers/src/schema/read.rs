//! Reads a foreign schema: inlines references, and returns valid draft 2020-12.

use std::mem;

use mcp_jsonrpc::RawJson;

use super::{
    empty,
    keyword::{self, IDENTIFIERS, Shape},
    merge,
    report::Report,
};
use crate::{
    json::{Json, Object},
    loss::{Loss, Lost},
};

/// The maximum number of schemas in a projection, including inner and inlined ones.
const MOST_SCHEMAS: usize = 4_000;
/// The maximum depth of schemas.
const DEEPEST: usize = 32;

/// The schema of an object without references, and the losses.
pub(super) fn read(raw: &RawJson) -> (Object, Vec<Loss>) {
    let root = Json::read(raw);
    let Some(top) = root.as_object() else {
        return (empty(), vec![Loss::of_tool(Lost::NotAnObject)]);
    };
    let mut reader = Reader {
        root: &root,
        report: Report::default(),
        left: MOST_SCHEMAS,
        open: Vec::new(),
        is_over_budget: false,
    };
    let mut schema = reader.object(top, 0);
    let is_object = match schema.get("type") {
        None => true,
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some("object")),
        Some(kind) => kind.as_str() == Some("object"),
    };
    if !is_object {
        return (empty(), vec![Loss::of_tool(Lost::NotAnObject)]);
    }
    schema.set("type", "object");
    (schema, reader.report.into_losses())
}

struct Reader<'a> {
    root: &'a Json,
    report: Report,
    /// The remaining number of schemas.
    left: usize,
    /// The references that are being inlined, outermost first.
    open: Vec<&'a str>,
    is_over_budget: bool,
}

impl<'a> Reader<'a> {
    /// `None` for the schema `false`.
    fn schema(&mut self, schema: &'a Json, depth: usize) -> Option<Json> {
        match schema {
            Json::Object(object) => Some(self.object(object, depth).into()),
            other => (other.as_bool() == Some(true)).then(|| Object::default().into()),
        }
    }

    fn object(&mut self, schema: &'a Object, depth: usize) -> Object {
        if self.left == 0 || depth > DEEPEST {
            self.over_budget();
            return Object::default();
        }
        self.left -= 1;
        let mut read = Object::default();
        for (name, value) in schema.iter() {
            self.keyword(name, value, schema, &mut read, depth);
        }
        match schema.get("$ref").and_then(Json::as_str) {
            Some(to) => self.inline(to, read, depth),
            None => read,
        }
    }

    fn keyword(
        &mut self,
        name: &'a str,
        value: &'a Json,
        schema: &Object,
        read: &mut Object,
        depth: usize,
    ) {
        if IDENTIFIERS.contains(&name) || name == "$ref" && value.as_str().is_some() {
            return;
        }
        match (name, value) {
            ("$dynamicRef" | "$recursiveRef", Json::String(to)) => {
                self.report.lose(Lost::Reference(to.clone()));
            }
            // Draft 4: an array of items is now `prefixItems`.
            ("items", Json::Array(_)) => self.checked("prefixItems", value, read, depth),
            ("additionalItems", _)
                if schema.get("items").is_some_and(|i| i.as_array().is_some()) =>
            {
                self.checked("items", value, read, depth);
            }
            // Draft 4: `minimum` has the limit, and a boolean marks it as exclusive.
            ("exclusiveMinimum" | "exclusiveMaximum", flag)
                if flag.as_bool().is_some() && schema.has(limit_of(name)) => {}
            ("minimum", _) if is_true(schema.get("exclusiveMinimum")) => {
                self.checked("exclusiveMinimum", value, read, depth);
            }
            ("maximum", _) if is_true(schema.get("exclusiveMaximum")) => {
                self.checked("exclusiveMaximum", value, read, depth);
            }
            _ => self.checked(name, value, read, depth),
        }
    }

    /// Copies a keyword if its value has the right shape.
    fn checked(&mut self, name: &'a str, value: &'a Json, read: &mut Object, depth: usize) {
        let Some(shape) = keyword::shape(name) else { return self.report.keyword(name) };
        if !keyword::is_valid(shape, value) {
            return self.report.lose(Lost::Malformed(name.to_owned()));
        }
        match (shape, value) {
            (Shape::Schema, schema) => {
                self.report.push(name);
                if schema.as_bool() == Some(false) {
                    read.set(name, schema.clone());
                } else if let Some(schema) = self.schema(schema, depth + 1) {
                    read.set(name, schema);
                }
                self.report.pop();
            }
            (Shape::Schemas, Json::Array(list)) => {
                let list = self.list(name, list, depth);
                if list.is_empty() {
                    return self.report.keyword(name);
                }
                read.set(name, list);
            }
            (Shape::SchemaByName, Json::Object(map)) => {
                let map = self.map(name, map, depth);
                read.set(name, map);
            }
            _ => drop(read.set(name, value.clone())),
        }
    }

    fn list(&mut self, name: &str, list: &'a [Json], depth: usize) -> Vec<Json> {
        self.report.push(name);
        let mut read = Vec::with_capacity(list.len());
        for (index, schema) in list.iter().enumerate() {
            self.report.push(&index.to_string());
            match self.schema(schema, depth + 1) {
                Some(schema) => read.push(schema),
                None => self.report.keyword("false"),
            }
            self.report.pop();
        }
        self.report.pop();
        read
    }

    fn map(&mut self, name: &str, map: &'a Object, depth: usize) -> Object {
        self.report.push(name);
        let mut read = Vec::with_capacity(map.len());
        for (key, schema) in map.iter() {
            self.report.push(key);
            match self.schema(schema, depth + 1) {
                Some(schema) => read.push((key.to_owned(), schema)),
                None => self.report.keyword("false"),
            }
            self.report.pop();
        }
        self.report.pop();
        read.into_iter().collect()
    }

    /// The schema that `to` refers to, merged with the keywords beside the reference.
    fn inline(&mut self, to: &'a str, beside: Object, depth: usize) -> Object {
        let Some(target) = resolve(self.root, to).and_then(Json::as_object) else {
            self.report.lose(Lost::Reference(to.to_owned()));
            return beside;
        };
        let inlined = if self.open.contains(&to) {
            self.report.lose(Lost::Recursion(to.to_owned()));
            Self::stub(target)
        } else {
            self.open.push(to);
            let inlined = self.object(target, depth + 1);
            self.open.pop();
            inlined
        };
        merge::both(inlined, beside, &mut self.report)
    }

    /// Reports the first location beyond the budget.
    fn over_budget(&mut self) {
        if !mem::replace(&mut self.is_over_budget, true) {
            self.report.lose(Lost::Budget);
        }
    }

    /// The inner occurrence of a recursive schema: only its type and its description.
    fn stub(target: &Object) -> Object {
        let mut stub = Object::default();
        for (name, shape) in [("type", Shape::Type), ("description", Shape::Text)] {
            if let Some(value) = target.get(name).filter(|value| keyword::is_valid(shape, value)) {
                stub.set(name, value.clone());
            }
        }
        stub
    }
}

fn limit_of(exclusive: &str) -> &'static str {
    if exclusive == "exclusiveMinimum" { "minimum" } else { "maximum" }
}

fn is_true(flag: Option<&Json>) -> bool {
    flag.and_then(Json::as_bool) == Some(true)
}

/// The value that a reference inside the document points to.
pub(crate) fn resolve<'a>(root: &'a Json, to: &str) -> Option<&'a Json> {
    let pointer = to.strip_prefix('#')?;
    if pointer.is_empty() {
        return Some(root);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(root, |at, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        match at {
            Json::Object(object) => object.get(&step),
            Json::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        }
    })
}
