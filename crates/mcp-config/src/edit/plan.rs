//! Translates edits to operations on paths, for each dialect.

use serde_json::Value as Json;

use super::operation::{Edit, EditError, NewValue, Operation};
use crate::{
    dialect::{
        Dialect, encode, fits, read_entry,
        shape::{Field, Section, Slot, Step, Switch},
    },
    format::{Node, Span, Value, parse},
    model::{Scope, ServerConfig},
};

pub(super) struct Plan<'p> {
    pub(super) dialect: Dialect,
    pub(super) project: Option<&'p str>,
    /// The scope of the section to edit, in files with several.
    pub(super) scope: Option<Scope>,
}

impl Plan<'_> {
    pub(super) fn operations(&self, text: &str, edit: &Edit) -> Result<Vec<Operation>, EditError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let empty = Node { span: Span { start: 0, end: 0 }, value: Value::Object(Box::default()) };
        let root =
            if text.trim().is_empty() { empty } else { parse(text, self.dialect.format())?.0 };
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
            Err(EditError::NotFound(_)) => member(&self.steps(self.wanted().path)?, name),
            Err(other) => return Err(other),
        };
        let fresh = encode(self.dialect, config);
        let entry = |node| Some((node, read_entry(self.dialect, &config.name, node)?));
        let mut operations = match root.path(&path).and_then(entry) {
            Some((node, was)) => {
                update(self.dialect, &path, node, &encode(self.dialect, &was), &fresh)
            }
            None => vec![Operation::Set(path, NewValue::entry(fresh))],
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
                let list = root.path(&path).and_then(Node::items).unwrap_or_default();
                let mut names: Vec<Json> = list.iter().map(Node::to_json).collect();
                let listed = names.iter().any(|each| each == name);
                if listed != on {
                    return Ok(Vec::new());
                }
                names.retain(|each| each != name);
                if !on {
                    names.push(name.into());
                }
                Ok(vec![Operation::Set(path, NewValue::Value(names.into()))])
            }
            Switch::Field => {
                let path = self.find(root, name)?;
                let entry = root.path(&path);
                let switches: Vec<&Field> =
                    shape.fields.iter().filter(|f| setting_group(f) == SWITCH).collect();
                let written =
                    switches.iter().find(|f| entry.is_some_and(|entry| entry.get(f.key).is_some()));
                let Some(field) = written.or(switches.first()) else {
                    return Err(EditError::Inexpressible(self.dialect, vec!["enabled"]));
                };
                if on && written.is_none() {
                    return Ok(Vec::new());
                }
                let value = on != (field.slot == Slot::Disabled);
                Ok(vec![Operation::Set(member(&path, field.key), NewValue::Value(value.into()))])
            }
        }
    }

    /// The path of the entry called `name`, in the wanted section or else in any.
    fn find(&self, root: &Node<'_>, name: &str) -> Result<Vec<String>, EditError> {
        let sections = self.dialect.shape().sections;
        let wanted =
            |section: &&Section| self.scope.is_none() || section.scope == self.wanted().scope;
        let mut paths = sections.iter().filter(wanted).filter_map(|section| {
            self.steps(section.path).ok().map(|section| member(&section, name))
        });
        let found = paths.find(|path| root.path(path).is_some());
        found.ok_or_else(|| EditError::NotFound(name.to_owned()))
    }

    /// The section of the wanted scope, or the first.
    fn wanted(&self) -> &'static Section {
        let sections = self.dialect.shape().sections;
        sections.iter().find(|section| section.scope == self.scope).unwrap_or(&sections[0])
    }

    fn steps(&self, steps: &[Step]) -> Result<Vec<String>, EditError> {
        let key = |step: &Step| match step {
            Step::Key(key) => Ok((*key).to_owned()),
            Step::Project => self.project.map(str::to_owned).ok_or(EditError::NoProject),
        };
        steps.iter().map(key).collect()
    }
}

/// The path of the member `key` of the object at `path`.
fn member(path: &[String], key: &str) -> Vec<String> {
    [path, &[key.to_owned()]].concat()
}

/// The group of keys that hold the same setting: a name with a space, which no key of a table has, or the key
/// itself.
fn setting_group(field: &Field) -> &'static str {
    match field.slot {
        Slot::Type | Slot::TypeAlias => "the kind",
        Slot::Url | Slot::UrlOf(_) => "the URL",
        Slot::Enabled | Slot::EnabledAlways | Slot::Disabled => SWITCH,
        Slot::Command | Slot::CommandLine => "the program",
        Slot::Call(_) => "the time of a call",
        _ => field.key,
    }
}

const SWITCH: &str = "the switch";

/// Updates an existing entry to new members; members that do not differ are left alone.
fn update(
    dialect: Dialect,
    path: &[String],
    node: &Node<'_>,
    was: &[(String, Json)],
    fresh: &[(String, Json)],
) -> Vec<Operation> {
    let fields = dialect.shape().fields;
    let family_of = |key: &str| fields.iter().find(|field| field.key == key).map(setting_group);
    let changed: Vec<(String, Json)> =
        fresh.iter().filter(|new| !was.contains(new)).cloned().collect();
    let mut operations = Vec::new();
    for old in node.members().unwrap_or_default() {
        let Some(setting_group) = family_of(&old.key) else { continue };
        let of_family = |members: &[(String, Json)]| {
            members.iter().any(|(key, _)| family_of(key) == Some(setting_group))
        };
        let replaced =
            changed.iter().any(|(key, _)| *key != old.key && family_of(key) == Some(setting_group));
        let gone = of_family(was) && !of_family(fresh);
        if replaced || gone {
            operations.push(Operation::Remove(member(path, &old.key)));
        }
    }
    for (key, value) in changed {
        let old = was.iter().find(|(each, _)| *each == key).map(|(_, value)| value);
        set_differing(member(path, &key), node.get(&key), old, value, &mut operations);
    }
    operations
}

/// Sets a value. If an object changes into another, only the members that differ are written, so that the
/// others keep their order, formatting and comments.
fn set_differing(
    path: Vec<String>,
    node: Option<&Node<'_>>,
    was: Option<&Json>,
    new: Json,
    operations: &mut Vec<Operation>,
) {
    let (Some(node), Some(Json::Object(was)), Json::Object(members)) = (node, was, &new) else {
        operations.push(Operation::Set(path, NewValue::Value(new)));
        return;
    };
    for key in was.keys().filter(|key| !members.contains_key(*key)) {
        operations.push(Operation::Remove(member(&path, key)));
    }
    for (key, value) in members.iter().filter(|(key, value)| was.get(*key) != Some(value)) {
        set_differing(member(&path, key), node.get(key), was.get(key), value.clone(), operations);
    }
}
