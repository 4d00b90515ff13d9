//! Approval of servers and custom tools that came with a repository, bound to what exactly was approved.

use std::{collections::BTreeMap, fmt, path::Path};

use sha2::{Digest, Sha256};

use crate::{
    custom::{CustomStep, CustomTool},
    model::{
        Limits, OAuth, Remote, Sdk, ServerConfig, Stdio, Timeouts, Tls, ToolFilter, Transport,
    },
    template::Template,
};

mod store;

pub use self::store::{ApprovalError, ApprovalStore};

/// A hash of everything an entry says. Comments, order and white space do not count; any setting
/// does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of `config`, unexpanded: a rotated token does not ask again, another
    /// variable does.
    pub fn of(config: &ServerConfig) -> Self {
        let mut feed = Feed(Sha256::new());
        feed.config(config);
        Self(feed.0.finalize().into())
    }

    /// The fingerprint of a custom tool.
    pub fn of_tool(tool: &CustomTool) -> Self {
        let mut feed = Feed(Sha256::new());
        feed.tool(tool);
        Self(feed.0.finalize().into())
    }

    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// What a user has decided about project servers. A value; [`ApprovalStore`] keeps it on disk.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Approvals {
    /// By project, then by server.
    decisions: BTreeMap<String, BTreeMap<String, Decision>>,
}

/// One decision, and what it was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) approved: bool,
}

/// What is known about one server of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// Approved, exactly as it stands.
    Approved,
    /// Turned down, exactly as it stands.
    Rejected,
    /// Never asked.
    Unknown,
    /// Decided before, but the entry has changed since.
    Changed,
}

impl Approvals {
    /// Nothing decided yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Approves `config` of `project`, as it is.
    pub fn approve(&mut self, project: &Path, config: &ServerConfig) {
        self.decide(project, config, true);
    }

    /// Turns `config` of `project` down, as it is.
    pub fn reject(&mut self, project: &Path, config: &ServerConfig) {
        self.decide(project, config, false);
    }

    /// Approves a custom tool of `project`, or turns it down, as it is.
    pub fn decide_tool(&mut self, project: &Path, tool: &CustomTool, approved: bool) {
        let fingerprint = Fingerprint::of_tool(tool);
        self.keep(project, tool_key(&tool.name), Decision { fingerprint, approved });
    }

    fn decide(&mut self, project: &Path, config: &ServerConfig, approved: bool) {
        let fingerprint = Fingerprint::of(config);
        self.keep(project, config.name.as_str().to_owned(), Decision { fingerprint, approved });
    }

    fn keep(&mut self, project: &Path, name: String, decision: Decision) {
        self.decisions.entry(key(project)).or_default().insert(name, decision);
    }

    /// Forgets what was decided about `name`; it will be asked about again.
    pub fn forget(&mut self, project: &Path, name: &str) {
        if let Some(project) = self.decisions.get_mut(&key(project)) {
            project.remove(name);
        }
    }

    /// What is known about `config` in `project`.
    pub fn of(&self, project: &Path, config: &ServerConfig) -> Approval {
        self.known(project, config.name.as_str(), || Fingerprint::of(config))
    }

    /// What is known about a custom tool of `project`.
    pub fn of_tool(&self, project: &Path, tool: &CustomTool) -> Approval {
        self.known(project, &tool_key(&tool.name), || Fingerprint::of_tool(tool))
    }

    fn known(&self, project: &Path, name: &str, now: impl Fn() -> Fingerprint) -> Approval {
        match self.decisions.get(&key(project)).and_then(|decided| decided.get(name)) {
            None => Approval::Unknown,
            Some(decision) if decision.fingerprint != now() => Approval::Changed,
            Some(Decision { approved: true, .. }) => Approval::Approved,
            Some(Decision { approved: false, .. }) => Approval::Rejected,
        }
    }
}

/// Tools are kept beside servers; no server can have such a name.
fn tool_key(name: &str) -> String {
    format!("tools/{name}")
}

fn key(project: &Path) -> String {
    project.components().as_path().to_string_lossy().into_owned()
}

/// Feeds a configuration to the hash, every field by name: adding one to the model does not
/// compile until it is added here.
struct Feed(Sha256);

impl Feed {
    fn text(&mut self, text: &str) {
        // Lengths first, so that no two different entries run together into the same bytes.
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    fn number(&mut self, number: u128) {
        self.0.update(number.to_le_bytes());
    }

    fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T),
    ) {
        self.number(items.len() as u128);
        items.for_each(|item| each(self, item));
    }

    fn option<T>(&mut self, item: Option<T>, each: impl FnMut(&mut Self, T)) {
        self.list(item.into_iter(), each);
    }

    fn template(&mut self, template: &Template) {
        self.text(template.unexpanded());
        // `${X}` the variable and `${X}` the text read alike and are not the same.
        self.number(u128::from(template.parts().is_empty()));
    }

    fn config(&mut self, config: &ServerConfig) {
        let ServerConfig {
            name,
            transport,
            enabled,
            timeouts: Timeouts { startup, call, total },
            tools: ToolFilter { allow, deny },
            always_load,
            trust,
            limits: Limits { description: described, output },
            connect,
            era,
            auth,
            description,
            extra,
        } = config;
        self.text("mcp-config approval 1");
        self.text(name.as_str());
        self.text(transport.kind());
        match transport {
            Transport::Stdio(stdio) => self.stdio(stdio),
            Transport::Sdk(Sdk { server }) => self.option(server.as_deref(), Self::text),
            Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
                self.remote(remote);
            }
        }
        self.number(u128::from(*enabled));
        for time in [startup, call, total] {
            self.option(*time, |feed, time| feed.number(time.as_nanos()));
        }
        self.option(allow.as_ref(), |feed, allow| {
            feed.list(allow.iter(), |feed, glob| feed.text(glob));
        });
        self.list(deny.iter(), |feed, glob| feed.text(glob));
        self.text(&format!(
            "{always_load:?} {trust} {described:?} {output:?} {connect:?} {era:?} {auth:?}"
        ));
        self.option(description.as_deref(), Self::text);
        self.list(extra.iter(), |feed, (key, value)| {
            feed.text(key);
            feed.text(&value.to_string());
        });
    }

    fn tool(&mut self, tool: &CustomTool) {
        let CustomTool { name, description, parameters, read_only, steps } = tool;
        self.text("mcp-config custom tool 1");
        self.text(name);
        self.text(description);
        self.option(parameters.as_ref(), |feed, schema| feed.text(&schema.to_string()));
        self.number(u128::from(*read_only));
        self.list(steps.iter(), |feed, step| {
            let CustomStep { tool, fixed, rename, result_as } = step;
            feed.text(tool);
            feed.list(fixed.iter(), |feed, (name, value)| {
                feed.text(name);
                feed.text(&value.to_string());
            });
            feed.list(rename.iter(), |feed, (ours, theirs)| {
                feed.text(ours);
                feed.text(theirs);
            });
            feed.option(result_as.as_deref(), Self::text);
        });
    }

    fn stdio(&mut self, stdio: &Stdio) {
        let Stdio { command, args, env, env_pass, env_unset, env_file, cwd } = stdio;
        self.template(command);
        self.list(args.iter(), Self::template);
        self.list(env.iter(), |feed, (name, value)| {
            feed.text(name);
            feed.template(value.template());
        });
        self.list(env_pass.iter(), |feed, name| feed.text(name));
        self.list(env_unset.iter(), |feed, name| feed.text(name));
        self.option(env_file.as_ref(), Self::template);
        self.option(cwd.as_ref(), Self::template);
    }

    fn remote(&mut self, remote: &Remote) {
        let Remote { url, headers, headers_helper, oauth, tls, env, env_pass } = remote;
        self.template(url);
        for map in [headers, env] {
            self.list(map.iter(), |feed, (name, value)| {
                feed.text(name);
                feed.template(value.template());
            });
        }
        self.option(headers_helper.as_ref(), Self::template);
        self.option(oauth.as_deref(), Self::oauth);
        self.option(tls.as_deref(), |feed, Tls { ca, cert, key }| {
            for template in [ca, cert, key] {
                feed.option(template.as_ref(), Self::template);
            }
        });
        self.list(env_pass.iter(), |feed, name| feed.text(name));
    }

    fn oauth(&mut self, oauth: &OAuth) {
        let OAuth {
            client_id,
            client_secret,
            scopes,
            callback_port,
            redirect_uri,
            metadata_url,
            authorization_url,
            token_url,
            resource,
        } = oauth;
        for template in
            [client_id, redirect_uri, metadata_url, authorization_url, token_url, resource]
        {
            self.option(template.as_ref(), Self::template);
        }
        self.option(client_secret.as_ref(), |feed, secret| feed.template(secret.template()));
        self.list(scopes.iter(), |feed, scope| feed.text(scope));
        self.option(*callback_port, |feed, port| feed.number(u128::from(port)));
    }
}
