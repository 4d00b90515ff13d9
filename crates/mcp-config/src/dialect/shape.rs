//! The type of the tables that describe dialects.
//!
//! A [`Shape`] says where a file keeps its servers and which key holds which setting. The reader, the writer,
//! the hints about typos and the published schema all use the same tables, so each setting is described once
//! per dialect.

use crate::{
    format::Format,
    model::{Scope, Syntax},
};

/// The top-level keys that are host settings.
pub(crate) const HOST_KEYS: [&str; 8] = [
    "tool_search",
    "lazyLoading",
    "summaryDescriptionLimit",
    "maxToolsPerSearch",
    "alwaysLoadTools",
    "retry",
    "sandboxMinimum",
    "trustRules",
];

/// The description of one dialect.
pub(crate) struct Shape {
    /// Its name in messages.
    pub(crate) title: &'static str,
    pub(crate) format: Format,
    /// Whether the tool itself accepts comments and trailing commas.
    pub(crate) comments: bool,
    /// The locations of servers; new ones are written to the first.
    pub(crate) sections: &'static [Section],
    pub(crate) fields: &'static [Field],
    /// Keys that the tool defines and we do not use: preserved without a diagnostic.
    pub(crate) opaque: &'static [&'static str],
    pub(crate) syntax: Syntax,
    /// The values of `type`; empty if the tool infers the transport.
    pub(crate) kinds: &'static [(&'static str, Kind)],
    /// How a server is disabled.
    pub(crate) switch: Switch,
}

/// A location of servers in a file.
pub(crate) struct Section {
    pub(crate) path: &'static [Step],
    /// The scope of these servers, if it differs from the document's.
    pub(crate) scope: Option<Scope>,
}

/// One step on the path to a section or a list of names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Key(&'static str),
    /// The absolute path of the current project, used as a key.
    Project,
}

#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) slot: Slot,
}

pub(crate) const fn field(key: &'static str, slot: Slot) -> Field {
    Field { key, slot }
}

/// The kind of transport, before its details are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Stdio,
    Http,
    Sse,
    Ws,
    Sdk,
    /// `local` and `remote`: the exact transport depends on the entry's other fields.
    Local,
    Remote,
    /// Runs only inside the tool that the file belongs to.
    Foreign,
}

/// The setting that a key holds. Several keys may hold one setting; the writer uses the first in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    Type,
    /// `transport` written for `type`: accepted with a warning.
    TypeAlias,
    Command,
    /// An array of the program and its arguments.
    CommandLine,
    Args,
    /// Like [`Slot::Args`], but always written because the protocol requires it.
    ArgsAlways,
    Env,
    /// Like [`Slot::Env`], but `null` removes a variable and numbers are allowed.
    EnvOrNull,
    /// Variables as an array of `name` and `value`, always written.
    EnvPairs,
    EnvPass,
    InheritEnv,
    EnvFile,
    Cwd,
    /// The sandbox: the name of a level, or an object.
    Sandbox,
    Url,
    /// A URL whose key determines the transport.
    UrlOf(Kind),
    Headers,
    /// Headers as an array of `name` and `value`, always written.
    HeaderPairs,
    /// Names of headers mapped to names of variables.
    HeaderVariables,
    /// The variable that holds a bearer token.
    BearerVariable,
    HeadersHelper,
    SdkServer,
    Enabled,
    /// Like [`Slot::Enabled`], but always written because the tool requires it.
    EnabledAlways,
    Disabled,
    Startup(Unit),
    Call(Unit),
    Total(Unit),
    Allow,
    /// Like [`Slot::Allow`], but `["*"]` means every tool; always written.
    AllowAlways,
    Deny,
    AlwaysLoad,
    Trust,
    DescriptionLimit,
    OutputLimit,
    Connect,
    Era,
    Auth,
    Description,
    /// The server's name again, because the tool requires it.
    NameAgain,
    ClientId,
    ClientSecret,
    Scopes,
    /// Scopes in one string, separated by spaces.
    ScopesText,
    CallbackPort,
    RedirectUri,
    MetadataUrl,
    AuthorizationUrl,
    TokenUrl,
    Resource,
    OAuthEnabled,
    TlsCa,
    TlsCert,
    TlsKey,
    /// A nested object with its fields.
    Group(&'static [Field]),
    /// Like a group, or `false` to disable the login.
    OAuth(&'static [Field]),
}

/// The unit of a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Millis,
    Seconds,
    /// Milliseconds, where a value under a second is considered a mistake and ignored.
    MillisFromOneSecond,
}

/// How a dialect disables one server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    /// With a field of the entry.
    Field,
    /// With its name in a list elsewhere in the file.
    List(&'static [Step]),
    /// Not supported in this file.
    Nowhere,
}

impl Shape {
    /// All top-level keys of an entry, for hints about typos.
    pub(crate) fn known_keys(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.key).chain(self.opaque.iter().copied())
    }
}
