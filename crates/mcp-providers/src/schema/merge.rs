//! Merges schemas: those that apply together, and those that are alternatives.

use std::mem;

use super::report::Report;
use crate::{
    json::{Json, Object},
    loss::Lost,
};

const ANNOTATIONS: &[&str] = &["title", "description", "default", "examples", "deprecated"];

/// One schema for values that satisfy both. If both restrict a keyword differently, the value of `base` is
/// kept and the other one is reported.
pub(super) fn both(base: Object, other: Object, report: &mut Report) -> Object {
    let mut merged = base;
    for (name, value) in other {
        let Some(known) = merged.get_mut(&name) else {
            merged.set(name, value);
            continue;
        };
        if *known == value {
            continue;
        }
        match (name.as_str(), &mut *known, value) {
            ("properties", Json::Object(known), Json::Object(more)) => {
                for (property, schema) in more {
                    merge_property(known, property, schema, report);
                }
            }
            ("required", Json::Array(known), Json::Array(more)) => {
                let new: Vec<Json> =
                    more.into_iter().filter(|name| !known.contains(name)).collect();
                known.extend(new);
            }
            // The outer annotation describes the use better.
            (annotation, known, value) if ANNOTATIONS.contains(&annotation) => *known = value,
            _ => report.keyword(&name),
        }
    }
    merged
}

fn merge_property(known: &mut Object, name: String, schema: Json, report: &mut Report) {
    match (known.get_mut(&name), schema) {
        (None, schema) => drop(known.set(name, schema)),
        (Some(Json::Object(old)), Json::Object(new)) => {
            report.push("properties");
            report.push(&name);
            *old = both(mem::take(old), new, report);
            report.pop();
            report.pop();
        }
        _ => {}
    }
}

/// Merges the schemas of `allOf` into the schema around them.
pub(super) fn all_of(mut schema: Object, report: &mut Report) -> Object {
    while let Some(Json::Array(parts)) = schema.remove("allOf") {
        for part in parts {
            if let Json::Object(part) = part {
                schema = both(schema, part, report);
            }
        }
    }
    schema
}

/// Merges alternatives into the surrounding schema: properties of any, required if all require them.
pub(super) fn any_of(mut schema: Object, report: &mut Report) -> Object {
    for word in ["oneOf", "anyOf"] {
        let Some(Json::Array(parts)) = schema.remove(word) else { continue };
        report.lose(Lost::Alternatives(word.to_owned()));
        let parts: Vec<Object> = parts
            .into_iter()
            .filter_map(|part| match part {
                Json::Object(part) => Some(any_of(all_of(part, report), report)),
                _ => None,
            })
            .collect();
        let required = required_by_all(&parts);
        let mut properties = match schema.remove("properties") {
            Some(Json::Object(properties)) => properties,
            _ => Object::default(),
        };
        let outer: Vec<String> = properties.iter().map(|(name, _)| name.to_owned()).collect();
        for part in parts {
            let Some(Json::Object(more)) = part.get("properties").cloned() else { continue };
            for (name, property) in more {
                match properties.get_mut(&name) {
                    // A requirement outside of the alternatives applies to each of them.
                    Some(_) if outer.contains(&name) => {}
                    Some(known) => *known = either(mem::replace(known, Json::null()), property),
                    None => drop(properties.set(name, property)),
                }
            }
        }
        schema.set("properties", properties);
        add_required(&mut schema, required);
    }
    schema
}

fn required_by_all(parts: &[Object]) -> Vec<Json> {
    let required = |part: &Object| match part.get("required") {
        Some(Json::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let mut lists = parts.iter().map(required);
    let first = lists.next().unwrap_or_default();
    lists
        .fold(first, |common, list| common.into_iter().filter(|name| list.contains(name)).collect())
}

fn add_required(schema: &mut Object, names: Vec<Json>) {
    let mut required = match schema.remove("required") {
        Some(Json::Array(required)) => required,
        _ => Vec::new(),
    };
    let new: Vec<Json> = names.into_iter().filter(|name| !required.contains(name)).collect();
    required.extend(new);
    if !required.is_empty() {
        schema.set("required", required);
    }
}

/// A schema for values of either. Two lists of values are combined.
fn either(one: Json, other: Json) -> Json {
    if one == other {
        return one;
    }
    if let (Some(mut values), Some(more)) = (values(&one), values(&other))
        && one.get("type") == other.get("type")
        && let Json::Object(mut schema) = one
    {
        let new: Vec<Json> = more.into_iter().filter(|value| !values.contains(value)).collect();
        values.extend(new);
        schema.remove("const");
        schema.set("enum", values);
        return schema.into();
    }
    let mut list = match one {
        Json::Object(mut object) if object.len() == 1 && object.has("anyOf") => {
            match object.remove("anyOf") {
                Some(Json::Array(list)) => list,
                _ => Vec::new(),
            }
        }
        one => vec![one],
    };
    if !list.contains(&other) {
        list.push(other);
    }
    Object::from_iter([("anyOf".to_owned(), Json::Array(list))]).into()
}

/// The values of a schema that has only a list of values, a type and a description.
fn values(schema: &Json) -> Option<Vec<Json>> {
    let schema = schema.as_object()?;
    let is_plain = |(name, _): (&str, &Json)| {
        matches!(name, "const" | "enum" | "description" | "title")
            || name == "type" && schema.get("type").and_then(Json::as_str) == Some("string")
    };
    if !schema.iter().all(is_plain) {
        return None;
    }
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), None) => Some(vec![value.clone()]),
        (None, Some(Json::Array(values))) => Some(values.clone()),
        _ => None,
    }
}
