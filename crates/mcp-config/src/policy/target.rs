//! The view of a server that rules match: its programs, its URLs, and settings that change them.

use super::{
    Refusal,
    address::{Address, Pattern},
    matcher::{MatchBy, Matcher},
};
use crate::{
    expand::{Environment, Expander, NoInputs},
    model::{InheritEnv, Remote, ServerConfig, Template, Transport, changes_loading, has_user},
};

/// Checks `config` against a deny list and against each of several allow lists.
pub(super) fn judge(
    deny: &[Matcher],
    allow: &[Vec<Matcher>],
    config: &ServerConfig,
    env: &Environment,
) -> Result<(), Refusal> {
    if allow.is_empty() && deny.is_empty() {
        return Ok(());
    }
    let target = Target::new(config, env);
    target.refuse_unknown(deny.iter().chain(allow.iter().flatten()))?;
    if let Some(matcher) = deny.iter().find(|matcher| target.is_denied_by(matcher)) {
        return Err(Refusal::Denied(matcher.clone()));
    }
    allow.iter().try_for_each(|list| target.allowed_by(list))
}

/// Refuses a URL that contains user information, as written or as expanded.
pub(super) fn refuse_user(config: &ServerConfig, env: &Environment) -> Result<(), Refusal> {
    let Some(remote) = config.transport.remote() else { return Ok(()) };
    let expander = Expander::new(config, env, &NoInputs);
    let redirect = remote.oauth.as_ref().and_then(|oauth| oauth.redirect_uri.as_ref());
    let mut urls = contacted(remote).chain(redirect.map(|url| ("oauth.redirectUri", url)));
    let named = urls.find(|(_, url)| has_user(url, expander.value(url).ok().as_deref()));
    named.map_or(Ok(()), |(field, _)| Err(Refusal::UserInUrl(field)))
}

/// The URLs that requests go to, with their fields: the server, and the endpoints that receive the user's login.
/// The redirect URI is not one of them: a browser opens it, usually on this machine.
fn contacted(remote: &Remote) -> impl Iterator<Item = (&'static str, &Template)> {
    let of_login = remote.oauth.iter().flat_map(|oauth| {
        [
            ("oauth.authServerMetadataUrl", oauth.metadata_url.as_ref()),
            ("oauth.authorizationUrl", oauth.authorization_url.as_ref()),
            ("oauth.tokenUrl", oauth.token_url.as_ref()),
        ]
    });
    let of_login = of_login.filter_map(|(field, url)| Some((field, url?)));
    std::iter::once(("url", &remote.url)).chain(of_login)
}

struct Target<'c> {
    name: &'c str,
    transport: &'static str,
    /// Its program, or its URLs and the program that prints its headers.
    destinations: Vec<Destination>,
    /// Other settings of the entry that change which program or code runs.
    alters: Alters,
}

/// A program or URL of a server; an `Err` contains the missing variable.
enum Destination {
    Program(&'static str, Result<Vec<String>, String>),
    Address(&'static str, Result<Address, String>),
    InProcess,
}

#[derive(Default)]
struct Alters {
    /// Variables that change the code that runs; `*` for any.
    env: Vec<String>,
    cwd: bool,
}

impl<'c> Target<'c> {
    fn new(config: &'c ServerConfig, env: &Environment) -> Self {
        let expander = Expander::new(config, env, &NoInputs);
        let (name, transport) = (config.name.as_str(), config.transport.kind());
        let (mut destinations, mut alters) = (Vec::new(), Alters::default());
        match &config.transport {
            Transport::Stdio(stdio) => {
                let parts = std::iter::once(&stdio.command).chain(&stdio.args);
                let line = parts.map(|part| expander.path_value(part)).collect();
                let line: Result<_, _> = line;
                destinations
                    .push(Destination::Program("command", line.map_err(|cause| cause.missing())));
                let set = stdio.env.iter().map(|(name, _)| name);
                alters.add(set.chain(names(&stdio.env_pass)).chain(names(&stdio.env_unset)));
                if stdio.env_file.is_some() || stdio.inherit_env == InheritEnv::All {
                    alters.env.push("*".to_owned());
                }
                alters.cwd = stdio.cwd.is_some();
            }
            Transport::Sdk(_) => destinations.push(Destination::InProcess),
            Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
                destinations.extend(
                    contacted(remote)
                        .map(|(field, url)| Destination::Address(field, address(&expander, url))),
                );
                if let Some(helper) = &remote.headers_helper {
                    let line = expander.path_value(helper).map_err(|cause| cause.missing());
                    let line = line.map(|l| l.split_whitespace().map(str::to_owned).collect());
                    destinations.push(Destination::Program("headersHelper", line));
                    let set = remote.env.iter().map(|(name, _)| name);
                    alters.add(set.chain(names(&remote.env_pass)));
                }
            }
        }
        Self { name, transport, destinations, alters }
    }

    /// Rules about commands or URLs cannot be applied to an unknown value, neither to allow nor to deny.
    fn refuse_unknown<'m>(
        &self,
        rules: impl Iterator<Item = &'m Matcher> + Clone,
    ) -> Result<(), Refusal> {
        let rules = rules.filter(|rule| self.is_over(rule));
        for destination in &self.destinations {
            let (field, missing) = match destination {
                Destination::Program(field, Err(missing))
                | Destination::Address(field, Err(missing)) => (*field, missing),
                _ => continue,
            };
            if rules.clone().any(|rule| destination.is_subject_of(rule)) {
                return Err(Refusal::Unknown(field, missing.clone()));
            }
        }
        Ok(())
    }

    fn is_over(&self, rule: &Matcher) -> bool {
        rule.transport.as_ref().is_none_or(|transport| transport == self.transport)
    }

    fn picks(&self, destination: &Destination, rule: &Matcher) -> bool {
        self.is_over(rule)
            && match (&rule.by, destination) {
                (MatchBy::Name(name), _) => name == self.name,
                (MatchBy::Command(line), Destination::Program(_, Ok(own))) => own == line,
                (MatchBy::Url(pattern), Destination::Address(_, Ok(address))) => {
                    Pattern::parse(pattern).is_some_and(|pattern| address.matches(&pattern))
                }
                _ => false,
            }
    }

    /// A deny rule that cannot be parsed denies every server it might apply to.
    fn is_denied_by(&self, rule: &Matcher) -> bool {
        let unreadable = |destination: &Destination| {
            self.is_over(rule)
                && matches!(destination, Destination::Address(..))
                && !rule.can_match()
        };
        self.destinations
            .iter()
            .any(|destination| self.picks(destination, rule) || unreadable(destination))
    }

    fn allowed_by(&self, list: &[Matcher]) -> Result<(), Refusal> {
        let allowed =
            |strict| self.destinations.iter().all(|each| self.is_allowed(each, list, strict));
        if allowed(true) {
            return Ok(());
        }
        Err(if allowed(false) { Refusal::Alters(self.alters.shown()) } else { Refusal::NotAllowed })
    }

    /// Names are easy to imitate. If a list contains commands, a program must match by its command line; if
    /// it contains URLs, a remote server must match by its URL.
    ///
    /// An allowed command may still run other code if the entry sets variables such as `PATH`. With `strict`, the
    /// rule must permit those settings.
    fn is_allowed(&self, destination: &Destination, list: &[Matcher], strict: bool) -> bool {
        let decisive = list.iter().any(|rule| destination.is_subject_of(rule));
        list.iter().filter(|rule| !decisive || destination.is_subject_of(rule)).any(|rule| {
            let is_command = matches!(rule.by, MatchBy::Command(_));
            let admits = !strict || !is_command || self.alters.are_admitted_by(rule);
            self.picks(destination, rule) && admits
        })
    }
}

impl Destination {
    /// Whether `rule` applies to this kind of target.
    fn is_subject_of(&self, rule: &Matcher) -> bool {
        matches!(
            (self, &rule.by),
            (Self::Program(..), MatchBy::Command(_)) | (Self::Address(..), MatchBy::Url(_))
        )
    }
}

impl Alters {
    fn add<'n>(&mut self, variables: impl Iterator<Item = &'n str>) {
        let changing = variables.filter(|name| changes_loading(name));
        self.env.extend(changing.map(str::to_owned));
    }

    fn are_admitted_by(&self, rule: &Matcher) -> bool {
        (rule.cwd || !self.cwd) && self.env.iter().all(|name| rule.admits_variable(name))
    }

    fn shown(&self) -> Vec<String> {
        let env = self.env.iter().map(|name| match name.as_str() {
            "*" => "`envFile` or `inheritEnv`".to_owned(),
            name => format!("`env.{name}`"),
        });
        env.chain(self.cwd.then(|| "`cwd`".to_owned())).collect()
    }
}

fn address(expander: &Expander<'_>, url: &Template) -> Result<Address, String> {
    let url = expander.value(url).map_err(|cause| cause.missing())?;
    Address::parse(&url).ok_or_else(|| "a valid URL".to_owned())
}

fn names(list: &[String]) -> impl Iterator<Item = &str> {
    list.iter().map(String::as_str)
}
