//! Expansion, at connect time, so that a rotated value is picked up.

use std::{error::Error, fmt, io::Read as _, ops::Deref, path::Path};

use crate::{
    environment::Environment,
    model::{OAuth, Remote, ServerConfig, Stdio, Transport},
    name::ServerName,
    secret_map::SecretMap,
    template::{Part, SecretText, Template},
};

/// Answers `${input:id}`. Asking is the host's business; see [`NoInputs`] for one that never does.
pub trait AskInput {
    /// The answer to the input called `id`, or `None` if there is none.
    fn input(&self, id: &str) -> Option<String>;
}

/// Has no answers.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a null object has nothing to grow")]
pub struct NoInputs;

impl AskInput for NoInputs {
    fn input(&self, _id: &str) -> Option<String> {
        None
    }
}

/// A server with every variable replaced. Printing it still shows the unexpanded text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expanded(ServerConfig);

impl Deref for Expanded {
    type Target = ServerConfig;

    fn deref(&self) -> &ServerConfig {
        &self.0
    }
}

/// Why a server could not be expanded. It names variables and fields, never values.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExpandError {
    /// The server.
    pub server: ServerName,
    /// The field, such as `headers.Authorization`.
    pub field: String,
    /// What was missing or wrong.
    pub cause: ExpandCause,
}

/// What was missing or wrong in one field.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExpandCause {
    /// A variable that is not set and has no default.
    Unset(String),
    /// An input nobody answered.
    NoInput(String),
    /// `${workspaceFolder}` without a workspace, or `~` without a home.
    NoFolder(&'static str),
    /// A file that could not be read.
    File(String, std::io::Error),
    /// A form we do not know, such as `${command:x}`.
    Unknown(String),
    /// The result can't be used there: a line break in a header, NUL anywhere.
    Unusable(&'static str),
}

impl fmt::Display for ExpandError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "server `{}`: `{}` ", self.server, self.field)?;
        match &self.cause {
            ExpandCause::Unset(name) => {
                write!(out, "needs the environment variable {name}, which is not set")
            }
            ExpandCause::NoInput(id) => write!(out, "needs the input `{id}`, which was not given"),
            ExpandCause::NoFolder(which) => write!(out, "needs {which}, which is not known"),
            ExpandCause::File(path, _) => {
                write!(out, "needs the file {path}, which could not be read")
            }
            ExpandCause::Unknown(text) => write!(out, "uses {text}, which is no variable we know"),
            ExpandCause::Unusable(why) => write!(out, "is unusable once expanded: it holds {why}"),
        }
    }
}

impl Error for ExpandError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.cause {
            ExpandCause::File(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Replaces every variable in every string of `config`. Values are not expanded a second time, so
/// a variable that mentions itself is harmless.
///
/// ```
/// use mcp_config::{Environment, NoInputs, Remote, ServerConfig, Transport, expand};
/// let mut remote = Remote::new("https://${HOST:-example.com}/mcp");
/// remote.headers.insert("Authorization", "Bearer ${TOKEN}".into());
/// let config = ServerConfig::new("x".parse()?, Transport::Http(remote));
///
/// let error = expand(&config, &Environment::empty(), &NoInputs).unwrap_err();
/// assert_eq!(error.to_string(),
///     "server `x`: `headers.Authorization` needs the environment variable TOKEN, which is not set");
///
/// let expanded = expand(&config, &Environment::empty().with("TOKEN", "abc"), &NoInputs)?;
/// let remote = expanded.transport.remote().unwrap();
/// assert_eq!(remote.url.expose(), "https://example.com/mcp");
/// assert_eq!(remote.headers.get("Authorization").unwrap().expose(), "Bearer abc");
/// assert!(!format!("{expanded:?}").contains("abc"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn expand(
    config: &ServerConfig,
    env: &Environment,
    ask: &dyn AskInput,
) -> Result<Expanded, ExpandError> {
    let mut expanded = config.clone();
    let entry_env = config.transport.remote().map(|remote| &remote.env);
    let variables = Expander { env, ask, entry_env };
    let result = match &mut expanded.transport {
        Transport::Stdio(stdio) => variables.stdio(stdio),
        Transport::Sdk(_) => Ok(()),
        other => other.remote_mut().map_or(Ok(()), |remote| variables.remote(remote)),
    };
    match result {
        Ok(()) => Ok(Expanded(expanded)),
        Err((field, cause)) => Err(ExpandError { server: config.name.clone(), field, cause }),
    }
}

type Failure = (String, ExpandCause);

struct Expander<'e> {
    env: &'e Environment,
    ask: &'e dyn AskInput,
    /// Variables the entry itself defines, seen first.
    entry_env: Option<&'e SecretMap>,
}

impl Expander<'_> {
    fn stdio(&self, stdio: &mut Stdio) -> Result<(), Failure> {
        self.path("command", &mut stdio.command)?;
        for (index, arg) in stdio.args.iter_mut().enumerate() {
            self.path(&format!("args[{index}]"), arg)?;
        }
        for (name, value) in stdio.env.iter_mut() {
            self.path(&format!("env.{name}"), &mut value.0)?;
        }
        self.optional_path("envFile", &mut stdio.env_file)?;
        self.optional_path("cwd", &mut stdio.cwd)
    }

    fn remote(&self, remote: &mut Remote) -> Result<(), Failure> {
        self.text("url", &mut remote.url)?;
        for (name, value) in remote.headers.iter_mut() {
            let field = format!("headers.{name}");
            self.text(&field, &mut value.0)?;
            if value.expose().contains(['\r', '\n']) {
                return Err((field, ExpandCause::Unusable("a line break")));
            }
        }
        self.optional_path("headersHelper", &mut remote.headers_helper)?;
        remote.oauth.as_mut().map_or(Ok(()), |oauth| self.oauth(oauth))?;
        let Some(tls) = &mut remote.tls else { return Ok(()) };
        self.optional_path("tls.ca", &mut tls.ca)?;
        self.optional_path("tls.cert", &mut tls.cert)?;
        self.optional_path("tls.key", &mut tls.key)
    }

    fn oauth(&self, oauth: &mut OAuth) -> Result<(), Failure> {
        if let Some(secret) = &mut oauth.client_secret {
            self.text("oauth.clientSecret", &mut secret.0)?;
        }
        let fields = [
            ("oauth.clientId", &mut oauth.client_id),
            ("oauth.redirectUri", &mut oauth.redirect_uri),
            ("oauth.authServerMetadataUrl", &mut oauth.metadata_url),
            ("oauth.authorizationUrl", &mut oauth.authorization_url),
            ("oauth.tokenUrl", &mut oauth.token_url),
            ("oauth.resource", &mut oauth.resource),
        ];
        for (field, template) in fields {
            if let Some(template) = template {
                self.text(field, template)?;
            }
        }
        Ok(())
    }

    fn optional_path(&self, field: &str, template: &mut Option<Template>) -> Result<(), Failure> {
        template.as_mut().map_or(Ok(()), |template| self.path(field, template))
    }

    /// Text where a leading `~` is the home directory.
    fn path(&self, field: &str, template: &mut Template) -> Result<(), Failure> {
        self.text(field, template)?;
        let value = template.expose();
        if value == "~" || value.starts_with("~/") || value.starts_with("~\\") {
            let home = self.home().map_err(|cause| (field.to_owned(), cause))?;
            let value = home + &value[1..];
            *template = template.with_value(value);
        }
        Ok(())
    }

    fn text(&self, field: &str, template: &mut Template) -> Result<(), Failure> {
        if !template.is_final() {
            let value = self.value(template).map_err(|cause| (field.to_owned(), cause))?;
            *template = template.with_value(value);
        }
        if template.expose().contains('\0') {
            return Err((field.to_owned(), ExpandCause::Unusable("a NUL character")));
        }
        Ok(())
    }

    fn value(&self, template: &Template) -> Result<String, ExpandCause> {
        if template.is_final() {
            return Ok(template.expose().to_owned());
        }
        let mut text = String::new();
        for part in template.parts() {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Variable { name, default } => match (self.variable(name), default) {
                    (Some(value), _) => text.push_str(value),
                    (None, Some(default)) => text.push_str(&self.value(default)?),
                    (None, None) => return Err(ExpandCause::Unset(name.to_string())),
                },
                Part::Input(id) => match self.ask.input(id) {
                    Some(answer) => text.push_str(&answer),
                    None => return Err(ExpandCause::NoInput(id.to_string())),
                },
                Part::File(path) => text.push_str(&self.file(path)?),
                Part::WorkspaceFolder => text.push_str(&self.workspace()?.to_string_lossy()),
                Part::WorkspaceName => {
                    let name = self.workspace()?.file_name().unwrap_or_default();
                    text.push_str(&name.to_string_lossy());
                }
                Part::UserHome => text.push_str(&self.home()?),
                Part::PathSeparator => text.push(std::path::MAIN_SEPARATOR),
                Part::Unknown(raw) => return Err(ExpandCause::Unknown(raw.to_string())),
            }
        }
        Ok(text)
    }

    /// A variable set to nothing counts as set: `:-` is for unset ones alone here, as `-` is in a
    /// shell.
    fn variable(&self, name: &str) -> Option<&str> {
        let own = self.entry_env.and_then(|env| env.get(name)).map(SecretText::expose);
        own.or_else(|| self.env.get(name))
    }

    fn workspace(&self) -> Result<&Path, ExpandCause> {
        self.env.workspace.as_deref().ok_or(ExpandCause::NoFolder("the workspace folder"))
    }

    fn home(&self) -> Result<String, ExpandCause> {
        let home = self.env.home.as_deref().ok_or(ExpandCause::NoFolder("the home directory"))?;
        Ok(home.to_string_lossy().into_owned())
    }

    /// `${file:path}`: a secret someone keeps in a file. Surrounding white space is not part of it.
    fn file(&self, path: &str) -> Result<String, ExpandCause> {
        const MAX: u64 = 64 << 10;
        let place = match path.strip_prefix("~/") {
            Some(rest) => Path::new(&self.home()?).join(rest),
            None if Path::new(path).is_absolute() => path.into(),
            None => self.workspace()?.join(path),
        };
        let failed = |error| ExpandCause::File(path.to_owned(), error);
        let metadata = std::fs::metadata(&place).map_err(failed)?;
        if !metadata.is_file() || metadata.len() > MAX {
            return Err(failed(std::io::Error::other("not a file of at most 64 KiB")));
        }
        let mut text = String::new();
        let file = std::fs::File::open(&place).map_err(failed)?;
        file.take(MAX).read_to_string(&mut text).map_err(failed)?;
        Ok(text.trim().to_owned())
    }
}
