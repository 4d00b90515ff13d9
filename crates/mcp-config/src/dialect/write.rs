//! Writes the members of a server's entry, from the same tables as the reader.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::{
    catalogue::Dialect,
    draft::Draft,
    finding::Findings,
    path::Path,
    shape::{Field, Kind, Shape, Slot, Unit},
    value::{AUTH, CONNECT, INHERIT_ENV},
};
use crate::{
    format::Node,
    model::{
        AlwaysLoad, AuthKind, EraPin, Remote, SecretMap, SecretText, ServerConfig, ServerName,
        Stdio, Template, Transport, differences,
    },
};

/// The members of `config`'s entry in `dialect`, in the order of its table.
pub(crate) fn encode(dialect: Dialect, config: &ServerConfig) -> Vec<(String, Json)> {
    let writer = Writer::new(dialect.shape(), config);
    let mut members = writer.fields(writer.shape.fields);
    for (key, value) in &config.extra {
        match members.iter_mut().find(|(existing, _)| existing == key) {
            // Unknown members of a nested object are written back into it.
            Some((_, Json::Object(group))) => {
                let unknown = value.as_object().cloned().unwrap_or_default();
                group.extend(unknown);
            }
            Some(_) => {}
            None => members.push((key.clone(), value.clone())),
        }
    }
    members
}

/// The names of the settings that `dialect` cannot express. If empty, the server reads back unchanged.
///
/// Writes, reads and compares, so that no second table can disagree with the first.
pub(crate) fn fits(dialect: Dialect, config: &ServerConfig) -> Vec<&'static str> {
    let members: Map<String, Json> = encode(dialect, config).into_iter().collect();
    let text = Json::Object(members).to_string();
    let back = crate::format::parse_json(&text).ok();
    let back = back.and_then(|(node, _)| read_entry(dialect, &config.name, &node));
    back.map_or_else(|| vec!["this kind of server"], |back| differences(&back, config))
}

/// Reads one entry; `None` if it is invalid.
pub(crate) fn read_entry(
    dialect: Dialect,
    name: &ServerName,
    node: &Node<'_>,
) -> Option<ServerConfig> {
    let mut findings = Findings::new("", &"".into());
    let mut draft = Draft::new(name.clone(), dialect.shape());
    for member in node.members()? {
        draft.member(&mut findings, member, &Path::Root).ok()?;
    }
    draft.finish(&mut findings, 0, &Path::Root).ok()
}

struct Writer<'c> {
    shape: &'static Shape,
    config: &'c ServerConfig,
    stdio: Option<&'c Stdio>,
    remote: Option<&'c Remote>,
    /// The variables of the entry, from the program or the endpoint.
    env: Option<&'c SecretMap>,
    env_pass: &'c [String],
}

impl<'c> Writer<'c> {
    fn new(shape: &'static Shape, config: &'c ServerConfig) -> Self {
        let stdio = match &config.transport {
            Transport::Stdio(stdio) => Some(stdio),
            _ => None,
        };
        let remote = config.transport.remote();
        let env = stdio.map(|stdio| &stdio.env).or(remote.map(|remote| &remote.env));
        let pass = stdio.map(|stdio| &stdio.env_pass).or(remote.map(|remote| &remote.env_pass));
        let env_pass = pass.map(Vec::as_slice).unwrap_or_default();
        Self { shape, config, stdio, remote, env, env_pass }
    }

    fn fields(&self, fields: &[Field]) -> Vec<(String, Json)> {
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut written = Vec::new();
        for field in fields {
            let slot = std::mem::discriminant(&field.slot);
            let nested = matches!(field.slot, Slot::Group(_) | Slot::OAuth(_));
            if !nested && written.contains(&slot) {
                continue;
            }
            if let Some(value) = self.value(field.slot) {
                written.push(slot);
                members.push((field.key.to_owned(), value));
            }
        }
        members
    }

    /// The value of one setting; `None` if it has its default or this slot can't hold it.
    fn value(&self, slot: Slot) -> Option<Json> {
        let config = self.config;
        let oauth = self.remote.and_then(|remote| remote.oauth.as_deref());
        let tls = self.remote.and_then(|remote| remote.tls.as_deref());
        match slot {
            Slot::Type => self.kind_word(),
            Slot::Command => self.template(&self.stdio?.command),
            Slot::CommandLine => {
                let stdio = self.stdio?;
                let line = std::iter::once(&stdio.command).chain(&stdio.args);
                line.map(|part| self.template(part)).collect()
            }
            Slot::Args if self.stdio?.args.is_empty() => None,
            Slot::Args | Slot::ArgsAlways => {
                self.stdio?.args.iter().map(|arg| self.template(arg)).collect()
            }
            Slot::Env => self.environment(&[]),
            Slot::EnvOrNull => {
                self.environment(self.stdio.map(|s| s.env_unset.as_slice()).unwrap_or_default())
            }
            Slot::EnvPairs => self.stdio.and(self.pairs(self.env?)),
            Slot::EnvPass => names(self.env_pass),
            Slot::InheritEnv => {
                word(INHERIT_ENV, &self.stdio?.inherit_env).filter(|word| word != "safe")
            }
            Slot::EnvFile => self.template(self.stdio?.env_file.as_ref()?),
            Slot::Cwd => self.template(self.stdio?.cwd.as_ref()?),
            Slot::Sandbox => self.stdio?.sandbox.as_ref().map(mcp_sandbox::Profile::to_json),
            Slot::Url if !self.has_url_of() => self.template(&self.remote?.url),
            Slot::UrlOf(kind) if kind == self.kind() && self.has_url_of() => {
                self.template(&self.remote?.url)
            }
            // Aliases: read, never written.
            Slot::Url | Slot::UrlOf(_) | Slot::TypeAlias => None,
            Slot::Headers => self.headers(),
            Slot::HeaderPairs => self.pairs(&self.remote?.headers),
            Slot::HeaderVariables => self.header_variables(),
            Slot::BearerVariable => bearer_variable(self.remote?).map(Json::from),
            Slot::HeadersHelper => self.template(self.remote?.headers_helper.as_ref()?),
            Slot::SdkServer => match &config.transport {
                Transport::Sdk(sdk) => sdk.server.clone().map(Json::from),
                _ => None,
            },
            Slot::Enabled => (!config.enabled).then_some(Json::Bool(false)),
            Slot::EnabledAlways => Some(config.enabled.into()),
            Slot::Disabled => {
                (!config.enabled && !self.has(Slot::Enabled)).then_some(Json::Bool(true))
            }
            Slot::Startup(unit) => time(config.timeouts.startup, unit),
            Slot::Call(unit) => time(config.timeouts.call, unit),
            Slot::Total(unit) => time(config.timeouts.total, unit),
            Slot::Allow => config.tools.allow.clone().map(Json::from),
            Slot::AllowAlways => {
                Some(config.tools.allow.clone().unwrap_or_else(|| vec!["*".into()]).into())
            }
            Slot::Deny => names(&config.tools.deny),
            Slot::AlwaysLoad => match &config.always_load {
                AlwaysLoad::No => None,
                AlwaysLoad::All => Some(true.into()),
                AlwaysLoad::Tools(tools) => Some(tools.clone().into()),
            },
            Slot::Trust => config.trust.then_some(Json::Bool(true)),
            Slot::DescriptionLimit => config.limits.description.map(Json::from),
            Slot::OutputLimit => config.limits.output.map(Json::from),
            Slot::Connect => word(CONNECT, config.connect.as_ref()?),
            Slot::Era => config.era.as_ref().map(|era| match era {
                EraPin::Legacy => "legacy".into(),
                EraPin::Modern => "modern".into(),
                EraPin::Version(version) => version.clone().into(),
            }),
            Slot::Auth => word(AUTH, config.auth.as_ref()?),
            Slot::Description => config.description.clone().map(Json::from),
            Slot::NameAgain => {
                let kept = config.extra.get("name").cloned();
                Some(kept.unwrap_or_else(|| config.name.as_str().into()))
            }
            Slot::ClientId => self.template(oauth?.client_id.as_ref()?),
            Slot::ClientSecret => self.template(oauth?.client_secret.as_ref()?.template()),
            Slot::Scopes => names(&oauth?.scopes),
            Slot::ScopesText => {
                Some(oauth?.scopes.join(" ")).filter(|t| !t.is_empty()).map(Json::from)
            }
            Slot::CallbackPort => oauth?.callback_port.map(Json::from),
            Slot::RedirectUri => self.template(oauth?.redirect_uri.as_ref()?),
            Slot::MetadataUrl => self.template(oauth?.metadata_url.as_ref()?),
            Slot::AuthorizationUrl => self.template(oauth?.authorization_url.as_ref()?),
            Slot::TokenUrl => self.template(oauth?.token_url.as_ref()?),
            Slot::Resource => self.template(oauth?.resource.as_ref()?),
            Slot::OAuthEnabled => signs_in(config.auth?),
            Slot::TlsCa => self.template(tls?.ca.as_ref()?),
            Slot::TlsCert => self.template(tls?.cert.as_ref()?),
            Slot::TlsKey => self.template(tls?.key.as_ref()?),
            Slot::Group(fields) => self.group(fields),
            Slot::OAuth(fields) => self
                .group(fields)
                .or_else(|| signs_in(config.auth?).filter(|_| !self.has(Slot::Auth))),
        }
    }

    /// Whether the dialect has this slot.
    fn has(&self, slot: Slot) -> bool {
        self.shape.fields.iter().any(|field| field.slot == slot)
    }

    fn group(&self, fields: &[Field]) -> Option<Json> {
        let members = self.fields(fields);
        (!members.is_empty()).then(|| Json::Object(members.into_iter().collect()))
    }

    fn kind(&self) -> Kind {
        match self.config.transport {
            Transport::Stdio(_) => Kind::Stdio,
            Transport::Http(_) => Kind::Http,
            Transport::Sse(_) => Kind::Sse,
            Transport::Ws(_) => Kind::Ws,
            Transport::Sdk(_) => Kind::Sdk,
        }
    }

    fn kind_word(&self) -> Option<Json> {
        let exact = self.kind();
        let rough = if exact == Kind::Stdio { Kind::Local } else { Kind::Remote };
        let words = self.shape.kinds;
        word(words, &exact).or_else(|| word(words, &rough))
    }

    /// Whether the URL is written under a key that implies this transport, because `type` cannot express it.
    fn has_url_of(&self) -> bool {
        let kind = self.kind();
        self.has(Slot::UrlOf(kind)) && word(self.shape.kinds, &kind).is_none()
    }

    fn template(&self, template: &Template) -> Option<Json> {
        self.shape.syntax.write(template).map(Json::from)
    }

    fn environment(&self, unset: &[String]) -> Option<Json> {
        let mut env = Map::new();
        for (key, value) in self.env?.iter() {
            env.insert(key.to_owned(), self.template(value.template())?);
        }
        env.extend(unset.iter().map(|key| (key.clone(), Json::Null)));
        (!env.is_empty()).then_some(Json::Object(env))
    }

    /// Names and values as an array of objects.
    fn pairs(&self, map: &SecretMap) -> Option<Json> {
        let pair = |(name, value): (&str, &SecretText)| {
            Some(json!({"name": name, "value": self.template(value.template())?}))
        };
        map.iter().map(pair).collect()
    }

    /// The headers that are not written by another slot of this dialect.
    fn headers(&self) -> Option<Json> {
        let remote = self.remote?;
        let mut headers = Map::new();
        for (name, value) in remote.headers.iter() {
            let taken = self.has(Slot::HeaderVariables)
                && value.template().sole_variable().is_some()
                || self.has(Slot::BearerVariable)
                    && name == "Authorization"
                    && bearer_variable(remote).is_some();
            if !taken {
                headers.insert(name.to_owned(), self.template(value.template())?);
            }
        }
        (!headers.is_empty()).then_some(Json::Object(headers))
    }

    fn header_variables(&self) -> Option<Json> {
        let headers = self.remote?.headers.iter();
        let variables = headers.filter_map(|(name, value)| {
            value.template().sole_variable().map(|variable| (name.to_owned(), Json::from(variable)))
        });
        let variables: Map<String, Json> = variables.collect();
        (!variables.is_empty()).then_some(Json::Object(variables))
    }
}

/// The variable in `Authorization: Bearer ${VARIABLE}`.
fn bearer_variable(remote: &Remote) -> Option<&str> {
    use crate::model::Part;
    match remote.headers.get("Authorization")?.template().parts() {
        [Part::Text(scheme), Part::Variable { name, default: None }] if &**scheme == "Bearer " => {
            Some(name)
        }
        _ => None,
    }
}

/// The login setting, for dialects where it is a boolean.
fn signs_in(auth: AuthKind) -> Option<Json> {
    match auth {
        AuthKind::OAuth => Some(true.into()),
        AuthKind::Headers => Some(false.into()),
        AuthKind::None => None,
    }
}

fn names(list: &[String]) -> Option<Json> {
    (!list.is_empty()).then(|| list.to_vec().into())
}

fn word<T: PartialEq>(words: &[(&str, T)], meaning: &T) -> Option<Json> {
    words.iter().find(|(_, each)| each == meaning).map(|(word, _)| (*word).into())
}

/// A duration in the unit of the key, as a whole number if possible.
fn time(time: Option<Duration>, unit: Unit) -> Option<Json> {
    let time = time?;
    let per_unit = match unit {
        Unit::Seconds => 1_000_000,
        Unit::Millis | Unit::MillisFromOneSecond => 1_000,
    };
    if unit == Unit::MillisFromOneSecond && time < Duration::from_secs(1) {
        return None;
    }
    let micros = time.as_micros();
    if micros % per_unit == 0 {
        return u64::try_from(micros / per_unit).ok().map(Json::from);
    }
    let seconds = time.as_secs_f64();
    Some(if unit == Unit::Seconds { seconds.into() } else { (seconds * 1000.0).into() })
}
