//! What files say besides their servers: policy, inputs, lists of names, custom tools.

use std::collections::HashSet;

use super::{
    Dialect, custom,
    finding::{Finding, Path},
    read::Reader,
    shape::Step,
};
use crate::{
    diagnostic::Problem,
    document::{Input, NamedServer},
    policy::{Exclusivity, Matcher},
    scope::Scope,
    text::{Node, Value},
};

pub(crate) fn read(reader: &mut Reader<'_, '_>, root: &Node<'_>, dialect: Dialect) {
    match dialect {
        Dialect::McpJson => {
            own_policy(reader, root);
            custom::read(reader, root);
        }
        Dialect::Attocode => custom::read(reader, root),
        Dialect::ClaudeCode => {
            let path = [Step::Key("projects"), Step::Project];
            reader.follow(root, &path, &Path::Root, &mut |reader, node, path| {
                switched_off(reader, node, path, "disabledMcpServers", None);
                named_approvals(reader, node);
                switched_off(reader, node, path, "disabledMcpjsonServers", Some(Scope::Project));
            });
        }
        Dialect::ClaudeSettings => {
            claude_policy(reader, root);
            named_approvals(reader, root);
            switched_off(reader, root, &Path::Root, "disabledMcpjsonServers", Some(Scope::Project));
        }
        Dialect::ClaudeManaged => {
            reader.document.policy.exclusivity = Some(Exclusivity::All);
            claude_policy(reader, root);
        }
        Dialect::VsCode => inputs(reader, root),
        Dialect::Gemini => {
            if let Some(mcp) = root.get("mcp") {
                let path = Path::Root.key("mcp");
                switched_off(reader, mcp, &path, "excluded", None);
                not_listed(reader, mcp, &path);
            }
        }
        _ => {}
    }
}

/// A list of names under `key`, each with its place.
fn switched_off(
    reader: &mut Reader<'_, '_>,
    node: &Node<'_>,
    path: &Path<'_>,
    key: &str,
    scope: Option<Scope>,
) {
    let list = path.key(key);
    for (index, item) in items(reader, node, key, &list).iter().enumerate() {
        let pointer = Path::Index(&list, index).pointer();
        let Some(name) = item.as_str() else { continue };
        let place = reader.findings.place(item.span.start, pointer);
        reader.document.switched_off.push(NamedServer { name: name.to_owned(), place, scope });
    }
}

/// Gemini's `mcp.allowed`: of this file's servers, only those.
fn not_listed(reader: &mut Reader<'_, '_>, node: &Node<'_>, path: &Path<'_>) {
    let Some(list) = node.member("allowed").filter(|list| list.value.items().is_some()) else {
        return;
    };
    let allowed: HashSet<&str> =
        list.value.items().unwrap_or_default().iter().filter_map(Node::as_str).collect();
    let place = reader.findings.place(list.key_span.start, path.key("allowed").pointer());
    let off = reader.document.entries.iter().map(|entry| entry.config.name.as_str().to_owned());
    let off: Vec<String> = off.filter(|name| !allowed.contains(name.as_str())).collect();
    let named = off.into_iter().map(|name| NamedServer { name, place: place.clone(), scope: None });
    reader.document.switched_off.extend(named);
}

fn named_approvals(reader: &mut Reader<'_, '_>, node: &Node<'_>) {
    let approved = &mut reader.document.approved;
    approved.all |=
        matches!(node.get("enableAllProjectMcpServers").map(|n| &n.value), Some(Value::Bool(true)));
    let names = node.get("enabledMcpjsonServers").and_then(Node::items).unwrap_or_default();
    approved.names.extend(names.iter().filter_map(Node::as_str).map(str::to_owned));
}

fn inputs(reader: &mut Reader<'_, '_>, root: &Node<'_>) {
    let path = Path::Root.key("inputs");
    for item in items(reader, root, "inputs", &path) {
        let text = |key| item.get(key).and_then(Node::as_str).map(str::to_owned);
        let Some(id) = text("id") else {
            reader.findings.add(Finding::wrong(item, &path, "an object with an `id`"));
            continue;
        };
        let options = item.get("options").and_then(Node::items).unwrap_or_default();
        reader.document.inputs.push(Input {
            id,
            description: text("description"),
            password: matches!(item.get("password").map(|n| &n.value), Some(Value::Bool(true))),
            default: text("default"),
            options: options.iter().filter_map(Node::as_str).map(str::to_owned).collect(),
        });
    }
}

/// `allowedMcpServers`, `deniedMcpServers`, `allowManagedMcpServersOnly`.
fn claude_policy(reader: &mut Reader<'_, '_>, root: &Node<'_>) {
    const KEYS: [&str; 3] = ["serverName", "serverCommand", "serverUrl"];
    reader.document.policy.allow = matchers(reader, root, &Path::Root, "allowedMcpServers", KEYS);
    let denied = matchers(reader, root, &Path::Root, "deniedMcpServers", KEYS);
    reader.document.policy.deny = denied.unwrap_or_default();
    let only = root.get("allowManagedMcpServersOnly").map(|node| &node.value);
    reader.document.policy.managed_only = matches!(only, Some(Value::Bool(true)));
}

/// Our own: `policy: { exclusive, allow, deny, managedOnly }`.
fn own_policy(reader: &mut Reader<'_, '_>, root: &Node<'_>) {
    const KEYS: [&str; 3] = ["name", "command", "url"];
    let Some(node) = root.get("policy") else { return };
    let path = Path::Root.key("policy");
    if node.members().is_none() {
        fail_closed(reader, Finding::wrong(node, &path, "an object"));
        return;
    }
    reader.document.policy.allow = matchers(reader, node, &path, "allow", KEYS);
    reader.document.policy.deny = matchers(reader, node, &path, "deny", KEYS).unwrap_or_default();
    let only = node.get("managedOnly").map(|node| &node.value);
    reader.document.policy.managed_only = matches!(only, Some(Value::Bool(true)));
    if let Some(exclusive) = node.get("exclusive") {
        if let Some(exclusivity) = exclusive.as_str().and_then(Exclusivity::from_name) {
            reader.document.policy.exclusivity = Some(exclusivity);
        } else {
            let path = path.key("exclusive");
            fail_closed(reader, Finding::wrong(exclusive, &path, "`none`, `cloud` or `all`"));
        }
    }
}

/// The matchers under `key`; `None` when there is no such list.
fn matchers(
    reader: &mut Reader<'_, '_>,
    node: &Node<'_>,
    path: &Path<'_>,
    key: &str,
    [name, command, url]: [&str; 3],
) -> Option<Vec<Matcher>> {
    let list = node.get(key)?;
    let path = path.key(key);
    let Some(items) = list.items() else {
        fail_closed(reader, Finding::wrong(list, &path, "an array of matchers"));
        // Not "no list": a list that can't be read allows nothing.
        return Some(Vec::new());
    };
    let mut matchers = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let text = |key| item.get(key).and_then(Node::as_str).map(str::to_owned);
        let argv = item.get(command).and_then(Node::items).and_then(|items| {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        match (text(name), argv, text(url)) {
            (Some(name), None, None) => matchers.push(Matcher::Name(name)),
            (None, Some(argv), None) => matchers.push(Matcher::Command(argv)),
            (None, None, Some(pattern)) => {
                let matcher = Matcher::Url(pattern);
                if matcher.can_match() {
                    matchers.push(matcher);
                } else {
                    let path = Path::Index(&path, index);
                    let finding = Finding::error(Problem::WrongType, item.span.start).at(&path);
                    let found = format!("a `{url}` that no address can match");
                    fail_closed(
                        reader,
                        finding.found(found).expected("such as `https://*.example.com/*`"),
                    );
                }
            }
            _ => {
                let path = Path::Index(&path, index);
                let expected = format!("exactly one of `{name}`, `{command}`, `{url}`");
                fail_closed(reader, Finding::wrong(item, &path, &expected));
            }
        }
    }
    Some(matchers)
}

/// A rule that can't be read must not open what it meant to close.
fn fail_closed(reader: &mut Reader<'_, '_>, finding: Finding) {
    reader.findings.add(finding.hint("this policy file refuses every server until it is repaired"));
    reader.document.policy.broken = true;
}

fn items<'n, 'a>(
    reader: &mut Reader<'_, '_>,
    node: &'n Node<'a>,
    key: &str,
    path: &Path<'_>,
) -> &'n [Node<'a>] {
    let Some(list) = node.get(key) else { return &[] };
    if list.items().is_none() {
        let finding = Finding::wrong(list, path, "an array");
        reader.findings.add(finding);
    }
    list.items().unwrap_or_default()
}
