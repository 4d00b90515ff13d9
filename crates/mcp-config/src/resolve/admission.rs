//! The last check before a connection: expands the resolved entry and checks it again.

use std::{collections::HashMap, error::Error, fmt, path::PathBuf, sync::Arc};

use super::{
    disclosure::Disclosure,
    fingerprint::Fingerprint,
    layers::Layers,
    resolution::{Candidate, Resolution},
};
use crate::{
    dialect::Entry,
    expand::{AskInput, Environment, ExpandError, Expanded, expand},
    model::{Scope, ServerConfig, ServerName},
    policy::{Policy, Refusal},
};

/// The servers that may be started or connected to: the active servers of a resolution, with its policy and
/// the approved fingerprints.
///
/// A connector calls [`Admissions::expand`] before every connection and uses only its result.
///
/// ```
/// use mcp_config::{Document, Environment, Layers, ReadOptions, Scope, read, resolve, approval::Admissions, expand::NoInputs};
/// let text = br#"{ "mcpServers": { "x": { "url": "https://${HOST}/mcp" } },
///     "policy": { "deny": [{ "url": "https://evil.test/*" }] } }"#;
/// let mut layers = Layers::new();
/// layers.push(Scope::User, read(text, &ReadOptions::new("mcp.json")));
/// layers.env = Environment::empty().with("HOST", "good.test");
/// let resolution = resolve(&layers);
/// let config = &resolution.get("x").unwrap().entry.config;
///
/// let admissions = Admissions::new(&layers, &resolution);
/// assert!(admissions.expand(config, &layers.env, &NoInputs).is_ok());
/// let changed = Environment::empty().with("HOST", "evil.test");
/// assert!(admissions.expand(config, &changed, &NoInputs).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Admissions {
    policy: Policy,
    project: PathBuf,
    servers: HashMap<ServerName, Admitted>,
}

#[derive(Clone, Debug)]
struct Admitted {
    entry: Arc<Entry>,
    scope: Scope,
    /// The approved fingerprint, for an entry that needs approval.
    approved: Option<Fingerprint>,
}

/// Why a server may not be connected to. Nothing was started.
#[derive(Debug)]
#[non_exhaustive]
pub enum AdmissionError {
    /// A variable is missing or invalid.
    Expand(ExpandError),
    /// Policy refuses the expanded entry.
    Refused(ServerName, Refusal),
    /// The entry's program, script, host or recipient of a secret differs from the approved one.
    Changed(ServerName),
    /// The configuration differs from the one resolved under this name.
    OtherEntry(ServerName),
}

impl fmt::Display for AdmissionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expand(error) => error.fmt(out),
            Self::Refused(server, refusal) => write!(out, "server `{server}`: {refusal}"),
            Self::Changed(server) => write!(
                out,
                "server `{server}` has changed since it was approved (its program, script, host or \
                 the variables it is sent); run `mcp approve {server}`"
            ),
            Self::OtherEntry(server) => write!(
                out,
                "server `{server}` was not resolved with this configuration; read the files again"
            ),
        }
    }
}

impl Error for AdmissionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Expand(error) => error.source(),
            _ => None,
        }
    }
}

impl Admissions {
    /// Creates admissions for the active servers of `resolution`, which [`resolve`](crate::resolve())
    /// computed from `layers`.
    pub fn new(layers: &Layers, resolution: &Resolution) -> Self {
        let admitted = |candidate: &Candidate| {
            let needs_approval = candidate.scope == Scope::Project && layers.require_approval;
            let approved = needs_approval
                .then(|| candidate.disclosure(&layers.env, &layers.project).fingerprint());
            let (entry, scope) = (Arc::clone(&candidate.entry), candidate.scope);
            (entry.config.name.clone(), Admitted { entry, scope, approved })
        };
        Self {
            policy: resolution.policy.clone(),
            project: layers.project.clone(),
            servers: resolution.servers().map(admitted).collect(),
        }
    }

    /// Expands `config` for one connection and checks the result against policy and, for a project's entry,
    /// against its approval.
    ///
    /// A server that is not in any file, such as one the host adds itself, is checked against policy only.
    /// Reads the files that the entry refers to; call it again for every connection.
    pub fn expand(
        &self,
        config: &ServerConfig,
        env: &Environment,
        ask: &dyn AskInput,
    ) -> Result<Expanded, AdmissionError> {
        let name = || config.name.clone();
        let admitted = self.servers.get(&config.name);
        if admitted.is_some_and(|known| known.entry.config.transport != config.transport) {
            return Err(AdmissionError::OtherEntry(name()));
        }
        let expanded = expand(config, env, ask).map_err(AdmissionError::Expand)?;
        // Variables and files may have changed since resolution, so the values that are used now are judged.
        let scope = admitted.map_or(Scope::Dynamic, |known| known.scope);
        let judged = self.policy.judge(scope, &expanded);
        judged.map_err(|refusal| AdmissionError::Refused(name(), refusal))?;
        let Some((entry, approved)) = admitted.and_then(|a| Some((&a.entry, a.approved?))) else {
            return Ok(expanded);
        };
        // The entry as resolved: the host may have changed settings of `config` without effect on approval, such as
        // `trust`.
        let now = Disclosure::of_expanded(&entry.config, &expanded, env, &self.project);
        if now.fingerprint() == approved {
            Ok(expanded)
        } else {
            Err(AdmissionError::Changed(name()))
        }
    }
}
