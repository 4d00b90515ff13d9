//! Expansion of variables. It happens for each connection, so that rotated secrets are picked up.

use std::{
    error::Error,
    fmt, io,
    ops::Deref,
    path::{Path, PathBuf},
};

mod env_file;
pub(crate) mod environment;

pub(crate) use self::{env_file::EnvFile, environment::Environment};
use crate::model::{
    OAuth, Part, Remote, SecretMap, SecretText, ServerConfig, ServerName, Stdio, Template,
    Transport,
};

/// Provides the values of `${input:id}` and `${secret:name}`. [`NoInputs`] provides none.
pub trait AskInput {
    /// The value of the input called `id`, or `None` if there is none.
    fn input(&self, id: &str) -> Option<String>;

    /// The secret called `name` in the host's secret store. Returns `None` by default.
    fn secret(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }
}

/// An implementation without values.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a null object has nothing to grow")]
pub struct NoInputs;

impl AskInput for NoInputs {
    fn input(&self, _id: &str) -> Option<String> {
        None
    }
}

/// A server with all variables replaced. The variables of its `envFile` are in its `env`. `Debug` still prints the
/// unexpanded text.
#[derive(Clone, PartialEq)]
pub struct Expanded {
    config: ServerConfig,
    /// The file that was read, so that an approval is compared with the content that is used.
    pub(crate) env_file: Option<EnvFile>,
}

impl Deref for Expanded {
    type Target = ServerConfig;

    fn deref(&self) -> &ServerConfig {
        &self.config
    }
}

impl fmt::Debug for Expanded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Expanded").field(&self.config).finish()
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
    /// The cause.
    pub cause: ExpandCause,
}

/// The cause of a failed expansion of one field.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExpandCause {
    /// A variable that is not set and has no default.
    Unset(String),
    /// An input without a value.
    NoInput(String),
    /// A secret that the secret store does not have.
    NoSecret(String),
    /// `${workspaceFolder}` without a workspace, or `~` without a home.
    NoFolder(&'static str),
    /// A file that could not be read.
    File(String, io::Error),
    /// An unknown variable form, such as `${command:x}`.
    Unknown(String),
    /// The value is invalid in this field: a line break in a header, NUL anywhere.
    Unusable(&'static str),
}

impl ExpandCause {
    /// The missing variable or file, as written in an entry.
    pub(crate) fn missing(&self) -> String {
        match self {
            Self::Unset(name) => format!("${name}"),
            Self::NoInput(id) => format!("${{input:{id}}}"),
            Self::NoSecret(name) => format!("${{secret:{name}}}"),
            Self::NoFolder(which) => (*which).to_owned(),
            Self::File(path, _) => format!("the file {path}"),
            Self::Unknown(text) => text.clone(),
            Self::Unusable(why) => format!("a value without {why}"),
        }
    }
}

impl fmt::Display for ExpandError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "server `{}`: `{}` ", self.server, self.field)?;
        match &self.cause {
            ExpandCause::Unset(name) => {
                write!(out, "needs the environment variable {name}, which is not set")
            }
            ExpandCause::NoInput(id) => write!(out, "needs the input `{id}`, which was not given"),
            ExpandCause::NoSecret(name) => write!(
                out,
                "needs the secret `{name}`, which is not stored; run `mcp secret set {name}`"
            ),
            ExpandCause::NoFolder(which) => write!(out, "needs {which}, which is not known"),
            ExpandCause::File(path, _) => {
                write!(out, "needs the file {path}, which could not be read")
            }
            ExpandCause::Unknown(text) => write!(out, "uses {text}, which is not a known variable"),
            ExpandCause::Unusable(why) => {
                write!(out, "is invalid after expansion: it contains {why}")
            }
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

/// Replaces every variable in every string of `config`. Values are not expanded again, so a variable that
/// refers to itself is harmless.
///
/// Reads the files that the entry names in `${file:…}` and as `envFile`, up to 64 KiB each. The variables of an `envFile`
/// are added to `env`, whose values take precedence.
///
/// ```
/// use mcp_config::{Environment, Remote, ServerConfig, Transport, expand, expand::NoInputs};
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
    let variables = Expander::new(config, env, ask);
    let result = match &mut expanded.transport {
        Transport::Stdio(stdio) => variables.stdio(stdio),
        Transport::Sdk(_) => Ok(None),
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            variables.remote(remote).map(|()| None)
        }
    };
    match result {
        Ok(env_file) => Ok(Expanded { config: expanded, env_file }),
        Err((field, cause)) => Err(ExpandError { server: config.name.clone(), field, cause }),
    }
}

/// Whether a path begins with `~`. `~other`, the home of another user, is not supported.
fn begins_at_home(path: &str) -> bool {
    path == "~" || path.starts_with("~/") || path.starts_with("~\\")
}

type Failure = (String, ExpandCause);

/// A text file of limited size.
struct File {
    path: PathBuf,
    text: String,
}

/// Replaces the variables of one entry.
pub(crate) struct Expander<'e> {
    env: &'e Environment,
    ask: &'e dyn AskInput,
    /// Variables that the entry defines, which take precedence.
    entry_env: Option<&'e SecretMap>,
}

impl<'e> Expander<'e> {
    pub(crate) fn new(
        config: &'e ServerConfig,
        env: &'e Environment,
        ask: &'e dyn AskInput,
    ) -> Self {
        Self { env, ask, entry_env: config.transport.remote().map(|remote| &remote.env) }
    }

    /// Whether the entry defines `name`, so that the user's variable is not read.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.entry_env.is_some_and(|env| env.contains(name))
    }

    /// The value, or the unexpanded text if it is unknown or in a file. For comparisons, never for
    /// connections.
    pub(crate) fn text(&self, template: &Template) -> String {
        let mut reads = false;
        template.visit_parts(&mut |part| reads |= matches!(part, Part::File(_)));
        let value = if reads { None } else { self.value(template).ok() };
        value.unwrap_or_else(|| template.unexpanded().to_owned())
    }

    /// The value of a field where a leading `~` is the home directory.
    pub(crate) fn path_value(&self, template: &Template) -> Result<String, ExpandCause> {
        let value = self.value(template)?;
        if begins_at_home(&value) { Ok(self.home()? + &value[1..]) } else { Ok(value) }
    }

    fn stdio(&self, stdio: &mut Stdio) -> Result<Option<EnvFile>, Failure> {
        self.path("command", &mut stdio.command)?;
        for (index, arg) in stdio.args.iter_mut().enumerate() {
            self.path(&format!("args[{index}]"), arg)?;
        }
        for (name, value) in stdio.env.iter_mut() {
            self.path(&format!("env.{name}"), &mut value.0)?;
        }
        self.optional_path("envFile", &mut stdio.env_file)?;
        self.optional_path("cwd", &mut stdio.cwd)?;
        let Some(path) = &stdio.env_file else { return Ok(None) };
        let file = self.env_file(path.expose()).map_err(|cause| ("envFile".to_owned(), cause))?;
        file.add_to(&mut stdio.env);
        Ok(Some(file))
    }

    fn remote(&self, remote: &mut Remote) -> Result<(), Failure> {
        self.fill("url", &mut remote.url)?;
        for (name, value) in remote.headers.iter_mut() {
            let field = format!("headers.{name}");
            self.fill(&field, &mut value.0)?;
            // A line break would begin another header: <https://www.rfc-editor.org/rfc/rfc9110#section-5.5>.
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
            self.fill("oauth.clientSecret", &mut secret.0)?;
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
                self.fill(field, template)?;
            }
        }
        Ok(())
    }

    fn optional_path(&self, field: &str, template: &mut Option<Template>) -> Result<(), Failure> {
        template.as_mut().map_or(Ok(()), |template| self.path(field, template))
    }

    /// Expands a field where a leading `~` is the home directory.
    fn path(&self, field: &str, template: &mut Template) -> Result<(), Failure> {
        self.fill(field, template)?;
        if begins_at_home(template.expose()) {
            let home = self.home().map_err(|cause| (field.to_owned(), cause))?;
            *template = template.with_home(&home);
        }
        Ok(())
    }

    fn fill(&self, field: &str, template: &mut Template) -> Result<(), Failure> {
        if !template.is_final() {
            let value = self.value(template).map_err(|cause| (field.to_owned(), cause))?;
            *template = template.with_value(value);
        }
        // The system ends arguments, variables and paths at NUL, so a program would get another text than was judged.
        if template.expose().contains('\0') {
            return Err((field.to_owned(), ExpandCause::Unusable("a NUL character")));
        }
        Ok(())
    }

    pub(crate) fn value(&self, template: &Template) -> Result<String, ExpandCause> {
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
                // The line break at the end of a file does not belong to the secret in it.
                Part::File(path) => text.push_str(self.file(path)?.text.trim()),
                Part::Secret(name) => match self.ask.secret(name) {
                    Some(secret) => text.push_str(&secret),
                    None => return Err(ExpandCause::NoSecret(name.to_string())),
                },
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

    /// An empty variable counts as set: unlike in a shell, `:-` applies only to unset variables.
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

    /// A file that the entry names. Relative paths begin at the workspace folder.
    fn file(&self, path: &str) -> Result<File, ExpandCause> {
        const MAX: usize = 64 << 10;
        let place = match path.strip_prefix("~/") {
            Some(rest) => Path::new(&self.home()?).join(rest),
            None if Path::new(path).is_absolute() => path.into(),
            None => self.workspace()?.join(path),
        };
        let failed = |error| ExpandCause::File(path.to_owned(), error);
        let bytes = mcp_safe::fs::read(&place, MAX).map_err(failed)?;
        let bytes = bytes.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let text = String::from_utf8(bytes)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        if text.contains('\0') {
            return Err(ExpandCause::Unusable("a NUL character"));
        }
        Ok(File { path: place, text })
    }
}
