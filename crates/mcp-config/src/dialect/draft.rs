//! One entry while it is being read: settings arrive in any order, and a transport comes out.

use super::{
    finding::{Finding, Findings, Path},
    read::Dropped,
    shape::{Field, Kind, Shape, Slot},
    typo, value,
};
use crate::{
    diagnostic::{Problem, printable},
    model::{AuthKind, OAuth, Remote, Sdk, ServerConfig, Stdio, Transport},
    name::ServerName,
    text::{Member, Node, Value},
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

    /// Takes one member of the entry.
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
                typo::note_unknown(findings, member, &path, self.shape);
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
            Slot::Args => self.stdio.args = read.templates(node)?,
            Slot::Env | Slot::EnvOrNull => {
                let (set, unset) = read.environment(node, slot == Slot::EnvOrNull)?;
                (self.stdio.env, self.stdio.env_unset) = (set, unset);
            }
            Slot::EnvPass => self.stdio.env_pass = read.names(node)?,
            Slot::EnvFile => self.stdio.env_file = Some(read.template(node)?),
            Slot::Cwd => self.stdio.cwd = Some(read.template(node)?),
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
            Slot::HeaderVariables => self.remote.headers.extend(read.header_variables(node)?),
            Slot::BearerVariable => {
                let bearer = read.bearer_variable(node)?;
                self.remote.headers.insert("Authorization", bearer);
            }
            Slot::HeadersHelper => self.remote.headers_helper = Some(read.template(node)?),
            Slot::SdkServer => self.sdk.server = Some(read.text(node)?),
            Slot::Enabled | Slot::EnabledAlways => config.enabled = read.boolean(node)?,
            Slot::Disabled => config.enabled = !read.boolean(node)?,
            Slot::Startup(unit) => config.timeouts.startup = read.duration(node, unit)?,
            // Two keys may hold it; one of them may hold a value too small to count.
            Slot::Call(unit) => {
                config.timeouts.call = read.duration(node, unit)?.or(config.timeouts.call);
            }
            Slot::Total(unit) => config.timeouts.total = read.duration(node, unit)?,
            Slot::Allow => config.tools.allow = Some(read.names(node)?),
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
            Slot::ClientId
            | Slot::ClientSecret
            | Slot::Scopes
            | Slot::ScopesText
            | Slot::CallbackPort
            | Slot::RedirectUri
            | Slot::MetadataUrl
            | Slot::AuthorizationUrl
            | Slot::TokenUrl
            | Slot::Resource => {
                let oauth = self.remote.oauth.get_or_insert_default();
                return set_oauth(oauth, slot, &mut read, node);
            }
            Slot::OAuthEnabled => {
                let on = read.boolean(node)?;
                config.auth = Some(if on { AuthKind::OAuth } else { AuthKind::Headers });
            }
            Slot::TlsCa | Slot::TlsCert | Slot::TlsKey => {
                let tls = self.remote.tls.get_or_insert_default();
                let field = match slot {
                    Slot::TlsCa => &mut tls.ca,
                    Slot::TlsCert => &mut tls.cert,
                    _ => &mut tls.key,
                };
                *field = Some(read.template(node)?);
            }
            Slot::Group(fields) => return self.group(findings, fields, node, path),
            Slot::OAuth(fields) => match node.value {
                Value::Bool(false) => config.auth = Some(AuthKind::Headers),
                Value::Bool(true) => config.auth = Some(AuthKind::OAuth),
                _ => return self.group(findings, fields, node, path),
            },
        }
        Ok(())
    }

    fn group(
        &mut self,
        findings: &mut Findings<'_>,
        fields: &'static [Field],
        node: &Node<'_>,
        path: &Path<'_>,
    ) -> Result<(), Dropped> {
        let Some(members) = node.members() else {
            findings.add(Finding::wrong(node, path, "an object"));
            return Err(Dropped);
        };
        for member in members {
            let inner = path.key(&member.key);
            if let Some(field) = fields.iter().find(|field| field.key == member.key) {
                self.set(findings, field.slot, &member.value, &inner)?;
            } else {
                typo::note_unknown_in(findings, member, &inner, fields);
                let group = self.config.extra.entry(path.name().to_owned());
                let group =
                    group.or_insert_with(|| serde_json::Value::Object(serde_json::Map::default()));
                if let Some(group) = group.as_object_mut() {
                    group.insert(member.key.to_string(), member.value.to_json());
                }
            }
        }
        Ok(())
    }

    /// `command`: a string; in old Zed files an object of `path`, `args` and `env`.
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

    /// Puts the transport together once everything has been read.
    pub(crate) fn finish(
        self,
        findings: &mut Findings<'_>,
        offset: usize,
        path: &Path<'_>,
    ) -> Result<ServerConfig, Dropped> {
        let bad = |found: &str, expected: &str| {
            Finding::error(Problem::BadTransport, offset).at(path).found(found).expected(expected)
        };
        if self.kind == Some(Kind::Foreign) {
            let finding = Finding::note(Problem::NotPortable, offset).at(path);
            let found = format!("an extension that runs only inside {}", self.shape.title);
            findings.add(finding.found(found));
            return Err(Dropped);
        }
        if self.has_command && self.has_url {
            findings.add(bad("both a command and a URL", "one of them"));
            return Err(Dropped);
        }
        let scheme = self.remote.url.unexpanded().split(':').next().unwrap_or_default();
        let by_scheme = if scheme.eq_ignore_ascii_case("ws") || scheme.eq_ignore_ascii_case("wss") {
            Kind::Ws
        } else {
            Kind::Http
        };
        let kind = match (self.kind, self.has_command, self.has_url) {
            (Some(Kind::Sdk), false, false) => Kind::Sdk,
            (None | Some(Kind::Stdio | Kind::Local), true, _) => Kind::Stdio,
            (None | Some(Kind::Remote), _, true) => by_scheme,
            (Some(kind @ (Kind::Http | Kind::Sse | Kind::Ws)), _, true) => kind,
            (_, false, false) => {
                findings.add(bad("neither a command nor a URL", "one of them"));
                return Err(Dropped);
            }
            (Some(_), _, _) => {
                let found = if self.has_url { "a URL" } else { "a command" };
                findings
                    .add(bad(&format!("{found} that contradicts the `type`"), "a matching pair"));
                return Err(Dropped);
            }
        };
        self.remarks(findings, offset, path);
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

    /// What is legal and still likely a mistake.
    fn remarks(&self, findings: &mut Findings<'_>, offset: usize, path: &Path<'_>) {
        if self.has_url && self.kind.is_none() && self.shape.title.starts_with("Claude Code") {
            let finding = Finding::warning(Problem::Foreign, offset).at(path);
            let hint = format!("read as `http`; {} skips such an entry", self.shape.title);
            findings.add(finding.found("a URL without `type`").expected("`type`").hint(hint));
        }
        let command = self.stdio.command.unexpanded();
        if self.has_command
            && self.stdio.args.is_empty()
            && command.contains(' ')
            && !command.contains(['/', '\\'])
        {
            let first = printable(command.split(' ').next().unwrap_or_default());
            let finding = Finding::note(Problem::Foreign, offset).at(path);
            let finding =
                finding.found("a command with spaces and no `args`").expected("the program alone");
            findings.add(finding.hint(format!("did you mean `{first}` with `args`?")));
        }
    }
}

fn set_oauth(
    oauth: &mut OAuth,
    slot: Slot,
    read: &mut value::Values<'_, '_, '_>,
    node: &Node<'_>,
) -> Result<(), Dropped> {
    let field = match slot {
        Slot::ClientSecret => {
            oauth.client_secret = Some(read.secret(node)?);
            return Ok(());
        }
        Slot::Scopes | Slot::ScopesText => {
            oauth.scopes = read.scopes(node)?;
            return Ok(());
        }
        Slot::CallbackPort => {
            oauth.callback_port = Some(read.port(node)?);
            return Ok(());
        }
        Slot::RedirectUri => &mut oauth.redirect_uri,
        Slot::MetadataUrl => &mut oauth.metadata_url,
        Slot::AuthorizationUrl => &mut oauth.authorization_url,
        Slot::TokenUrl => &mut oauth.token_url,
        Slot::Resource => &mut oauth.resource,
        _ => &mut oauth.client_id,
    };
    *field = Some(read.template(node)?);
    Ok(())
}

/// An endpoint keeps the variables its entry defines, for its own templates.
fn remote(mut remote: Remote, stdio: Stdio) -> Remote {
    remote.env = stdio.env;
    remote.env_pass = stdio.env_pass;
    remote
}
