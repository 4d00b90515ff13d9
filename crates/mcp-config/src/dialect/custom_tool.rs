//! `customTools`: tools that users compose from other tools.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value as Json, json};

use super::{
    finding::{Dropped, Findings, replaced_members},
    path::Path,
    typo::note_unknown,
};
use crate::{
    diagnostic::{Diagnostic, Place, Problem, Severity},
    format::{Node, Value, parse_json},
};

/// The key of custom tools in a file.
pub(crate) const KEY: &str = "customTools";
const FIELDS: &[&str] = &["name", "description", "parameters", "readOnly", "steps"];
const STEP_FIELDS: &[&str] = &["tool", "fixed", "rename", "resultAs"];

/// The maximum number of steps of a tool.
pub(crate) const MOST_STEPS: usize = 8;

/// A tool composed of calls to other tools, with renamed or fixed arguments.
///
/// In our own files it is an entry of `customTools`:
///
/// ```
/// # let text = r#"
/// {
///   "mcpServers": { "github": { "url": "https://example.com/mcp" } },
///   "customTools": {
///     "my_open_issues": {
///       "description": "The issues that are assigned to me.",
///       "parameters": { "type": "object", "properties": { "label": { "type": "string" } } },
///       "readOnly": true,
///       "steps": [{ "tool": "github/list_issues", "fixed": { "assignee": "me" } }]
///     }
///   }
/// }
/// # "#;
/// # let document = mcp_config::read(text.as_bytes(), &mcp_config::ReadOptions::new(".mcp.json"));
/// # assert_eq!(document.custom_tools[0].tool.steps[0].tool, "github/list_issues");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CustomTool {
    /// The name of the tool for the model: letters, digits, `_` and `-`.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of its arguments. Default: no arguments.
    pub parameters: Option<Json>,
    /// Whether it is read-only, for plan mode. Default: no.
    pub read_only: bool,
    /// The calls to make, in order. The result of the last step is the result of the tool. The first failure
    /// ends the call.
    pub steps: Vec<CustomStep>,
}

/// One call of another tool.
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct CustomStep {
    /// The tool to call: `server/tool`, or the name that models use for it.
    pub tool: String,
    /// Arguments with a fixed value. They override those of the call.
    pub fixed: Map<String, Json>,
    /// Renamed arguments, from our name to the called tool's name.
    pub rename: BTreeMap<String, String>,
    /// The argument that receives the text of the previous step.
    pub result_as: Option<String>,
}

impl CustomTool {
    /// Parses one tool from JSON outside a file: the members of an entry, and its `name`.
    ///
    /// ```
    /// use mcp_config::custom::CustomTool;
    /// let tool = CustomTool::parse(r#"{"name": "now", "steps": [{"tool": "time/now"}]}"#)?;
    /// assert_eq!(tool.steps.len(), 1);
    /// # Ok::<(), Box<mcp_config::Diagnostic>>(())
    /// ```
    ///
    /// # Errors
    /// The first problem found, with its position.
    pub fn parse(json: &str) -> Result<Self, Box<Diagnostic>> {
        let mut findings = Findings::new(json, &Arc::from("custom tool"));
        let tool = match parse_json(json) {
            Ok((root, _)) => {
                let named = root.get("name").and_then(Node::as_str).unwrap_or_default();
                let mut read = Tools { findings: &mut findings };
                let name = read.name(named, root.span.start, &Path::Root.key("name"));
                name.and_then(|name| read.tool(name, &root, &Path::Root))
            }
            Err(error) => {
                findings.syntax(error);
                Err(Dropped)
            }
        };
        let is_error = |finding: &Diagnostic| finding.severity == Severity::Error;
        tool.map_err(|_| {
            let error = findings.finish().into_iter().find(is_error);
            Box::new(error.unwrap_or_else(|| {
                Diagnostic::of_file("a custom tool", Severity::Error, Problem::Syntax, "nothing")
            }))
        })
    }

    /// The tool as JSON, with the keys used in files.
    pub fn to_json(&self) -> Json {
        let step = |step: &CustomStep| {
            let mut all = json!({ "tool": step.tool });
            if !step.fixed.is_empty() {
                all["fixed"] = step.fixed.clone().into();
            }
            if !step.rename.is_empty() {
                all["rename"] = json!(step.rename);
            }
            if let Some(name) = &step.result_as {
                all["resultAs"] = name.as_str().into();
            }
            all
        };
        let steps: Json = self.steps.iter().map(step).collect();
        let mut all = json!({
            "name": self.name,
            "description": self.description,
            "readOnly": self.read_only,
            "steps": steps,
        });
        if let Some(parameters) = &self.parameters {
            all["parameters"] = parameters.clone();
        }
        all
    }
}

/// A custom tool and its location in a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CustomEntry {
    /// The tool.
    pub tool: CustomTool,
    /// Its location.
    pub place: Place,
}

/// Reads every custom tool of a file; an invalid one is reported and skipped.
pub(super) fn read(findings: &mut Findings<'_>, root: &Node<'_>) -> Vec<Arc<CustomEntry>> {
    let Some(node) = root.get(KEY) else { return Vec::new() };
    let path = Path::Root.key(KEY);
    let Some(members) = node.members() else {
        findings.wrong(node, &path, "an object of tools, by name");
        return Vec::new();
    };
    let replaced = replaced_members(findings, members, &path);
    let mut entries = Vec::new();
    for (index, member) in members.iter().enumerate() {
        if replaced.binary_search(&index).is_ok() {
            continue;
        }
        let path = path.key(&member.key);
        let place = findings.place(member.key_span.start, path.pointer());
        let mut read = Tools { findings };
        let name = read.name(&member.key, member.key_span.start, &path);
        if let Ok(tool) = name.and_then(|name| read.tool(name, &member.value, &path)) {
            entries.push(Arc::new(CustomEntry { tool, place }));
        }
    }
    entries
}

struct Tools<'r, 't> {
    findings: &'r mut Findings<'t>,
}

type Read<T> = Result<T, Dropped>;

impl Tools<'_, '_> {
    fn wrong<T>(&mut self, node: &Node<'_>, path: &Path<'_>, expected: &str) -> Read<T> {
        self.findings.wrong(node, path, expected);
        Err(Dropped)
    }

    /// Checks that every provider accepts the name unchanged, so that it is never renamed silently.
    fn name(&mut self, name: &str, offset: usize, path: &Path<'_>) -> Read<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if (1..=64).contains(&name.len()) && name.bytes().all(is_plain) {
            return Ok(name.to_owned());
        }
        let finding = Diagnostic::error(Problem::BadName, "an invalid tool name");
        let expected = "1 to 64 letters, digits, `_` and `-`";
        self.findings.add(offset, path, finding.expected(expected));
        Err(Dropped)
    }

    fn tool(&mut self, name: String, node: &Node<'_>, path: &Path<'_>) -> Read<CustomTool> {
        self.check_keys(node, path, FIELDS)?;
        let description = self.text(node, path, "description")?.unwrap_or_default();
        let parameters = match node.get("parameters") {
            None => None,
            Some(schema) if schema.members().is_some() => Some(schema.to_json()),
            Some(other) => {
                return self.wrong(other, &path.key("parameters"), "a JSON Schema of an object");
            }
        };
        let read_only = match node.get("readOnly") {
            None => false,
            Some(Node { value: Value::Bool(yes), .. }) => *yes,
            Some(other) => return self.wrong(other, &path.key("readOnly"), "a boolean"),
        };
        let steps_path = path.key("steps");
        let expected = format!("an array of 1 to {MOST_STEPS} steps");
        let Some(list) = node.get("steps") else {
            let finding = Diagnostic::error(Problem::WrongType, "no `steps`");
            self.findings.add(node.span.start, &steps_path, finding.expected(expected));
            return Err(Dropped);
        };
        let steps = list.items().filter(|all| (1..=MOST_STEPS).contains(&all.len()));
        let Some(steps) = steps else { return self.wrong(list, &steps_path, &expected) };
        let steps = steps.iter().enumerate();
        let steps = steps.map(|(index, step)| self.step(step, &Path::Index(&steps_path, index)));
        let steps = steps.collect::<Read<Vec<_>>>()?;
        Ok(CustomTool { name, description, parameters, read_only, steps })
    }

    fn step(&mut self, node: &Node<'_>, path: &Path<'_>) -> Read<CustomStep> {
        self.check_keys(node, path, STEP_FIELDS)?;
        let Some(tool) = self.text(node, path, "tool")?.filter(|tool| !tool.is_empty()) else {
            return self.wrong(node, path, "an object with a `tool`");
        };
        let fixed = match node.get("fixed").map(|node| (node, node.to_json())) {
            None => Map::new(),
            Some((_, Json::Object(all))) => all,
            Some((other, _)) => {
                return self.wrong(other, &path.key("fixed"), "an object of arguments");
            }
        };
        let mut rename = BTreeMap::new();
        if let Some(node) = node.get("rename") {
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
        let result_as = self.text(node, path, "resultAs")?;
        Ok(CustomStep { tool, fixed, rename, result_as })
    }

    /// Reports unknown keys.
    fn check_keys(&mut self, node: &Node<'_>, path: &Path<'_>, known: &[&'static str]) -> Read<()> {
        let Some(members) = node.members() else { return self.wrong(node, path, "an object") };
        for member in members.iter().filter(|member| !known.contains(&&*member.key)) {
            let path = path.key(&member.key);
            note_unknown(self.findings, member, &path, known.iter().copied(), None);
        }
        Ok(())
    }

    fn text(&mut self, node: &Node<'_>, path: &Path<'_>, key: &str) -> Read<Option<String>> {
        match node.get(key).map(|node| (node.as_str(), node)) {
            None => Ok(None),
            Some((Some(text), _)) => Ok(Some(text.to_owned())),
            Some((None, other)) => self.wrong(other, &path.key(key), "a string"),
        }
    }
}
