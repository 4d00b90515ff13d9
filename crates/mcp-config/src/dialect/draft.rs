//! An entry while it is being read: collects settings in any order and then builds the transport.

use super::{
    finding::{Dropped, Findings},
    path::Path,
    shape::{Field, Kind, Shape, Slot},
    typo, value,
};
use crate::{
    diagnostic::{Diagnostic, Problem, printable},
    format::{Member, Node, Value},
    model::{AuthKind, OAuth, Remote, Sdk, ServerConfig, ServerName, Stdio, Template, Transport},
};

pub(crate) struct Draft {
    shape: &'static Shape,
    config: ServerConfig,
    kind: Option<Kind>,
    stdio: Stdio,
    remote: Remote,
    sdk: Sdk,
    has_command: bool,
    has_url: bool,
}

impl Draft {
    pub(crate) fn new(name: ServerName, shape: &'static Shape) -> Self {
        let (stdio, remote, sdk) = Default::default();
        let config = ServerConfig::new(name, Transport::Sdk(Sdk::default()));
        Self { shape, config, kind: None, stdio, remote, sdk, has_command: false, has_url: false }
    }

    /// Reads one member of the entry.
    pub(crate) fn member(
        &mut self,
        findings: &mut Findings<'_>,
        member: &Member<'_>,
        path: &Path<'_>,
    ) -> Result<(), Dropped> {
        let known = self.shape.fields.iter().find(|field| field.key == member.key);
        let path = path.key(&member.key);
        if let Some(Field { slot, .. }) = known {
            self.set(findings, *slot, &member.value, &path)
        } else {
            if !self.shape.opaque.contains(&&*member.key) {
                let known = self.shape.known_keys();
                typo::note_unknown(findings, member, &path, known, Some(self.shape));
            }
            self.config.extra.insert(member.key.to_string(), member.value.to_json());
            Ok(())
        }
    }

    fn set(
        &mut self,
        findings: &mut Findings<'_>,
        slot: Slot,
        node: &Node<'_>,
        path: &Path<'_>,
    ) -> Result<(), Dropped> {
        let mut read = value::Values { findings, path, syntax: self.shape.syntax };
        let config = &mut self.config;
        match slot {
            Slot::Type => self.kind = Some(read.kind(node, self.shape)?),
            Slot::TypeAlias => self.kind = Some(read.kind_alias(node, self.shape)?),
            Slot::Command => return self.command(&mut read, node),
            Slot::CommandLine => {
                let mut line = read.templates(node)?.into_iter();
                let program = line.next().filter(|program| !program.unexpanded().is_empty());
                let program = program
                    .ok_or(())
                    .or_else(|()| read.wrong(node, "the program and its arguments"))?;
                self.stdio.command = program;
                self.stdio.args = line.collect();
                self.has_command = true;
            }
            Slot::Args | Slot::ArgsAlways => self.stdio.args = read.templates(node)?,
            Slot::Env | Slot::EnvOrNull => {
                let (set, unset) = read.environment(node, slot == Slot::EnvOrNull)?;
                (self.stdio.env, self.stdio.env_unset) = (set, unset);
            }
            Slot::EnvPairs => self.stdio.env = read.env_pairs(node)?,
            Slot::EnvPass => self.stdio.env_pass = read.names(node)?,
            Slot::InheritEnv => self.stdio.inherit_env = read.word(node, value::INHERIT_ENV)?,
            Slot::Sandbox => self.stdio.sandbox = Some(read.sandbox(node)?),
            Slot::Url => {
                self.remote.url = read.url(node)?;
                self.has_url = true;
            }
            Slot::UrlOf(kind) => {
                self.remote.url = read.url(node)?;
                self.has_url = true;
                self.kind.get_or_insert(kind);
            }
            Slot::Headers => self.remote.headers.extend(read.headers(node)?),
            Slot::HeaderPairs => self.remote.headers.extend(read.header_pairs(node)?),
            Slot::HeaderVariables => self.remote.headers.extend(read.header_variables(node)?),
            Slot::BearerVariable => {
                let bearer = read.bearer_variable(node)?;
                self.remote.headers.insert("Authorization", bearer);
            }
            Slot::SdkServer => self.sdk.server = Some(read.text(node)?),
            Slot::Enabled | Slot::EnabledAlways => config.enabled = read.boolean(node)?,
            Slot::Disabled => config.enabled = !read.boolean(node)?,
            Slot::Startup(unit) => config.timeouts.startup = read.duration(node, unit)?,
            // Two keys may hold it, and the value of one may be too small to be used.
            Slot::Call(unit) => {
                config.timeouts.call = read.duration(node, unit)?.or(config.timeouts.call);
            }
            Slot::Total(unit) => config.timeouts.total = read.duration(node, unit)?,
            Slot::Allow => config.tools.allow = Some(read.names(node)?),
            Slot::AllowAlways => {
                let tools = read.names(node)?;
                config.tools.allow = (tools != ["*"]).then_some(tools);
            }
            Slot::Deny => config.tools.deny = read.names(node)?,
            Slot::AlwaysLoad => config.always_load = read.always_load(node)?,
            Slot::Trust => config.trust = read.boolean(node)?,
            Slot::DescriptionLimit => config.limits.description = Some(read.count(node)?),
            Slot::OutputLimit => config.limits.output = Some(read.count(node)?),
            Slot::Connect => config.connect = Some(read.word(node, value::CONNECT)?),
            Slot::Era => config.era = Some(read.era(node)?),
            Slot::Auth => config.auth = Some(read.word(node, value::AUTH)?),
            Slot::Description => config.description = Some(read.text(node)?),
            Slot::NameAgain => {
                let again = read.text(node)?;
                if again != config.name.as_str() {
                    config.extra.insert(path.name().to_owned(), again.into());
                }
            }
            Slot::ClientSecret => self.oauth().client_secret = Some(read.secret(node)?),
            Slot::Scopes | Slot::ScopesText => self.oauth().scopes = read.scopes(node)?,
            Slot::CallbackPort => self.oauth().callback_port = Some(read.port(node)?),
            Slot::OAuthEnabled => {
                let on = read.boolean(node)?;
                config.auth = Some(if on { AuthKind::OAuth } else { AuthKind::Headers });
            }
            Slot::RedirectUri
            | Slot::MetadataUrl
            | Slot::AuthorizationUrl
            | Slot::TokenUrl
            | Slot::Resource => *self.template(slot) = Some(read.url_template(node)?),
            Slot::EnvFile
            | Slot::Cwd
            | Slot::HeadersHelper
            | Slot::ClientId
            | Slot::TlsCa
            | Slot::TlsCert
            | Slot::TlsKey => *self.template(slot) = Some(read.template(node)?),
            Slot::Group(fields) => return self.group(findings, fields, node, path),
            Slot::OAuth(fields) => match node.value {
                Value::Bool(false) => config.auth = Some(AuthKind::Headers),
                Value::Bool(true) => config.auth = Some(AuthKind::OAuth),
                _ => return self.group(findings, fields, node, path),
            },
        }
        Ok(())
    }

    fn oauth(&mut self) -> &mut OAuth {
        self.remote.oauth.get_or_insert_default()
    }

    /// The field for the optional text of `slot`.
    fn template(&mut self, slot: Slot) -> &mut Option<Template> {
        match slot {
            Slot::EnvFile => &mut self.stdio.env_file,
            Slot::Cwd => &mut self.stdio.cwd,
            Slot::HeadersHelper => &mut self.remote.headers_helper,
            Slot::RedirectUri => &mut self.oauth().redirect_uri,
            Slot::MetadataUrl => &mut self.oauth().metadata_url,
            Slot::AuthorizationUrl => &mut self.oauth().authorization_url,
            Slot::TokenUrl => &mut self.oauth().token_url,
            Slot::Resource => &mut self.oauth().resource,
            Slot::TlsCa => &mut self.remote.tls.get_or_insert_default().ca,
            Slot::TlsCert => &mut self.remote.tls.get_or_insert_default().cert,
            Slot::TlsKey => &mut self.remote.tls.get_or_insert_default().key,
            _ => &mut self.oauth().client_id,
        }
    }

    fn group(
        &mut self,
        findings: &mut Findings<'_>,
        fields: &'static [Field],
        node: &Node<'_>,
        path: &Path<'_>,
    ) -> Result<(), Dropped> {
        let Some(members) = node.members() else {
            findings.wrong(node, path, "an object");
            return Err(Dropped);
        };
        for member in members {
            let inner = path.key(&member.key);
            if let Some(field) = fields.iter().find(|field| field.key == member.key) {
                self.set(findings, field.slot, &member.value, &inner)?;
            } else {
                let known = fields.iter().map(|field| field.key);
                typo::note_unknown(findings, member, &inner, known, None);
                let group = self.config.extra.entry(path.name().to_owned());
                let group = group.or_insert_with(|| serde_json::Map::default().into());
                if let Some(group) = group.as_object_mut() {
                    group.insert(member.key.to_string(), member.value.to_json());
                }
            }
        }
        Ok(())
    }

    /// `command`: a string, or in old Zed files an object with `path`, `args` and `env`.
    fn command(
        &mut self,
        read: &mut value::Values<'_, '_, '_>,
        node: &Node<'_>,
    ) -> Result<(), Dropped> {
        if node.members().is_some() && self.shape.title == "Zed" {
            for member in node.members().unwrap_or_default() {
                match &*member.key {
                    "path" => self.stdio.command = read.template(&member.value)?,
                    "args" => self.stdio.args = read.templates(&member.value)?,
                    "env" => self.stdio.env = read.environment(&member.value, true)?.0,
                    _ => {}
                }
            }
        } else {
            self.stdio.command = read.template(node)?;
        }
        self.has_command = true;
        if self.stdio.command.unexpanded().trim().is_empty() {
            return read.wrong_as(node, "an empty string", "a program");
        }
        Ok(())
    }

    /// Builds the transport after all members have been read.
    pub(crate) fn finish(
        self,
        findings: &mut Findings<'_>,
        offset: usize,
        path: &Path<'_>,
    ) -> Result<ServerConfig, Dropped> {
        if self.kind == Some(Kind::Foreign) {
            let found = format!("an extension that runs only inside {}", self.shape.title);
            findings.add(offset, path, Diagnostic::note(Problem::NotPortable, found));
            return Err(Dropped);
        }
        let scheme = self.remote.url.unexpanded().split(':').next().unwrap_or_default();
        let is_ws = ["ws", "wss"].iter().any(|ws| scheme.eq_ignore_ascii_case(ws));
        let by_scheme = if is_ws { Kind::Ws } else { Kind::Http };
        let kind = match (self.kind, self.has_command, self.has_url) {
            (_, true, true) => Err(("both a command and a URL", "one of them")),
            (Some(Kind::Sdk), false, false) => Ok(Kind::Sdk),
            (None | Some(Kind::Stdio | Kind::Local), true, _) => Ok(Kind::Stdio),
            (None | Some(Kind::Remote), _, true) => Ok(by_scheme),
            (Some(kind @ (Kind::Http | Kind::Sse | Kind::Ws)), _, true) => Ok(kind),
            (_, false, false) => Err(("neither a command nor a URL", "`command` or `url`")),
            (_, true, _) => Err(("a command that contradicts the `type`", "a matching pair")),
            (_, _, true) => Err(("a URL that contradicts the `type`", "a matching pair")),
        };
        let kind = kind.map_err(|(found, expected)| {
            let finding = Diagnostic::error(Problem::BadTransport, found);
            findings.add(offset, path, finding.expected(expected));
            Dropped
        })?;
        self.note_likely_mistakes(findings, offset, path);
        let mut config = self.config;
        config.transport = match kind {
            Kind::Http => Transport::Http(remote(self.remote, self.stdio)),
            Kind::Sse => Transport::Sse(remote(self.remote, self.stdio)),
            Kind::Ws => Transport::Ws(remote(self.remote, self.stdio)),
            Kind::Sdk => Transport::Sdk(self.sdk),
            _ => Transport::Stdio(self.stdio),
        };
        Ok(config)
    }

    /// Reports values that are legal but probably mistakes.
    fn note_likely_mistakes(&self, findings: &mut Findings<'_>, offset: usize, path: &Path<'_>) {
        if self.has_url && self.kind.is_none() && self.shape.title.starts_with("Claude Code") {
            let finding = Diagnostic::warning(Problem::Foreign, "a URL without `type`");
            let hint = format!("read as `http`; {} skips such an entry", self.shape.title);
            findings.add(offset, path, finding.expected("`type`").hint(hint));
        }
        let command = self.stdio.command.unexpanded();
        if self.has_command
            && self.stdio.args.is_empty()
            && command.contains(' ')
            && !command.contains(['/', '\\'])
        {
            let first = printable(command.split(' ').next().unwrap_or_default());
            let finding = Diagnostic::note(Problem::Foreign, "a command with spaces and no `args`");
            let hint = format!("did you mean `{first}` with `args`?");
            findings.add(offset, path, finding.expected("the program alone").hint(hint));
        }
    }
}

/// Copies the entry's variables to the endpoint, for use in its templates.
fn remote(mut remote: Remote, stdio: Stdio) -> Remote {
    remote.env = stdio.env;
    remote.env_pass = stdio.env_pass;
    remote
}
