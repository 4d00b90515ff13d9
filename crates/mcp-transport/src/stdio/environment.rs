//! Filters the host's environment for a server.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use mcp_safe::secrets::is_secret_name;

/// The part of the host's environment that a server inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "nothing, the safe list, the safe list for trusted servers, everything"
)]
pub enum Environment {
    /// The variables that programs need to start: paths, locale, terminal, display, proxies, certificate authorities,
    /// settings of package managers. Tokens and keys of the host's environment are withheld, and so are values of
    /// these variables that contain credentials, such as a proxy's URL with a password.
    #[default]
    Safe,
    /// The same, and the bus of the desktop session.
    Trusted,
    /// All variables, including secrets.
    All,
    /// No variables. PATH is set only if the options set it.
    Nothing,
}

/// Safe on every system.
const COMMON: &[&str] = &[
    "CURL_CA_BUNDLE",
    "DOCKER_HOST",
    "KUBECONFIG",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "VIRTUAL_ENV",
];

#[cfg(not(windows))]
const SAFE: &[&str] = &[
    "DISPLAY",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PWD",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
];

#[cfg(windows)]
const SAFE: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PSMODULEPATH",
    "PUBLIC",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Safe in any case of the name: programs differ in the case they use.
const ANY_CASE: &[&str] = &["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
/// Safe with any name that begins with these. Package managers read the last one in either case.
const FAMILIES: &[&str] = &["LC_", "PIP_", "UV_", "XDG_", "NPM_CONFIG_", "npm_config_"];
/// Safe for trusted servers: the programs on the bus act for the user.
const TRUSTED: &[&str] = &["DBUS_SESSION_BUS_ADDRESS"];
/// Passed only if named explicitly: it allows a process to log in as the user. Programs often need it nevertheless.
const NAMED: &[&str] = &["SSH_AUTH_SOCK"];

/// Returns the whole environment of a server: the inherited variables, overridden by the given ones.
pub(super) fn for_server(
    inherit: Environment,
    given: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    filtered(std::env::vars_os(), inherit, given)
}

/// Returns the variables that programs often need, that are set for the host and withheld from the server.
pub(super) fn withheld(inherit: Environment, given: &BTreeMap<OsString, OsString>) -> Vec<String> {
    withheld_of(std::env::vars_os(), inherit, given)
}

fn withheld_of(
    host: impl Iterator<Item = (OsString, OsString)>,
    inherit: Environment,
    given: &BTreeMap<OsString, OsString>,
) -> Vec<String> {
    let names = host.filter_map(|(name, value)| {
        let is_withheld = is_wanted(name.to_str()?)
            && !value.is_empty()
            && !given.contains_key(&name)
            && !passes(inherit, &name, &value);
        is_withheld.then(|| name.to_string_lossy().into_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

fn filtered(
    host: impl Iterator<Item = (OsString, OsString)>,
    inherit: Environment,
    given: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<_, _> = host
        .filter(|(name, value)| passes(inherit, name, value))
        .map(|(name, value)| (canonical(name), value))
        .collect();
    env.extend(given.iter().map(|(name, value)| (canonical(name.clone()), value.clone())));
    env
}

fn passes(inherit: Environment, name: &OsStr, value: &OsStr) -> bool {
    let extra: &[&str] = match inherit {
        Environment::Nothing => return false,
        Environment::All => return true,
        Environment::Trusted => TRUSTED,
        Environment::Safe => &[],
    };
    let Some(name) = name.to_str() else { return false };
    // A value that starts like this is a shell function, and a shell would execute its code.
    let is_function = value.as_encoded_bytes().starts_with(b"()");
    (is_safe(name) || extra.contains(&name)) && !is_function && !holds_credentials(name, value)
}

fn is_safe(name: &str) -> bool {
    let same = |safe: &&str| {
        if cfg!(windows) { safe.eq_ignore_ascii_case(name) } else { *safe == name }
    };
    COMMON.iter().chain(SAFE).any(same)
        || ANY_CASE.iter().any(|safe| safe.eq_ignore_ascii_case(name))
        || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Whether programs often need the variable.
fn is_wanted(name: &str) -> bool {
    is_safe(name) || TRUSTED.contains(&name) || NAMED.contains(&name)
}

/// Whether a permitted variable contains credentials: by its name, as `UV_PUBLISH_TOKEN`, or as a user in a URL.
fn holds_credentials(name: &str, value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let has_user = |url: &str| {
        let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
        authority.contains('@')
    };
    // A package index may have several URLs. The URL of a proxy may lack the scheme.
    let mut urls = value.split("://").skip(1);
    let is_family = FAMILIES.iter().any(|family| name.starts_with(family));
    let is_proxy = ANY_CASE.iter().any(|proxy| proxy.eq_ignore_ascii_case(name));
    urls.any(has_user)
        || is_proxy && has_user(&value)
        || is_family && (is_secret_name(name) || name.to_ascii_lowercase().contains("auth"))
}

/// Windows treats `Path` and `PATH` as the same name, so the map must do so too.
fn canonical(name: OsString) -> OsString {
    if cfg!(windows) { name.to_ascii_uppercase() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(inherit: Environment) -> Vec<String> {
        let host = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("GITHUB_TOKEN", "secret"),
            ("SHELL", "() { :;}; echo"),
        ];
        let host = host.into_iter().map(|(k, v)| (k.into(), v.into()));
        let given = BTreeMap::from([("KEY".into(), "given".into())]);
        let env = filtered(host, inherit, &given);
        env.into_keys().map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn secrets_of_the_host_stay_with_the_host() {
        assert_eq!(names(Environment::Safe), ["KEY", "LC_ALL", "PATH"]);
    }

    /// Returns the names passed and the names withheld, of variables that are set for the host.
    fn judged(inherit: Environment, host: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let host = || host.iter().map(|(name, value)| (name.into(), value.into()));
        let given = BTreeMap::new();
        let passed = filtered(host(), inherit, &given);
        let passed = passed.into_keys().map(|name| name.into_string().unwrap()).collect();
        (passed, withheld_of(host(), inherit, &given))
    }

    #[test]
    fn variables_that_programs_need_to_start_are_passed() {
        let host = [
            ("CURL_CA_BUNDLE", "/ca"),
            ("DISPLAY", ":0"),
            ("DOCKER_HOST", "unix:///run/docker.sock"),
            ("HTTPS_PROXY", "http://proxy.test:3128"),
            ("KUBECONFIG", "/k"),
            ("LC_TIME", "C"),
            ("NODE_EXTRA_CA_CERTS", "/ca"),
            ("NPM_CONFIG_REGISTRY", "https://npm.test/"),
            ("PIP_INDEX_URL", "https://pypi.test/simple"),
            ("SSL_CERT_FILE", "/ca"),
            ("UV_CACHE_DIR", "/c"),
            ("VIRTUAL_ENV", "/v"),
            ("WAYLAND_DISPLAY", "wayland-0"),
            ("XDG_SESSION_TYPE", "wayland"),
            ("no_proxy", "localhost,.test"),
            ("npm_config_cache", "/c"),
        ];
        let (passed, withheld) = judged(Environment::Safe, &host);
        assert_eq!(passed, host.map(|(name, _)| name));
        assert!(withheld.is_empty(), "{withheld:?}");
    }

    #[test]
    fn values_with_credentials_are_withheld() {
        let host = [
            ("ALL_PROXY", "u:p@proxy.test:1080"),
            ("DOCKER_HOST", "tcp://u:p@docker.test"),
            ("NPM_CONFIG__AUTH", "dTpw"),
            ("PIP_EXTRA_INDEX_URL", "https://a.test/x https://u:p@b.test/simple"),
            ("UV_PUBLISH_TOKEN", "t"),
            ("http_proxy", "http://u:p@proxy.test:3128"),
            ("npm_config_//npm.test/:_authToken", "t"),
        ];
        let (passed, withheld) = judged(Environment::Safe, &host);
        assert!(passed.is_empty(), "{passed:?}");
        assert_eq!(withheld, host.map(|(name, _)| name));
        let (_, withheld) = judged(Environment::All, &host);
        assert!(withheld.is_empty(), "{withheld:?}");
        // An `@` after the host does not mark a user.
        let scoped = [("NPM_CONFIG_REGISTRY", "https://npm.test/@scope")];
        assert_eq!(judged(Environment::Safe, &scoped).0.len(), 1);
    }

    #[test]
    fn the_session_bus_is_for_trusted_servers_and_the_agent_for_those_that_name_it() {
        let host = [("DBUS_SESSION_BUS_ADDRESS", "unix:path=/b"), ("SSH_AUTH_SOCK", "/a")];
        let [bus, agent] = host.map(|(name, _)| name.to_owned());
        assert_eq!(judged(Environment::Safe, &host), (vec![], vec![bus.clone(), agent.clone()]));
        assert_eq!(judged(Environment::Trusted, &host), (vec![bus], vec![agent.clone()]));
        let given = BTreeMap::from([(agent.into(), OsString::from("/a"))]);
        let host = host.into_iter().map(|(name, value)| (name.into(), value.into()));
        assert_eq!(withheld_of(host, Environment::Trusted, &given), [""; 0]);
    }

    #[test]
    fn everything_or_nothing_on_request() {
        assert_eq!(names(Environment::All), ["GITHUB_TOKEN", "KEY", "LC_ALL", "PATH", "SHELL"]);
        assert_eq!(names(Environment::Nothing), ["KEY"]);
    }

    #[test]
    fn explicit_variables_override_inherited_ones() {
        let host = [("PATH".into(), "/bin".into())].into_iter();
        let given = BTreeMap::from([(OsString::from("PATH"), OsString::from("/own"))]);
        assert_eq!(filtered(host, Environment::Safe, &given), given);
    }
}
