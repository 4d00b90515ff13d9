//! `customTools`: tools that users make of other tools.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value as Json};

use super::{
    finding::{Finding, Findings, Path},
    read::{Dropped, Reader, parse},
    typo::note_unknown_key,
};
use crate::{
    custom::{CustomEntry, CustomStep, CustomTool, MOST_STEPS},
    diagnostic::{Diagnostic, Problem},
    text::{Format, Member, Node, SyntaxError, Value},
};

/// Where they stand in a file.
pub(crate) const KEY: &str = "customTools";
const FIELDS: &[&str] = &["name", "description", "parameters", "readOnly", "steps"];
const STEP_FIELDS: &[&str] = &["tool", "fixed", "rename", "resultAs"];

/// Reads every tool of a file; a bad one costs itself.
pub(super) fn read(reader: &mut Reader<'_, '_>, root: &Node<'_>) {
    let Some(node) = root.get(KEY) else { return };
    let path = Path::Root.key(KEY);
    let Some(members) = node.members() else {
        reader.findings.add(Finding::wrong(node, &path, "an object of tools, by name"));
        return;
    };
    for (index, member) in members.iter().enumerate() {
        if members[index + 1..].iter().any(|later| later.key == member.key) {
            let finding = Finding::warning(Problem::DuplicateKey, member.key_span.start);
            let finding = finding.at(&path.key(&member.key)).found("the same name a first time");
            reader.findings.add(finding.expected("each key once").hint("the last one counts"));
            continue;
        }
        let path = path.key(&member.key);
        let place = reader.findings.place(member.key_span.start, path.pointer());
        let mut read = Tools { findings: reader.findings };
        let name = read.name(&member.key, member.key_span.start, &path);
        if let Ok(tool) = name.and_then(|name| read.tool(name, &member.value, &path)) {
            reader.document.custom_tools.push(Arc::new(CustomEntry { tool, place }));
        }
    }
}

/// One tool from JSON that is in no file, and what there is to say about it.
pub(crate) fn read_custom_tool(json: &str) -> (Option<CustomTool>, Vec<Diagnostic>) {
    let mut findings = Findings::new(json, &Arc::from("custom tool"));
    let tool = match parse(json, Format::Json) {
        Ok((root, _)) => {
            let mut read = Tools { findings: &mut findings };
            let named = root.get("name").and_then(Node::as_str).unwrap_or_default();
            let name = read.name(named, root.span.start, &Path::Root.key("name"));
            name.and_then(|name| read.tool(name, &root, &Path::Root)).ok()
        }
        Err(SyntaxError { offset, found, expected }) => {
            findings.add(Finding::error(Problem::Syntax, offset).found(found).expected(expected));
            None
        }
    };
    (tool, findings.finish())
}

struct Tools<'r, 't> {
    findings: &'r mut Findings<'t>,
}

type Read<T> = Result<T, Dropped>;

impl Tools<'_, '_> {
    fn wrong<T>(&mut self, node: &Node<'_>, path: &Path<'_>, expected: &str) -> Read<T> {
        self.findings.add(Finding::wrong(node, path, expected));
        Err(Dropped)
    }

    /// A name that every provider takes as it is: nothing is replaced behind the user's back.
    fn name(&mut self, name: &str, offset: usize, path: &Path<'_>) -> Read<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if (1..=64).contains(&name.len()) && name.bytes().all(is_plain) {
            return Ok(name.to_owned());
        }
        let finding = Finding::error(Problem::BadName, offset).at(path);
        let expected = "1 to 64 letters, digits, `_` and `-`";
        self.findings.add(finding.found("a name no model could call it by").expected(expected));
        Err(Dropped)
    }

    fn tool(&mut self, name: String, node: &Node<'_>, path: &Path<'_>) -> Read<CustomTool> {
        let members = self.members(node, path, FIELDS)?;
        let text = |read: &mut Self, key| read.text(members, path, key);
        let description = text(self, "description")?.unwrap_or_default();
        let parameters = match get(members, "parameters") {
            None => None,
            Some(schema) if schema.members().is_some() => Some(schema.to_json()),
            Some(other) => {
                return self.wrong(other, &path.key("parameters"), "a JSON Schema of an object");
            }
        };
        let read_only = match get(members, "readOnly").map(|node| (&node.value, node)) {
            None => false,
            Some((Value::Bool(yes), _)) => *yes,
            Some((_, other)) => return self.wrong(other, &path.key("readOnly"), "a boolean"),
        };
        let steps_path = path.key("steps");
        let steps = get(members, "steps").and_then(|node| Some((node, node.items()?)));
        let Some((_, steps)) = steps.filter(|(_, all)| (1..=MOST_STEPS).contains(&all.len()))
        else {
            let expected = format!("an array of 1 to {MOST_STEPS} steps");
            let Some(at) = get(members, "steps") else {
                let finding = Finding::error(Problem::WrongType, node.span.start).at(&steps_path);
                self.findings.add(finding.found("no `steps`").expected(expected));
                return Err(Dropped);
            };
            return self.wrong(at, &steps_path, &expected);
        };
        let steps = steps.iter().enumerate();
        let steps = steps.map(|(index, step)| self.step(step, &Path::Index(&steps_path, index)));
        let steps = steps.collect::<Read<Vec<_>>>()?;
        Ok(CustomTool { name, description, parameters, read_only, steps })
    }

    fn step(&mut self, node: &Node<'_>, path: &Path<'_>) -> Read<CustomStep> {
        let members = self.members(node, path, STEP_FIELDS)?;
        let Some(tool) = self.text(members, path, "tool")?.filter(|tool| !tool.is_empty()) else {
            return self.wrong(node, path, "an object with a `tool`");
        };
        let mut fixed = Map::new();
        if let Some(node) = get(members, "fixed") {
            let Json::Object(all) = node.to_json() else {
                return self.wrong(node, &path.key("fixed"), "an object of arguments");
            };
            fixed = all;
        }
        let mut rename = BTreeMap::new();
        if let Some(node) = get(members, "rename") {
            let path = path.key("rename");
            let Some(members) = node.members() else {
                return self.wrong(node, &path, "an object of names");
            };
            for member in members {
                let Some(other) = member.value.as_str() else {
                    return self.wrong(&member.value, &path.key(&member.key), "another name");
                };
                rename.insert(member.key.to_string(), other.to_owned());
            }
        }
        let result_as = self.text(members, path, "resultAs")?;
        Ok(CustomStep { tool, fixed, rename, result_as })
    }

    /// The members of an object; keys it should not have are remarked upon.
    fn members<'n, 'a>(
        &mut self,
        node: &'n Node<'a>,
        path: &Path<'_>,
        known: &[&'static str],
    ) -> Read<&'n [Member<'a>]> {
        let Some(members) = node.members() else { return self.wrong(node, path, "an object") };
        for member in members.iter().filter(|member| !known.contains(&&*member.key)) {
            note_unknown_key(self.findings, member, &path.key(&member.key), known);
        }
        Ok(members)
    }

    fn text(
        &mut self,
        members: &[Member<'_>],
        path: &Path<'_>,
        key: &'static str,
    ) -> Read<Option<String>> {
        match get(members, key) {
            None => Ok(None),
            Some(node) => match node.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => self.wrong(node, &path.key(key), "a string"),
            },
        }
    }
}

fn get<'n, 'a>(members: &'n [Member<'a>], key: &str) -> Option<&'n Node<'a>> {
    members.iter().rev().find(|member| member.key == key).map(|member| &member.value)
}
