//! What a server gets to see of the host's environment.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

/// What of the host's environment a server inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "nothing, what is safe, or everything")]
pub enum Environment {
    /// What programs need to run at all: paths, locale, terminal, temporary directories. Tokens and
    /// keys that happen to be in the host's environment stay there.
    #[default]
    Safe,
    /// Everything, secrets included.
    All,
    /// Nothing. PATH is then only what the options give.
    Nothing,
}

#[cfg(not(windows))]
const SAFE: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "PWD",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
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
    "PATH",
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

/// The whole environment of a server: what it inherits, and over that what it is given.
pub(super) fn for_server(
    inherit: Environment,
    given: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    filtered(std::env::vars_os(), inherit, given)
}

fn filtered(
    host: impl Iterator<Item = (OsString, OsString)>,
    inherit: Environment,
    given: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let passes = |name: &OsStr, value: &OsStr| match inherit {
        Environment::Nothing => false,
        Environment::All => true,
        // A value that starts like this is a shell function, which a shell would run code from.
        Environment::Safe => is_safe(name) && !value.as_encoded_bytes().starts_with(b"()"),
    };
    let mut env: BTreeMap<_, _> = host
        .filter(|(name, value)| passes(name, value))
        .map(|(name, value)| (canonical(name), value))
        .collect();
    env.extend(given.iter().map(|(name, value)| (canonical(name.clone()), value.clone())));
    env
}

fn is_safe(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        let same = |safe: &&str| {
            if cfg!(windows) { safe.eq_ignore_ascii_case(name) } else { *safe == name }
        };
        SAFE.iter().any(same) || name.starts_with("LC_")
    })
}

/// Windows does not tell `Path` from `PATH`, so neither may our map.
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

    #[test]
    fn everything_or_nothing_on_request() {
        assert_eq!(names(Environment::All), ["GITHUB_TOKEN", "KEY", "LC_ALL", "PATH", "SHELL"]);
        assert_eq!(names(Environment::Nothing), ["KEY"]);
    }

    #[test]
    fn what_is_given_wins() {
        let host = [("PATH".into(), "/bin".into())].into_iter();
        let given = BTreeMap::from([(OsString::from("PATH"), OsString::from("/own"))]);
        assert_eq!(filtered(host, Environment::Safe, &given), given);
    }
}
