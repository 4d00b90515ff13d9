//! Loads the configuration files of this machine and resolves them to servers.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use mcp_bridge::{
    connect::Sandboxes,
    trust::{ToolApprovals, ToolApprovalsError},
};
use mcp_config::{
    ConfigFile, Diagnostic, Dialect, Environment, Expanded, Layers, ReadOptions, Resolution, Scope,
    ServerConfig,
    approval::{AdmissionError, Admissions, ApprovalStore},
    custom::CustomTool,
    diagnostic::Severity,
    expand::AskInput,
    files::{FileSource, Platform, Source},
    known_files, load, resolve,
    resolve::{Candidate, Layer},
};
use serde_json::json;

use crate::{
    exit::{Exit, Problem},
    host::{
        adhoc, own_gateway,
        places::{self, Places},
        sandboxes,
    },
    terminal::out::Out,
};

/// The resolved configuration and its sources.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) environment: Environment,
    pub(crate) project: PathBuf,
    pub(crate) places: Places,
    pub(crate) layers: Layers,
    pub(crate) resolution: Resolution,
    /// The new path of the local file, if it was just renamed from that of an earlier version.
    pub(crate) migrated: Option<PathBuf>,
    /// The servers that may be connected. A gateway replaces it on reload.
    pub(crate) admissions: Arc<RwLock<Admissions>>,
    /// The sandboxes of local servers, and how each was started.
    pub(crate) sandboxes: Sandboxes,
    /// Files given with `--config`, which replace all others.
    only: Vec<PathBuf>,
    /// The server given with `--server`, which replaces all others.
    spec: Option<String>,
}

impl Config {
    /// Reads all configuration files. Errors in them become diagnostics.
    pub(crate) fn read(only: Vec<PathBuf>, spec: Option<String>) -> Self {
        let project = places::project();
        let environment = Environment::current().in_workspace(&project);
        let places = Places::new(&environment);
        let migrated = places.migrate(&project);
        let layers = layers(&environment, &project, &places, &only, spec.as_deref());
        let resolution = resolve(&layers);
        let admissions = Arc::new(RwLock::new(Admissions::new(&layers, &resolution)));
        let sandboxes = sandboxes::of(&environment, &project, &places, &resolution);
        Self {
            environment,
            project,
            places,
            layers,
            resolution,
            migrated,
            admissions,
            sandboxes,
            only,
            spec,
        }
    }

    /// Admits the servers of another resolution, and no others.
    pub(crate) fn admit(&self, resolution: &Resolution) {
        let admissions = Admissions::new(&self.layers, resolution);
        *self.admissions.write().unwrap_or_else(PoisonError::into_inner) = admissions;
        self.sandboxes.set_minimum(resolution.host.sandbox_minimum.unwrap_or_default());
    }

    /// Returns a check whether an entry comes from the project's file. Unknown entries count as such.
    pub(crate) fn is_of_project(&self) -> impl Fn(&ServerConfig) -> bool + Send + Sync + 'static {
        let own: HashMap<String, Scope> = self
            .resolution
            .servers()
            .map(|candidate| (candidate.entry.config.name.to_string(), candidate.scope))
            .collect();
        move |config| own.get(config.name.as_str()).is_none_or(|scope| *scope == Scope::Project)
    }

    /// The permanent approvals of tools. In the home directory, the state folder is inside the project, so the rule applies
    /// only with a file of the project, as for approvals of servers.
    pub(crate) fn tool_approvals(&self) -> Option<Result<ToolApprovals, ToolApprovalsError>> {
        let path = self.places.state.as_ref()?.join("tools.json");
        Some(if self.project.join(PROJECT_FILE).exists() {
            ToolApprovals::load_for(path, &self.project)
        } else {
            ToolApprovals::load(path)
        })
    }

    /// The files given with `--config`.
    #[cfg(unix)]
    pub(crate) fn named(&self) -> &[PathBuf] {
        &self.only
    }

    /// The server given with `--server`.
    pub(crate) fn spec(&self) -> Option<&str> {
        self.spec.as_deref()
    }

    /// Whether files were given with `--config`.
    pub(crate) fn is_named(&self) -> bool {
        !self.only.is_empty()
    }

    /// Reads the same files again.
    pub(crate) fn again(&self) -> Self {
        Self::read(self.only.clone(), self.spec.clone())
    }

    /// Returns all configuration files.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        sources(&self.environment, &self.project, &self.places, &self.only, self.spec())
            .into_iter()
            .map(|source| source.file.path)
            .collect()
    }

    /// Returns the files that a gateway watches: the configuration files and the approvals.
    pub(crate) fn followed(&self) -> Vec<PathBuf> {
        let mut files = self.files();
        files.extend(approvals_file(&self.places));
        files
    }

    /// Returns a function that reads the files again, for a watcher on another thread.
    pub(crate) fn reader(&self) -> impl Fn() -> Layers + Send + 'static {
        let (environment, project) = (self.environment.clone(), self.project.clone());
        let (places, only, spec) = (self.places.clone(), self.only.clone(), self.spec.clone());
        move || layers(&environment, &project, &places, &only, spec.as_deref())
    }

    /// Returns the active servers for the bridge, trusted only if their scope permits it.
    pub(crate) fn servers(&self) -> Vec<ServerConfig> {
        servers(&self.resolution)
    }

    /// Returns the active custom tools.
    pub(crate) fn custom_tools(&self) -> Vec<CustomTool> {
        self.resolution.active_tools().cloned().collect()
    }

    /// Returns the active server of this name.
    ///
    /// # Errors
    /// Fails with the nearest name, or the reason why the server is not active.
    pub(crate) fn server(&self, name: &str) -> Result<&Candidate, Problem> {
        self.resolution.get(name).ok_or_else(|| self.missing(name))
    }

    /// Expands the variables of an entry. Policy and approvals judge the result, as for a connection.
    ///
    /// # Errors
    /// Fails if a variable is missing, or the expanded entry may not be used.
    pub(crate) fn expanded(
        &self,
        server: &ServerConfig,
        inputs: &dyn AskInput,
    ) -> Result<Expanded, Problem> {
        let admissions = self.admissions.read().unwrap_or_else(PoisonError::into_inner);
        admissions.expand(server, &self.environment, inputs).map_err(|error| {
            let exit = match error {
                AdmissionError::Refused(..) => Exit::Denied,
                _ => Exit::Config,
            };
            Problem::chain(exit, &error)
        })
    }

    /// Returns the file and position of an active server's entry.
    pub(crate) fn place_of(&self, server: &str) -> String {
        let candidate = self.resolution.get(server);
        candidate.map_or_else(|| "its file".to_owned(), |found| found.entry.place.to_string())
    }

    /// Builds the error for a name without an active server.
    pub(crate) fn missing(&self, name: &str) -> Problem {
        let explanation = self.resolution.explain(name);
        let first = explanation.to_string();
        let first = first.lines().next().unwrap_or_default().to_owned();
        let problem = Problem::new(Exit::NotFound, first);
        match (explanation.entries.is_empty(), self.resolution.servers().next()) {
            (false, _)
                if self.resolution.unapproved().any(|c| c.entry.config.name.as_str() == name) =>
            {
                problem.hint(format!("`mcp approve {name}` shows the entry and asks"))
            }
            (false, _) => problem.hint(format!("`mcp explain {name}` shows why")),
            (true, Some(_)) => problem.hint("`mcp list` shows the servers there are"),
            (true, None) => problem.hint(NO_SERVERS),
        }
    }

    /// Names the command that explains the state of a server.
    pub(crate) fn explain_hint(&self, server: &str) -> String {
        match self.spec() {
            None => format!("`mcp explain {server}` shows the details"),
            Some(url) if adhoc::is_address(url) => format!("`mcp explain {url}` shows the details"),
            Some(spec) => format!("`mcp explain --server '{spec}' {server}` shows the details"),
        }
    }

    /// Names the command that logs in to a server. A login belongs to a configured server.
    pub(crate) fn login_hint(&self, server: &str) -> String {
        match self.spec() {
            None => format!("mcp login {server}"),
            Some(url) => format!(
                "`mcp add {server} {url}` and `mcp login {server}`, or with a token: `mcp add {server} {url} -H \
                 'Authorization: Bearer …'`"
            ),
        }
    }

    /// Prints problems of configuration files on stderr.
    pub(crate) fn report_diagnostics(&self, out: Out) {
        for diagnostic in self.errors() {
            out.remark(diagnostic.to_string());
        }
        let waiting: Vec<&str> =
            self.resolution.unapproved().map(|c| c.entry.config.name.as_str()).collect();
        if !waiting.is_empty() {
            out.remark(format!(
                "not used until approved: {} (see `mcp explain {}`, then `mcp approve`)",
                waiting.join(", "),
                waiting[0]
            ));
        }
        let tools: Vec<&str> =
            self.resolution.unapproved_tools().map(|c| c.entry.tool.name.as_str()).collect();
        if !tools.is_empty() {
            out.remark(format!(
                "custom tools not used until approved: {} (see `mcp approve`)",
                tools.join(", ")
            ));
        }
    }

    /// Reports the files given with `--config` that cannot be used.
    ///
    /// # Errors
    /// Fails if none of them can be used.
    pub(crate) fn check_named(&self, out: Out) -> Result<(), Problem> {
        let bad: Vec<String> = self.only.iter().filter_map(|path| self.unusable(path)).collect();
        if let Some(first) = bad.first()
            && bad.len() == self.only.len()
        {
            return Err(Problem::new(Exit::Config, first.clone()));
        }
        // Files with errors are reported with the other diagnostics.
        for path in self.only.iter().filter(|path| !path.exists()) {
            out.remark(missing(path));
        }
        Ok(())
    }

    /// Returns why nothing in this file can be used.
    fn unusable(&self, path: &Path) -> Option<String> {
        if !path.exists() {
            return Some(missing(path));
        }
        let mut whole = self.errors().filter(|d| d.place.pointer.is_empty() && d.server.is_none());
        let found = whole.find(|diagnostic| path.to_string_lossy() == *diagnostic.place.file);
        found.map(ToString::to_string)
    }

    /// Returns the diagnostics that prevent an entry or a file from being used.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.resolution.diagnostics.iter().filter(|d| d.severity == Severity::Error)
    }

    /// Returns the file to change and its scope: the requested one, or the local one.
    ///
    /// # Errors
    /// Fails without a home directory, or if the choice is ambiguous.
    pub(crate) fn target(&self, scope: Option<Scope>) -> Result<(ConfigFile, Scope), Problem> {
        match (self.only.as_slice(), scope) {
            ([], _) => {}
            ([only], None | Some(Scope::Dynamic)) => {
                return Ok((ConfigFile::new(only), Scope::Dynamic));
            }
            (several, _) => {
                let message = "the file to change is ambiguous";
                let hint = if several.len() > 1 {
                    "give --config once"
                } else {
                    "--config already names the file: remove -s"
                };
                return Err(Problem::usage(message).hint(hint));
            }
        }
        let scope = scope.unwrap_or(Scope::Local);
        let no_home = || {
            Problem::new(Exit::Config, "cannot store the configuration without a home directory")
                .hint("set HOME or XDG_CONFIG_HOME, or use `-s project`")
        };
        let path = match scope {
            Scope::User => self.places.user_file().ok_or_else(no_home)?,
            Scope::Local => self.places.local_file(&self.project).ok_or_else(no_home)?,
            Scope::Project => self.project.join(PROJECT_FILE),
            other => {
                let message = format!("the {other} scope cannot be changed with mcp");
                return Err(
                    Problem::usage(message).hint("scopes to change are local, user and project")
                );
            }
        };
        let mut file = ConfigFile::new(path);
        file.dialect = (scope != Scope::Project).then_some(Dialect::McpJson);
        Ok((file, scope))
    }

    /// Returns the store of the user's decisions about project entries.
    pub(crate) fn approvals(&self) -> Option<ApprovalStore> {
        approvals(&self.places)
    }
}

fn missing(path: &Path) -> String {
    format!("file not found: {}", path.display())
}

/// The file of a project's servers and custom tools.
const PROJECT_FILE: &str = ".mcp.json";

/// The remark when no servers are configured.
pub(crate) const NO_SERVERS: &str =
    "no servers are configured: add one with `mcp add NAME -- COMMAND`, or run `mcp import`";

/// Returns the servers of a resolution for the bridge.
pub(crate) fn servers(resolution: &Resolution) -> Vec<ServerConfig> {
    let config = |candidate: &Candidate| {
        let mut config = candidate.entry.config.clone();
        config.trust = candidate.is_trusted();
        config
    };
    resolution.servers().map(config).collect()
}

fn approvals(places: &Places) -> Option<ApprovalStore> {
    Some(ApprovalStore::new(approvals_file(places)?))
}

fn approvals_file(places: &Places) -> Option<PathBuf> {
    Some(places.state.as_ref()?.join("approvals.json"))
}

fn layers(
    environment: &Environment,
    project: &std::path::Path,
    places: &Places,
    only: &[PathBuf],
    spec: Option<&str>,
) -> Layers {
    let sources: Vec<Arc<dyn Source>> = sources(environment, project, places, only, spec)
        .into_iter()
        .map(|source| Arc::new(source) as Arc<dyn Source>)
        .collect();
    let mut layers = Layers::new();
    layers.layers = load(&sources);
    layers.layers.iter_mut().for_each(|layer| own_gateway::remove(layer, places));
    if let Some((name, entry)) = spec.and_then(adhoc::entry) {
        let text = json!({"mcpServers": {name: entry}}).to_string();
        let document = mcp_config::read(text.as_bytes(), &ReadOptions::new("--server"));
        layers.layers.push(Layer::new(Scope::Dynamic, document));
    }
    layers.env = environment.clone();
    project.clone_into(&mut layers.project);
    // Without project servers there is nothing to approve. In the home directory, the approvals file is inside the
    // project.
    if project.join(PROJECT_FILE).exists()
        && let Some(store) = approvals(places)
    {
        store.load_into(&mut layers);
    }
    layers
}

/// Returns all configuration files. Files of other tools are only read by `mcp import`: a gateway that read the file
/// it is installed in would start itself.
fn sources(
    environment: &Environment,
    project: &std::path::Path,
    places: &Places,
    only: &[PathBuf],
    spec: Option<&str>,
) -> Vec<FileSource> {
    let known = known_files(Platform::current(), environment, project);
    let managed = known.iter().filter(|file| file.scope == Scope::Enterprise);
    let mut sources: Vec<FileSource> = managed.map(|file| file.source(project)).collect();
    if spec.is_some() {
        return sources;
    }
    if !only.is_empty() {
        sources.extend(only.iter().map(|path| FileSource::new(Scope::Dynamic, path)));
        return sources;
    }
    let own = |scope, path: Option<PathBuf>| {
        Some(FileSource::new(scope, path?).dialect(Dialect::McpJson).project(project))
    };
    sources.extend(own(Scope::Local, places.local_file(project)));
    sources.extend(own(Scope::User, places.user_file()));
    sources.push(FileSource::new(Scope::Project, project.join(PROJECT_FILE)).project(project));
    sources
}

#[cfg(test)]
mod tests {
    use mcp_config::expand::NoInputs;

    use super::*;

    #[test]
    fn policy_judges_the_expansion_for_a_login() {
        let folder = tempfile::tempdir().unwrap();
        let (servers, policy) = (folder.path().join("s.json"), folder.path().join("p.json"));
        let entry = r#"{"mcpServers":{"docs":{"type":"http","url":"https://docs.example/mcp"}}}"#;
        std::fs::write(&servers, entry).unwrap();
        std::fs::write(&policy, r#"{"deniedMcpServers":[{"serverUrl":"https://docs.example/*"}]}"#)
            .unwrap();
        let config = Config::read(vec![servers.clone()], None);
        let server = config.server("docs").unwrap().entry.config.clone();
        assert!(config.expanded(&server, &NoInputs).is_ok());
        let strict = Config::read(vec![servers, policy], None);
        assert!(strict.server("docs").is_err(), "the policy is read");
        let refused = strict.expanded(&server, &NoInputs).unwrap_err();
        assert_eq!(refused.exit, Exit::Denied, "{}", refused.message);
    }
}
