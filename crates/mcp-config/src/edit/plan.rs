//! From "put this server" to operations on paths, dialect by dialect.

use serde_json::Value as Json;

use super::{Edit, EditError, Fresh, Operation};
use crate::{
    dialect::{
        Dialect, encode, fits, parse, read_entry,
        shape::{Field, Section, Slot, Step, Switch},
    },
    model::ServerConfig,
    scope::Scope,
    text::{Node, Value},
};

pub(super) struct Plan<'p> {
    pub(super) dialect: Dialect,
    pub(super) project: Option<&'p str>,
    /// The scope whose section is meant, in files that hold several.
    pub(super) scope: Option<Scope>,
}

impl Plan<'_> {
    pub(super) fn operations(&self, text: &str, edit: &Edit) -> Result<Vec<Operation>, EditError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let empty = Node {
            span: crate::text::Span { start: 0, end: 0 },
            value: Value::Object(Box::default()),
        };
        let root = if text.trim().is_empty() {
            empty
        } else {
            let unreadable = |error: crate::text::SyntaxError| {
                EditError::Unreadable(format!("found {}, expected {}", error.found, error.expected))
            };
            parse(text, self.dialect.format()).map_err(unreadable)?.0
        };
        match edit {
            Edit::Put(config) => self.put(&root, config),
            Edit::Remove(name) => Ok(vec![Operation::Remove(self.find(&root, name)?)]),
            Edit::Enable(name, on) => self.enable(&root, name, *on),
        }
    }

    fn put(&self, root: &Node<'_>, config: &ServerConfig) -> Result<Vec<Operation>, EditError> {
        let listed = matches!(self.dialect.shape().switch, Switch::List(_));
        let mut lost = fits(self.dialect, config);
        lost.retain(|field| !(listed && *field == "enabled"));
        if !lost.is_empty() {
            return Err(EditError::Inexpressible(self.dialect, lost));
        }
        let name = config.name.as_str();
        let path = match self.find(root, name) {
            Ok(path) => path,
            Err(EditError::NotFound(_)) => {
                let mut path = self.section(self.wanted())?;
                path.push(name.to_owned());
                path
            }
            Err(other) => return Err(other),
        };
        let fresh = encode(self.dialect, config);
        let old = root.path(path.iter().map(String::as_str));
        let mut operations = match old
            .and_then(|node| Some((node, read_entry(self.dialect, &config.name, node)?)))
        {
            Some((node, was)) => {
                update(self.dialect, &path, node, &encode(self.dialect, &was), &fresh)
            }
            None => vec![Operation::Set(path, Fresh::entry(fresh))],
        };
        if listed && !config.enabled {
            operations.extend(self.enable(root, name, false)?);
        }
        Ok(operations)
    }

    fn enable(&self, root: &Node<'_>, name: &str, on: bool) -> Result<Vec<Operation>, EditError> {
        let shape = self.dialect.shape();
        match shape.switch {
            Switch::Nowhere => Err(EditError::Inexpressible(self.dialect, vec!["enabled"])),
            Switch::List(steps) => {
                let path = self.steps(steps)?;
                let list = root.path(path.iter().map(String::as_str));
                let mut names: Vec<Json> = list
                    .and_then(Node::items)
                    .unwrap_or_default()
                    .iter()
                    .map(Node::to_json)
                    .collect();
                let listed = names.iter().any(|each| each == name);
                if listed != on {
                    return Ok(Vec::new());
                }
                names.retain(|each| each != name);
                if !on {
                    names.push(name.into());
                }
                Ok(vec![Operation::Set(path, Fresh::Value(names.into()))])
            }
            Switch::Field => {
                let mut path = self.find(root, name)?;
                let entry = root.path(path.iter().map(String::as_str));
                let switches: Vec<&Field> =
                    shape.fields.iter().filter(|f| family(f.slot) == Family::Switch).collect();
                let written =
                    switches.iter().find(|f| entry.is_some_and(|entry| entry.get(f.key).is_some()));
                let Some(field) = written.or(switches.first()) else {
                    return Err(EditError::Inexpressible(self.dialect, vec!["enabled"]));
                };
                if on && written.is_none() {
                    return Ok(Vec::new());
                }
                path.push(field.key.to_owned());
                let value = if field.slot == Slot::Disabled { !on } else { on };
                Ok(vec![Operation::Set(path, Fresh::Value(value.into()))])
            }
        }
    }

    /// The path of the entry called `name`, in the wanted section or, if none is, in any.
    fn find(&self, root: &Node<'_>, name: &str) -> Result<Vec<String>, EditError> {
        let sections = self.dialect.shape().sections;
        let wanted =
            |section: &&Section| self.scope.is_none() || section.scope == self.wanted().scope;
        for section in sections.iter().filter(wanted) {
            let Ok(mut path) = self.section(section) else { continue };
            path.push(name.to_owned());
            if root.path(path.iter().map(String::as_str)).is_some() {
                return Ok(path);
            }
        }
        Err(EditError::NotFound(name.to_owned()))
    }

    /// The section of the wanted scope, or the first.
    fn wanted(&self) -> &'static Section {
        let sections = self.dialect.shape().sections;
        sections.iter().find(|section| section.scope == self.scope).unwrap_or(&sections[0])
    }

    fn section(&self, section: &Section) -> Result<Vec<String>, EditError> {
        self.steps(section.path)
    }

    fn steps(&self, steps: &[Step]) -> Result<Vec<String>, EditError> {
        let key = |step: &Step| match step {
            Step::Key(key) => Ok((*key).to_owned()),
            Step::Project => self.project.map(str::to_owned).ok_or(EditError::NoProject),
        };
        steps.iter().map(key).collect()
    }
}

/// Which keys are spellings of one setting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Kind,
    Address,
    Switch,
    Program,
    CallTime,
    Key(&'static str),
}

fn family(slot: Slot) -> Family {
    match slot {
        Slot::Type | Slot::TypeAlias => Family::Kind,
        Slot::Url | Slot::UrlOf(_) => Family::Address,
        Slot::Enabled | Slot::EnabledAlways | Slot::Disabled => Family::Switch,
        Slot::Command | Slot::CommandLine => Family::Program,
        Slot::Call(_) => Family::CallTime,
        _ => Family::Key(""),
    }
}

/// Brings an existing entry to new members, touching only what differs.
fn update(
    dialect: Dialect,
    path: &[String],
    node: &Node<'_>,
    was: &[(String, Json)],
    fresh: &[(String, Json)],
) -> Vec<Operation> {
    let fields = dialect.shape().fields;
    let family_of = |key: &str| {
        let field = fields.iter().find(|field| field.key == key);
        field.map(|field| match family(field.slot) {
            Family::Key(_) => Family::Key(field.key),
            other => other,
        })
    };
    let member = |key: &str| path.iter().cloned().chain([key.to_owned()]).collect::<Vec<_>>();
    let changed: Vec<(String, Json)> =
        fresh.iter().filter(|new| !was.contains(new)).cloned().collect();
    let mut operations = Vec::new();
    for old in node.members().unwrap_or_default() {
        let Some(family) = family_of(&old.key) else { continue };
        let of_family = |members: &[(String, Json)]| {
            members.iter().any(|(key, _)| family_of(key) == Some(family))
        };
        let replaced =
            changed.iter().any(|(key, _)| *key != old.key && family_of(key) == Some(family));
        let gone = of_family(was) && !of_family(fresh);
        if replaced || gone {
            operations.push(Operation::Remove(member(&old.key)));
        }
    }
    for (key, value) in changed {
        let old = was.iter().find(|(each, _)| *each == key).map(|(_, value)| value);
        set_differing(member(&key), node.get(&key), old, value, &mut operations);
    }
    operations
}

/// Sets a value, or, where an object changes into another, only the members that differ: the
/// others keep their order, their spelling and the remarks beside them.
fn set_differing(
    path: Vec<String>,
    node: Option<&Node<'_>>,
    was: Option<&Json>,
    new: Json,
    operations: &mut Vec<Operation>,
) {
    let (Some(node), Some(Json::Object(was)), Json::Object(members)) = (node, was, &new) else {
        operations.push(Operation::Set(path, Fresh::Value(new)));
        return;
    };
    let inner = |key: &str| path.iter().cloned().chain([key.to_owned()]).collect::<Vec<_>>();
    for key in was.keys().filter(|key| !members.contains_key(*key)) {
        operations.push(Operation::Remove(inner(key)));
    }
    for (key, value) in members.iter().filter(|(key, value)| was.get(*key) != Some(value)) {
        set_differing(inner(key), node.get(key), was.get(key), value.clone(), operations);
    }
}
