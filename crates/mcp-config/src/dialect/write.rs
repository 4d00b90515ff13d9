//! From a server to the members of its entry, walking the same tables as the reader.

use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::{
    AUTH, CONNECT, Dialect,
    draft::Draft,
    finding::{Findings, Path},
    shape::{Field, Kind, Shape, Slot, Unit},
};
use crate::{
    diff::differences,
    model::{AlwaysLoad, AuthKind, EraPin, Remote, ServerConfig, Stdio, Transport},
    name::ServerName,
    secret_map::SecretMap,
    template::Template,
    text::Node,
};

/// The members of `config`'s entry in `dialect`, in the order of its table.
pub(crate) fn encode(dialect: Dialect, config: &ServerConfig) -> Vec<(String, Json)> {
    let writer = Writer::new(dialect.shape(), config);
    let mut members = writer.fields(writer.shape.fields);
    for (key, value) in &config.extra {
        match members.iter_mut().find(|(existing, _)| existing == key) {
            // What a nested object held besides the known fields goes back into it.
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

/// The settings `dialect` has no way to say. Empty means: written and read, it is the same server.
///
/// This is not a second table that could disagree with the first: it writes, reads, and compares.
pub(crate) fn fits(dialect: Dialect, config: &ServerConfig) -> Vec<&'static str> {
    let members: Map<String, Json> = encode(dialect, config).into_iter().collect();
    let text = Json::Object(members).to_string();
    let back = crate::text::parse_json(&text).ok();
    let back = back.and_then(|(node, _)| read_entry(dialect, &config.name, &node));
    back.map_or_else(|| vec!["this kind of server"], |back| differences(&back, config))
}

/// Reads one entry by itself; `None` if it can't be used.
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
    /// Where the variables of an entry are: with the program, or with the endpoint.
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
        Self {
            shape,
            config,
            stdio,
            remote,
            env,
            env_pass: pass.map(Vec::as_slice).unwrap_or_default(),
        }
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

    /// The value of one setting; `None` when it is at its default or this slot can't hold it.
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
            Slot::Args => self.args(&self.stdio?.args),
            Slot::Env => self.environment(&[]),
            Slot::EnvOrNull => {
                self.environment(self.stdio.map(|s| s.env_unset.as_slice()).unwrap_or_default())
            }
            Slot::EnvPass => names(self.env_pass),
            Slot::EnvFile => self.template(self.stdio?.env_file.as_ref()?),
            Slot::Cwd => self.template(self.stdio?.cwd.as_ref()?),
            Slot::Url => (!self.has_url_of()).then(|| self.template(&self.remote?.url)).flatten(),
            Slot::UrlOf(Kind::Ws) => {
                self.has_url_of().then(|| self.template(&self.remote?.url)).flatten()
            }
            // Spellings that are only put up with: read, never written.
            Slot::UrlOf(_) | Slot::TypeAlias => None,
            Slot::Headers => self.headers(),
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
                let has_other = self.shape.fields.iter().any(|field| field.slot == Slot::Enabled);
                (!config.enabled && !has_other).then_some(Json::Bool(true))
            }
            Slot::Startup(unit) => time(config.timeouts.startup, unit),
            Slot::Call(unit) => time(config.timeouts.call, unit),
            Slot::Total(unit) => time(config.timeouts.total, unit),
            Slot::Allow => config.tools.allow.clone().map(Json::from),
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
                (!oauth?.scopes.is_empty()).then(|| oauth.map(|o| o.scopes.join(" ").into()))?
            }
            Slot::CallbackPort => oauth?.callback_port.map(Json::from),
            Slot::RedirectUri => self.template(oauth?.redirect_uri.as_ref()?),
            Slot::MetadataUrl => self.template(oauth?.metadata_url.as_ref()?),
            Slot::AuthorizationUrl => self.template(oauth?.authorization_url.as_ref()?),
            Slot::TokenUrl => self.template(oauth?.token_url.as_ref()?),
            Slot::Resource => self.template(oauth?.resource.as_ref()?),
            Slot::OAuthEnabled => match config.auth? {
                AuthKind::OAuth => Some(true.into()),
                AuthKind::Headers => Some(false.into()),
                AuthKind::None => None,
            },
            Slot::TlsCa => self.template(tls?.ca.as_ref()?),
            Slot::TlsCert => self.template(tls?.cert.as_ref()?),
            Slot::TlsKey => self.template(tls?.key.as_ref()?),
            Slot::Group(fields) => self.group(fields),
            Slot::OAuth(fields) => self.group(fields).or_else(|| {
                let has_auth = self.shape.fields.iter().any(|field| field.slot == Slot::Auth);
                match config.auth? {
                    _ if has_auth => None,
                    AuthKind::Headers => Some(false.into()),
                    AuthKind::OAuth => Some(true.into()),
                    AuthKind::None => None,
                }
            }),
        }
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
        let found = words
            .iter()
            .find(|(_, kind)| *kind == exact)
            .or_else(|| words.iter().find(|(_, kind)| *kind == rough));
        found.map(|(word, _)| (*word).into())
    }

    /// Whether a key that implies this transport holds the address.
    fn has_url_of(&self) -> bool {
        let kind = self.kind();
        kind == Kind::Ws && self.shape.fields.iter().any(|field| field.slot == Slot::UrlOf(kind))
    }

    fn template(&self, template: &Template) -> Option<Json> {
        self.shape.syntax.write(template).map(Json::from)
    }

    fn args(&self, args: &[Template]) -> Option<Json> {
        if args.is_empty() {
            return None;
        }
        args.iter().map(|arg| self.template(arg)).collect()
    }

    fn environment(&self, unset: &[String]) -> Option<Json> {
        let mut env = Map::new();
        for (key, value) in self.env?.iter() {
            env.insert(key.to_owned(), self.template(value.template())?);
        }
        env.extend(unset.iter().map(|key| (key.clone(), Json::Null)));
        (!env.is_empty()).then_some(Json::Object(env))
    }

    /// The headers that no other slot of this dialect takes.
    fn headers(&self) -> Option<Json> {
        let remote = self.remote?;
        let has = |slot| self.shape.fields.iter().any(|field| field.slot == slot);
        let mut headers = Map::new();
        for (name, value) in remote.headers.iter() {
            let taken = has(Slot::HeaderVariables) && value.template().sole_variable().is_some()
                || has(Slot::BearerVariable)
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

/// The variable behind `Authorization: Bearer ${VARIABLE}`.
fn bearer_variable(remote: &Remote) -> Option<&str> {
    use crate::template::Part;
    match remote.headers.get("Authorization")?.template().parts() {
        [Part::Text(scheme), Part::Variable { name, default: None }] if &**scheme == "Bearer " => {
            Some(name)
        }
        _ => None,
    }
}

fn names(list: &[String]) -> Option<Json> {
    (!list.is_empty()).then(|| list.to_vec().into())
}

fn word<T: PartialEq>(words: &[(&str, T)], meaning: &T) -> Option<Json> {
    words.iter().find(|(_, each)| each == meaning).map(|(word, _)| (*word).into())
}

/// A time as the whole number it usually is, in the unit of the key.
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
