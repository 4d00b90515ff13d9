//! Facts about an entry that help to decide whether it is safe, computed after expansion.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use mcp_safe::text::escape;

use super::{
    fingerprint::Fingerprint,
    program::{CommandLine, inside},
};
use crate::{
    expand::{EnvFile, Environment, ExpandCause, Expander, NoInputs},
    model::{
        InheritEnv, OAuth, Part, Remote, ServerConfig, Stdio, Template, Transport, changes_loading,
        is_path, path_in,
    },
};

/// One fact about an entry. `Display` prints one escaped line, which approvals hash: do not reword it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fact {
    /// The URL in `field` connects to this host, once expanded.
    Host {
        /// The field, such as `url` or `oauth.tokenUrl`.
        field: &'static str,
        /// The host, with its port unless that is the scheme's default; for a local socket, its path.
        host: String,
    },
    /// The host in `field` is unknown.
    UnknownHost {
        /// The field.
        field: &'static str,
        /// The missing variable, such as `$HOST`.
        missing: String,
    },
    /// One of the user's values is sent.
    Sends {
        /// The value.
        what: Sent,
        /// The host or program that receives it.
        to: String,
    },
    /// The program in `field` was found at this path.
    Program {
        /// `command` or `headersHelper`.
        field: &'static str,
        /// Its path.
        path: PathBuf,
    },
    /// The program in `field` was not found.
    NoProgram {
        /// `command` or `headersHelper`.
        field: &'static str,
        /// Its name, expanded as far as possible.
        name: String,
    },
    /// A program, or a file in its arguments, is inside the project.
    InProject {
        /// The file.
        path: PathBuf,
        /// The hash of its content; `None` if it is too large for an approval to cover.
        content: Option<Fingerprint>,
    },
    /// The command line in `field` contains a shell, which can run anything.
    Shell {
        /// `command` or `headersHelper`.
        field: &'static str,
        /// The shell.
        name: String,
    },
    /// The entry sets a variable that changes which program or code runs.
    ChangesLoading {
        /// The variable, such as `PATH` or `NODE_OPTIONS`.
        variable: String,
    },
    /// A file sets variables of the program, possibly including `PATH`.
    EnvFile {
        /// The file.
        path: String,
    },
    /// The program inherits every variable of the host, secrets included.
    InheritsEverything,
}

/// One of the user's values that an entry refers to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Sent {
    /// An environment variable, by name.
    Variable(String),
    /// The content of a file, by path.
    File(String),
    /// A secret in the secret store, by name.
    Secret(String),
    /// The value of an input, by id.
    Input(String),
}

impl fmt::Display for Sent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(out, "your variable ${name}"),
            Self::File(path) => write!(out, "your file {path}"),
            Self::Secret(name) => write!(out, "your stored secret `{name}`"),
            Self::Input(id) => write!(out, "your answer to `{id}`"),
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Self::Host { field, host } => format!("{field} leads to the host {host}"),
            Self::UnknownHost { field, missing } => {
                format!("{field} leads to a host that is not known: {missing} is missing")
            }
            Self::Sends { what, to } => format!("sends {what} to {to}"),
            Self::Program { field, path } => format!("{field} starts {}", path.display()),
            Self::NoProgram { field, name } => {
                format!("{field} starts `{name}`, which was not found")
            }
            Self::InProject { path, content: Some(content) } => {
                format!("{} is inside this repository (sha256 {content})", path.display())
            }
            Self::InProject { path, content: None } => format!(
                "{} is inside this repository (too large: the approval does not cover its content)",
                path.display()
            ),
            Self::Shell { field, name } => format!("{field} runs a shell ({name})"),
            Self::ChangesLoading { variable } => {
                format!("changes {variable}, and so which program or code runs")
            }
            Self::EnvFile { path } => {
                format!("takes variables from the file {path}, which may change what runs")
            }
            Self::InheritsEverything => {
                "sends every variable of your environment to the program".to_owned()
            }
        };
        out.write_str(&escape(&line))
    }
}

/// The facts about `config`, in a fixed order without duplicates. Reads the files involved, except for an `envFile` that
/// expansion has `read`.
pub(super) fn facts(
    config: &ServerConfig,
    env: &Environment,
    project: &Path,
    read: Option<&EnvFile>,
) -> Vec<Fact> {
    let expander = Expander::new(config, env, &NoInputs);
    let mut finder = Finder { facts: Vec::new(), expander, project, env, read };
    match &config.transport {
        Transport::Stdio(stdio) => finder.stdio(stdio),
        Transport::Sdk(_) => {}
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            finder.remote(remote);
        }
    }
    let mut facts = finder.facts;
    facts.sort();
    facts.dedup();
    facts
}

struct Finder<'e> {
    facts: Vec<Fact>,
    expander: Expander<'e>,
    project: &'e Path,
    env: &'e Environment,
    read: Option<&'e EnvFile>,
}

impl Finder<'_> {
    fn stdio(&mut self, stdio: &Stdio) {
        let mut env = stdio.env.clone();
        let file = stdio.env_file.as_ref().map(|file| self.text(file));
        let read = file
            .as_ref()
            .and_then(|path| self.read.cloned().or_else(|| self.expander.env_file(path).ok()));
        if let Some(read) = &read {
            read.add_to(&mut env);
            // The author of this file chooses variables of the program, so its content counts like that of a script.
            if inside(&read.path, self.project).is_some() {
                let content = Some(Fingerprint::of_bytes(read.text.as_bytes()));
                self.facts.push(Fact::InProject { path: read.path.clone(), content });
            }
        }
        let cwd = stdio.cwd.as_ref().map(|cwd| self.text(cwd));
        let command = std::iter::once(&stdio.command).chain(&stdio.args);
        let words: Vec<String> = command.map(|word| self.text(word)).collect();
        let own_path = path_in(&env).map(|value| self.text(value.template()));
        let is_unset = stdio.env_unset.iter().any(|name| is_path(name));
        let path = own_path.as_deref().or(self.env.get("PATH")).filter(|_| !is_unset);
        let line = CommandLine { words: &words, cwd: cwd.as_deref().map(Path::new), path };
        self.command("command", &line);
        let to = format!("the program {}", line.program());
        for template in std::iter::once(&stdio.command).chain(&stdio.args).chain(&stdio.cwd) {
            self.sends(template, &to);
        }
        for (name, value) in env.iter() {
            self.sends(value.template(), &to);
            self.sets(name);
        }
        for name in &stdio.env_pass {
            self.facts.push(Fact::Sends { what: Sent::Variable(name.clone()), to: to.clone() });
            self.sets(name);
        }
        stdio.env_unset.iter().for_each(|name| self.sets(name));
        if let (Some(template), Some(path)) = (&stdio.env_file, file) {
            self.sends(template, &to);
            self.facts.push(Fact::Sends { what: Sent::File(path.clone()), to });
            self.facts.push(Fact::EnvFile { path });
        }
        if stdio.inherit_env == InheritEnv::All {
            self.facts.push(Fact::InheritsEverything);
        }
    }

    fn remote(&mut self, remote: &Remote) {
        let Remote { url, headers, headers_helper, oauth, tls, env, env_pass } = remote;
        let host = self.host("url", url);
        self.sends(url, &host);
        headers.iter().for_each(|(_, value)| self.sends(value.template(), &host));
        if let Some(helper) = headers_helper {
            self.helper(remote, helper);
        }
        env.iter().for_each(|(name, _)| self.sets(name));
        for name in env_pass {
            self.sets(name);
        }
        if let Some(oauth) = oauth {
            self.oauth(oauth, &host);
        }
        let files = tls.iter().flat_map(|tls| [&tls.ca, &tls.cert, &tls.key]).flatten();
        let to = format!("the connection to {host}");
        files.for_each(|file| self.sends(file, &to));
    }

    /// The program is looked up exactly as the helper is run: another folder or `PATH` could show another program.
    fn helper(&mut self, remote: &Remote, helper: &Template) {
        let mut expanded = remote.clone();
        expanded.headers_helper = Some(Template::literal(self.text(helper)));
        let host = |name: &str| self.env.get(name).map(str::to_owned);
        let Some(command) = expanded.helper_command(Some(self.project), host) else { return };
        let path = command.path().or(self.env.get("PATH"));
        let line = CommandLine { words: &command.line, cwd: command.cwd.as_deref(), path };
        self.command("headersHelper", &line);
        let to = format!("the program {}", line.program());
        self.sends(helper, &to);
        let passed = remote.env_pass.iter().map(|name| Sent::Variable(name.clone()));
        self.facts.extend(passed.map(|what| Fact::Sends { what, to: to.clone() }));
    }

    fn oauth(&mut self, oauth: &OAuth, server: &str) {
        let mut authorization = format!("the authorization server of {server}");
        for (field, url) in [
            ("oauth.authServerMetadataUrl", &oauth.metadata_url),
            ("oauth.authorizationUrl", &oauth.authorization_url),
            ("oauth.redirectUri", &oauth.redirect_uri),
            ("oauth.tokenUrl", &oauth.token_url),
        ] {
            if let Some(url) = url {
                let host = self.host(field, url);
                self.sends(url, &host);
                if field == "oauth.tokenUrl" {
                    authorization = host;
                }
            }
        }
        let secret = oauth.client_secret.as_ref().map(crate::model::SecretText::template);
        let sent = [oauth.client_id.as_ref(), oauth.resource.as_ref(), secret];
        for template in sent.into_iter().flatten() {
            self.sends(template, &authorization);
        }
    }

    /// The host as text, for the facts about values sent there.
    fn host(&mut self, field: &'static str, url: &Template) -> String {
        match self.value(url) {
            Ok(text) => {
                let host = crate::model::host(&text).unwrap_or_else(|| text.clone());
                self.facts.push(Fact::Host { field, host: host.clone() });
                host
            }
            Err(cause) => {
                self.facts.push(Fact::UnknownHost { field, missing: cause.missing() });
                "a host that is not known".to_owned()
            }
        }
    }

    fn command(&mut self, field: &'static str, line: &CommandLine<'_>) {
        self.facts.push(match line.find() {
            Some(path) => Fact::Program { field, path },
            None => Fact::NoProgram { field, name: line.program().to_owned() },
        });
        let shell = line.shell().map(|name| Fact::Shell { field, name: name.to_owned() });
        self.facts.extend(shell);
        let inside = line.inside(self.project).into_iter();
        self.facts.extend(inside.map(|(path, content)| Fact::InProject { path, content }));
    }

    fn sets(&mut self, variable: &str) {
        if changes_loading(variable) {
            self.facts.push(Fact::ChangesLoading { variable: variable.to_owned() });
        }
    }

    /// Adds each of the user's values that `template` refers to, set or not.
    fn sends(&mut self, template: &Template, to: &str) {
        let mut sent = Vec::new();
        template.visit_parts(&mut |part| match part {
            Part::Variable { name, .. } if !self.expander.defines(name) => {
                sent.push(Sent::Variable(name.to_string()));
            }
            Part::File(path) => sent.push(Sent::File(path.to_string())),
            Part::Secret(name) => sent.push(Sent::Secret(name.to_string())),
            Part::Input(id) => sent.push(Sent::Input(id.to_string())),
            _ => {}
        });
        self.facts.extend(sent.into_iter().map(|what| Fact::Sends { what, to: to.to_owned() }));
    }

    /// The value, computed from variables and files only. Inputs and secrets are not used, because the facts
    /// must not change once the user has provided them.
    fn value(&self, template: &Template) -> Result<String, ExpandCause> {
        let mut asks = None;
        template.visit_parts(&mut |part| match part {
            Part::Input(id) => asks = Some(ExpandCause::NoInput(id.to_string())),
            Part::Secret(name) => asks = Some(ExpandCause::NoSecret(name.to_string())),
            _ => {}
        });
        asks.map_or_else(|| self.expander.path_value(template), Err)
    }

    /// The value if it is known, else the text as written.
    fn text(&self, template: &Template) -> String {
        self.value(template).unwrap_or_else(|_| template.unexpanded().to_owned())
    }
}
