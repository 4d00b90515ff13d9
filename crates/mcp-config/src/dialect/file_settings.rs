//! Reads the settings of a file other than servers: policy, inputs, lists of names, custom tools.

use std::collections::HashSet;

use super::{
    catalogue::Dialect,
    custom_tool,
    document::{Input, NamedServer},
    finding::wrong,
    path::{Path, follow},
    read::Reader,
    shape::Step,
};
use crate::{
    diagnostic::{Diagnostic, Problem},
    format::{Node, Value},
    model::Scope,
    policy::{Exclusivity, Matcher},
};

impl Reader<'_, '_> {
    pub(super) fn settings(&mut self, root: &Node<'_>) {
        match self.dialect {
            Dialect::McpJson => {
                self.own_policy(root);
                self.custom_tools(root);
                self.host_settings(root);
            }
            Dialect::Attocode => {
                self.custom_tools(root);
                self.host_settings(root);
            }
            Dialect::Flat | Dialect::Connector => self.host_settings(root),
            Dialect::ClaudeCode => {
                let path = [Step::Key("projects"), Step::Project];
                follow(root, &path, self.project, &Path::Root, &mut |node, path| {
                    self.switched_off(node, path, "disabledMcpServers", None);
                    self.named_approvals(node);
                    self.switched_off(node, path, "disabledMcpjsonServers", Some(Scope::Project));
                });
            }
            Dialect::ClaudeSettings => {
                self.claude_policy(root);
                self.named_approvals(root);
                let scope = Some(Scope::Project);
                self.switched_off(root, &Path::Root, "disabledMcpjsonServers", scope);
            }
            Dialect::ClaudeManaged => {
                self.document.policy.exclusivity = Some(Exclusivity::All);
                self.claude_policy(root);
            }
            Dialect::VsCode => self.inputs(root),
            Dialect::Gemini | Dialect::Qwen => {
                if let Some(mcp) = root.get("mcp") {
                    let path = Path::Root.key("mcp");
                    self.switched_off(mcp, &path, "excluded", None);
                    self.not_listed(mcp, &path);
                }
            }
            _ => {}
        }
    }

    /// Reads a list of names under `key`, each with its place.
    fn switched_off(&mut self, node: &Node<'_>, path: &Path<'_>, key: &str, scope: Option<Scope>) {
        let list = path.key(key);
        for (index, item) in self.list(node, key, &list).iter().enumerate() {
            let pointer = Path::Index(&list, index).pointer();
            let Some(name) = item.as_str() else { continue };
            let place = self.findings.place(item.span.start, pointer);
            self.document.switched_off.push(NamedServer { name: name.to_owned(), place, scope });
        }
    }

    /// Gemini's `mcp.allowed`: disables the servers of this file that are not listed.
    fn not_listed(&mut self, node: &Node<'_>, path: &Path<'_>) {
        let Some(list) = node.member("allowed").filter(|list| list.value.items().is_some()) else {
            return;
        };
        let allowed: HashSet<&str> = strings(node, "allowed").collect();
        let place = self.findings.place(list.key_span.start, path.key("allowed").pointer());
        let names = self.document.entries.iter().map(|entry| entry.config.name.as_str());
        let off = names.filter(|name| !allowed.contains(name));
        self.document.switched_off.extend(off.map(|name| NamedServer {
            name: name.to_owned(),
            place: place.clone(),
            scope: None,
        }));
    }

    fn named_approvals(&mut self, node: &Node<'_>) {
        let approved = &mut self.document.approved;
        approved.all |= node.is_true("enableAllProjectMcpServers");
        approved.names.extend(strings(node, "enabledMcpjsonServers").map(str::to_owned));
    }

    fn custom_tools(&mut self, root: &Node<'_>) {
        self.document.custom_tools = custom_tool::read(self.findings, root);
    }

    fn inputs(&mut self, root: &Node<'_>) {
        let path = Path::Root.key("inputs");
        for item in self.list(root, "inputs", &path) {
            let text = |key| item.get(key).and_then(Node::as_str).map(str::to_owned);
            let Some(id) = text("id") else {
                self.findings.wrong(item, &path, "an object with an `id`");
                continue;
            };
            self.document.inputs.push(Input {
                id,
                description: text("description"),
                password: item.is_true("password"),
                default: text("default"),
                options: strings(item, "options").map(str::to_owned).collect(),
            });
        }
    }

    /// `allowedMcpServers`, `deniedMcpServers`, `allowManagedMcpServersOnly`.
    fn claude_policy(&mut self, root: &Node<'_>) {
        const KEYS: [&str; 3] = ["serverName", "serverCommand", "serverUrl"];
        self.document.policy.allow = self.matchers(root, &Path::Root, "allowedMcpServers", KEYS);
        let denied = self.matchers(root, &Path::Root, "deniedMcpServers", KEYS);
        self.document.policy.deny = denied.unwrap_or_default();
        self.document.policy.managed_only = root.is_true("allowManagedMcpServersOnly");
    }

    /// Our own policy: `policy: { exclusive, allow, deny, managedOnly }`.
    fn own_policy(&mut self, root: &Node<'_>) {
        const KEYS: [&str; 3] = ["name", "command", "url"];
        let Some(node) = root.get("policy") else { return };
        let path = Path::Root.key("policy");
        if node.members().is_none() {
            self.fail_closed(node, &path, wrong(node, &path, "an object"));
            return;
        }
        self.document.policy.allow = self.matchers(node, &path, "allow", KEYS);
        self.document.policy.deny = self.matchers(node, &path, "deny", KEYS).unwrap_or_default();
        self.document.policy.managed_only = node.is_true("managedOnly");
        if let Some(exclusive) = node.get("exclusive") {
            if let Some(exclusivity) = exclusive.as_str().and_then(Exclusivity::from_name) {
                self.document.policy.exclusivity = Some(exclusivity);
            } else {
                let path = path.key("exclusive");
                let finding = wrong(exclusive, &path, "`none`, `cloud` or `all`");
                self.fail_closed(exclusive, &path, finding);
            }
        }
    }

    /// The matchers under `key`; `None` if there is no such list.
    fn matchers(
        &mut self,
        node: &Node<'_>,
        path: &Path<'_>,
        key: &str,
        [name, command, url]: [&str; 3],
    ) -> Option<Vec<Matcher>> {
        let list = node.get(key)?;
        let path = path.key(key);
        let Some(items) = list.items() else {
            self.fail_closed(list, &path, wrong(list, &path, "an array of matchers"));
            // Not `None`: a list that can't be read allows nothing.
            return Some(Vec::new());
        };
        let mut matchers = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let text = |key| item.get(key).and_then(Node::as_str).map(str::to_owned);
            let argv = item.get(command).and_then(Node::items).and_then(|items| {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
            });
            let argv: Option<Vec<String>> = argv;
            let matcher = match (text(name), argv, text(url)) {
                (Some(name), None, None) => Some(Matcher::name(name)),
                (None, Some(argv), None) => Some(Matcher::command(argv)),
                (None, None, Some(pattern)) => Some(Matcher::url(pattern)),
                _ => None,
            };
            let path = Path::Index(&path, index);
            let matcher = matcher.map(|matcher| self.conditions(item, &path, matcher));
            match matcher {
                Some(matcher) if matcher.can_match() => matchers.push(matcher),
                Some(_) => {
                    let found = format!("a `{url}` that cannot match any URL");
                    let finding = Diagnostic::error(Problem::WrongType, found);
                    let expected = "such as `https://*.example.com/*`";
                    self.fail_closed(item, &path, finding.expected(expected));
                }
                None => {
                    let expected = format!("exactly one of `{name}`, `{command}`, `{url}`");
                    self.fail_closed(item, &path, wrong(item, &path, &expected));
                }
            }
        }
        Some(matchers)
    }

    /// Reads the other conditions of a rule: `transport` with any matcher, `env` and `cwd` with a command. An
    /// invalid condition leaves the rule unchanged and marks the policy as broken.
    fn conditions(&mut self, item: &Node<'_>, path: &Path<'_>, mut matcher: Matcher) -> Matcher {
        let texts = |node: &Node<'_>| -> Option<Vec<String>> {
            node.items()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let mut fail = |node: &Node<'_>, key: &str, expected: &str| {
            let path = path.key(key);
            self.fail_closed(node, &path, wrong(node, &path, expected));
        };
        if let Some(node) = item.get("transport") {
            match node.as_str() {
                Some(word @ ("stdio" | "http" | "sse" | "ws" | "sdk")) => {
                    matcher.transport = Some(word.to_owned());
                }
                _ => fail(node, "transport", "`stdio`, `http`, `sse`, `ws` or `sdk`"),
            }
        }
        if let Some(node) = item.get("env") {
            match texts(node) {
                Some(names) => matcher.env = names,
                None => fail(node, "env", "an array of variable names"),
            }
        }
        if let Some(node) = item.get("cwd") {
            match node.value {
                Value::Bool(cwd) => matcher.cwd = cwd,
                _ => fail(node, "cwd", "true or false"),
            }
        }
        matcher
    }

    /// Marks the policy as broken: an unreadable rule must not allow servers it was meant to deny.
    fn fail_closed(&mut self, node: &Node<'_>, path: &Path<'_>, finding: Diagnostic) {
        let finding = finding.hint("this policy file refuses every server until it is fixed");
        self.findings.add(node.span.start, path, finding);
        self.document.policy.broken = true;
    }

    fn list<'n, 'a>(&mut self, node: &'n Node<'a>, key: &str, path: &Path<'_>) -> &'n [Node<'a>] {
        let Some(list) = node.get(key) else { return &[] };
        if list.items().is_none() {
            self.findings.wrong(list, path, "an array");
        }
        list.items().unwrap_or_default()
    }
}

/// The strings of the array called `key`; other values are ignored.
fn strings<'n>(node: &'n Node<'_>, key: &str) -> impl Iterator<Item = &'n str> {
    let items = node.get(key).and_then(Node::items).unwrap_or_default();
    items.iter().filter_map(Node::as_str)
}
