//! What makes one dialect different from the next, as data.
//!
//! A [`Shape`] says where a file keeps its servers and which key holds which setting. The reader,
//! the writer, the hints about typos and the published schema all walk the same tables, so a
//! setting is described once per dialect and can't drift between them.

use crate::{scope::Scope, template::Syntax, text::Format};

/// One dialect.
pub(crate) struct Shape {
    /// Its name in messages.
    pub(crate) title: &'static str,
    pub(crate) format: Format,
    /// Whether the tool itself accepts comments and trailing commas.
    pub(crate) comments: bool,
    /// Where servers stand; the first is where new ones are written.
    pub(crate) sections: &'static [Section],
    pub(crate) fields: &'static [Field],
    /// Keys the tool knows and we have no use for: kept, and not worth a remark.
    pub(crate) opaque: &'static [&'static str],
    pub(crate) syntax: Syntax,
    /// The words for transports, in `type`; empty where the tool infers it.
    pub(crate) kinds: &'static [(&'static str, Kind)],
    /// Where "off" is written.
    pub(crate) switch: Switch,
}

/// A place servers stand in.
pub(crate) struct Section {
    pub(crate) path: &'static [Step],
    /// The scope these servers have, when it is not the document's.
    pub(crate) scope: Option<Scope>,
}

/// One step towards a section, or towards a list of names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Key(&'static str),
    /// The key that is the absolute path of the project at hand.
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

/// What a transport is called, before its details are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Stdio,
    Http,
    Sse,
    Ws,
    Sdk,
    /// `local` and `remote`: the entry's other fields say what exactly.
    Local,
    Remote,
    /// Runs only inside the tool the file belongs to.
    Foreign,
}

/// The setting a key holds. Several keys may hold one setting; the first in a table is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    Type,
    /// `transport`, where people write it for `type`: understood, with a remark.
    TypeAlias,
    Command,
    /// An array of the program and its arguments.
    CommandLine,
    Args,
    Env,
    /// As [`Slot::Env`], where `null` removes a variable and numbers are fine.
    EnvOrNull,
    EnvPass,
    EnvFile,
    Cwd,
    Url,
    /// An address under a key that settles the transport.
    UrlOf(Kind),
    Headers,
    /// Header names to variable names.
    HeaderVariables,
    /// The variable that holds a bearer token.
    BearerVariable,
    HeadersHelper,
    SdkServer,
    Enabled,
    /// As [`Slot::Enabled`], but always written: the tool insists.
    EnabledAlways,
    Disabled,
    Startup(Unit),
    Call(Unit),
    Total(Unit),
    Allow,
    Deny,
    AlwaysLoad,
    Trust,
    DescriptionLimit,
    OutputLimit,
    Connect,
    Era,
    Auth,
    Description,
    /// The server's own name once more; the tool insists.
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
    /// A nested object with fields of its own.
    Group(&'static [Field]),
    /// As a group, or `false`: do not sign in.
    OAuth(&'static [Field]),
}

/// What a number of a timeout counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Millis,
    Seconds,
    /// Milliseconds, where a value under a second is taken for a mistake and ignored.
    MillisFromOneSecond,
}

/// How a dialect says "off" for one server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    /// By a field of the entry.
    Field,
    /// By its name in a list elsewhere in the file.
    List(&'static [Step]),
    /// Not in this file.
    Nowhere,
}

impl Shape {
    /// Every key an entry may have at its top, for hints about typos.
    pub(crate) fn known_keys(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.key).chain(self.opaque.iter().copied())
    }
}
