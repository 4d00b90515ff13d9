//! The rules for one start of one server, in the form that the launcher applies.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

#[cfg(any(target_os = "linux", test))]
use crate::{error::ProfileError, fields::Fields, profile::read_limits};
use crate::{
    host::HostRule,
    profile::{Limits, limits_to_json},
};

/// The longest text of rules. Linux passes arguments of up to 128 KiB.
pub(crate) const MAX_RULES: usize = 96 << 10;

/// Everything the launcher needs to know. Made by [`Profile::resolve`](crate::Profile::resolve).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The user's home, replaced by a private one.
    pub(crate) home: PathBuf,
    /// Where the private home and the server's part of shared caches are kept between starts.
    pub(crate) state: PathBuf,
    /// The working directory.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// Shared caches: readable, with writes kept in `state`.
    pub(crate) caches: Vec<PathBuf>,
    /// Below a writable folder, not writable.
    pub(crate) protect: Vec<PathBuf>,
    /// Below a readable folder, empty.
    pub(crate) hide: Vec<PathBuf>,
    /// Symbolic links on the way to something granted: the link, then its target.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    pub(crate) network: Network,
    pub(crate) required: bool,
    pub(crate) limits: Limits,
}

/// The network of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    Open,
    /// A loopback interface, and these hosts.
    Hosts(Vec<HostRule>),
}

impl Rules {
    /// Files and folders that the server may read, without the system's.
    pub fn readable(&self) -> impl Iterator<Item = &Path> {
        self.read.iter().chain(&self.caches).map(PathBuf::as_path)
    }

    /// Files and folders that the server may change.
    pub fn writable(&self) -> impl Iterator<Item = &Path> {
        self.write.iter().map(PathBuf::as_path)
    }

    /// The hosts that the server may reach. `None`: all of them.
    pub fn hosts(&self) -> Option<&[HostRule]> {
        match &self.network {
            Network::Open => None,
            Network::Hosts(hosts) => Some(hosts),
        }
    }

    /// Whether a path was granted, by itself or as part of a folder, beyond the parts of the system.
    #[cfg(target_os = "linux")]
    pub(crate) fn names(&self, path: &Path) -> bool {
        let is_system = |granted: &Path| {
            crate::places::SYSTEM.iter().any(|system| granted == Path::new(system))
        };
        let mut granted = self.readable().chain(self.writable());
        granted.any(|granted| path.starts_with(granted) && !is_system(granted))
    }

    /// Whether the server sees the user's home, read-only, and not a private one: its profile reads `~`.
    #[cfg(target_os = "linux")]
    pub(crate) fn shows_home(&self) -> bool {
        self.read.contains(&self.home)
    }

    pub(crate) fn to_json(&self) -> Value {
        let links = self.links.iter().flat_map(|(link, target)| [text(link), text(target)]);
        let mut object = json!({
            "home": text(&self.home),
            "state": text(&self.state),
            "read": texts(&self.read),
            "write": texts(&self.write),
            "caches": texts(&self.caches),
            "protect": texts(&self.protect),
            "hide": texts(&self.hide),
            "links": links.collect::<Vec<_>>(),
            "required": self.required,
            "limits": limits_to_json(&self.limits),
        });
        if let Some(cwd) = &self.cwd {
            object["cwd"] = text(cwd).into();
        }
        if let Network::Hosts(hosts) = &self.network {
            object["hosts"] = hosts.iter().map(ToString::to_string).collect();
        }
        object
    }

    /// Reads what [`to_json`](Self::to_json) wrote. Strict, because an entry that is lost would be a hole.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn from_json(value: &Value) -> Result<Self, ProfileError> {
        let mut fields = Fields::new(value)?;
        let cwd = fields.take("cwd");
        let cwd = cwd.map(|cwd| Fields::new(&json!({ "cwd": cwd }))?.path("cwd")).transpose()?;
        let links = fields.paths("links")?;
        if links.len() % 2 != 0 {
            return Err(ProfileError::new("links", "has a link without a target"));
        }
        let pairs = links.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        let network = match fields.take("hosts") {
            None => Network::Open,
            Some(hosts) => {
                let hosts = Fields::new(&json!({ "hosts": hosts }))?.strings("hosts")?;
                Network::Hosts(hosts.iter().map(|host| host.parse()).collect::<Result<_, _>>()?)
            }
        };
        let limits =
            fields.take("limits").ok_or_else(|| ProfileError::new("limits", "is missing"))?;
        let required = fields.boolean("required")?;
        let rules = Self {
            home: fields.path("home")?,
            state: fields.path("state")?,
            cwd,
            read: fields.paths("read")?,
            write: fields.paths("write")?,
            caches: fields.paths("caches")?,
            protect: fields.paths("protect")?,
            hide: fields.paths("hide")?,
            links: pairs.collect(),
            network,
            required: required.ok_or_else(|| ProfileError::new("required", "is missing"))?,
            limits: read_limits(&limits)?,
        };
        fields.finish()?;
        Ok(rules)
    }
}

fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| text(path)).collect()
}

/// Paths in rules are UTF-8: `resolve` refuses others.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn rules() -> Rules {
        Rules {
            home: "/users/u".into(),
            state: "/users/u/.local/state/mcp/sandbox/s".into(),
            cwd: Some("/projects/p".into()),
            read: vec!["/usr".into()],
            write: vec!["/projects/p".into()],
            caches: vec!["/users/u/.npm".into()],
            protect: vec!["/projects/p/.git/hooks".into()],
            hide: vec!["/projects/p/.ssh".into()],
            links: vec![("/users/u/.nvm".into(), "/data/nvm".into())],
            network: Network::Hosts(vec!["a.test".parse().unwrap()]),
            required: true,
            limits: Limits::default(),
        }
    }

    #[test]
    fn written_rules_are_read_back() {
        let given = rules();
        assert_eq!(Rules::from_json(&given.to_json()).unwrap(), given);
        let open = Rules { network: Network::Open, cwd: None, required: false, ..given };
        assert_eq!(Rules::from_json(&open.to_json()).unwrap(), open);
    }

    #[test]
    fn rules_with_a_missing_extra_or_wrong_member_are_refused() {
        let good = rules().to_json();
        for name in ["home", "state", "required", "limits"] {
            let mut value = good.clone();
            value.as_object_mut().unwrap().remove(name);
            assert_eq!(Rules::from_json(&value).unwrap_err().member(), name);
        }
        for (name, wrong) in [
            ("more", json!(1)),
            ("home", json!("relative")),
            ("read", json!(["/a/../b"])),
            ("write", json!("/a")),
            ("links", json!(["/a"])),
            ("hosts", json!(["10.0.0.1"])),
            ("cwd", json!("..")),
        ] {
            let mut value = good.clone();
            value[name] = wrong;
            assert_eq!(Rules::from_json(&value).unwrap_err().member(), name);
        }
    }

    proptest! {
        #[test]
        fn any_path_survives(part in "[^/\u{0}]{1,20}") {
            prop_assume!(part != "." && part != "..");
            let given = Rules { read: vec![Path::new("/").join(&part)], ..rules() };
            prop_assert_eq!(Rules::from_json(&given.to_json()).unwrap(), given);
        }
    }
}
