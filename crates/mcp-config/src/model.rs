//! The dialect-independent model: a server, its name, its scope, and templates with variables.

mod address;
mod differences;
pub(crate) mod glob;
mod helper;
mod host;
mod lines;
mod loading;
pub(crate) mod name;
pub(crate) mod scope;
mod secret_map;
pub(crate) mod server;
mod setters;
mod shown;
mod spelling;
pub(crate) mod template;
mod values;

// Exported by the crate root.
pub(crate) use self::{
    address::{
        SOCKETS, clean, has_user, hides_host, host, normalise, shown_url, socket_path, unescape,
    },
    differences::differences,
    helper::{is_path, path_in},
    lines::lines,
    loading::changes_loading,
    shown::{shown_args, shown_word},
    spelling::edits,
    template::{Part, Syntax},
};
pub use self::{
    glob::matches as glob_matches,
    helper::HelperCommand,
    host::{HostSettings, RetrySettings, RuleAction, TrustRule},
    name::NameError,
    scope::Precedence,
    secret_map::SecretMap,
    server::{
        AlwaysLoad, AuthKind, ConnectMode, EraPin, InheritEnv, Limits, OAuth, Timeouts, Tls,
        ToolFilter,
    },
    values::Value,
};
pub(crate) use self::{
    name::ServerName,
    scope::Scope,
    server::{Remote, Sdk, ServerConfig, Stdio, Transport},
    template::{SecretText, Template},
};
