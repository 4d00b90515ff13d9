//! Which servers there are: the files of this machine, resolved.

use std::{path::PathBuf, sync::Arc};

use mcp_config::{
    ApprovalStore, Candidate, ConfigFile, CustomTool, Diagnostic, Dialect, Environment, FileSource,
    Layers, Platform, Resolution, Scope, ServerConfig, Severity, Source, known_files, load,
    resolve,
};

use crate::{
    exit::{Exit, Problem},
    out::Out,
    places::{self, Places},
};

/// What is configured, and where from.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) environment: Environment,
    pub(crate) project: PathBuf,
    pub(crate) places: Places,
    pub(crate) layers: Layers,
    pub(crate) resolution: Resolution,
    /// Files given on the command line, which then are the only ones.
    only: Vec<PathBuf>,
}

impl Config {
    /// Reads every file that counts. Broken ones are diagnostics, never a failure.
    pub(crate) fn read(only: Vec<PathBuf>) -> Self {
        let project = places::project();
        let environment = Environment::current().in_workspace(&project);
        let places = Places::new(&environment);
        let layers = layers(&environment, &project, &places, &only);
        let resolution = resolve(&layers);
        Self { environment, project, places, layers, resolution, only }
    }

    /// Whether the files were named on the command line.
    pub(crate) fn is_named(&self) -> bool {
        !self.only.is_empty()
    }

    /// The same files as they are now.
    pub(crate) fn again(&self) -> Self {
        Self::read(self.only.clone())
    }

    /// The files, for whoever wants to watch them.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        sources(&self.environment, &self.project, &self.places, &self.only)
            .into_iter()
            .map(|source| source.file.path)
            .collect()
    }

    /// What a gateway follows: the files, and what the user decides about them.
    pub(crate) fn followed(&self) -> Vec<PathBuf> {
        let mut files = self.files();
        files.extend(approvals_file(&self.places));
        files
    }

    /// Reads the layers anew, for a watcher on another thread.
    pub(crate) fn reader(&self) -> impl Fn() -> Layers + Send + 'static {
        let (environment, project) = (self.environment.clone(), self.project.clone());
        let (places, only) = (self.places.clone(), self.only.clone());
        move || layers(&environment, &project, &places, &only)
    }

    /// The servers to use, as the bridge takes them: trusted only where the scope lets them be.
    pub(crate) fn servers(&self) -> Vec<ServerConfig> {
        servers(&self.resolution)
    }

    /// The tools the user made of others.
    pub(crate) fn custom_tools(&self) -> Vec<CustomTool> {
        self.resolution.active_tools().cloned().collect()
    }

    /// The active server of this name.
    ///
    /// # Errors
    /// With the nearest name, or why it is not there.
    pub(crate) fn server(&self, name: &str) -> Result<&Candidate, Problem> {
        self.resolution.get(name).ok_or_else(|| self.missing(name))
    }

    /// Why there is no server of this name, or none to use.
    pub(crate) fn missing(&self, name: &str) -> Problem {
        let explanation = self.resolution.explain(name);
        let first = explanation.to_string();
        let first = first.lines().next().unwrap_or_default().to_owned();
        let problem = Problem::new(Exit::NotFound, first);
        match (explanation.entries.is_empty(), self.resolution.servers().next()) {
            (false, _) => problem.hint(format!("`mcp explain {name}` says more")),
            (true, Some(_)) => problem.hint("`mcp list` shows the servers there are"),
            (true, None) => problem.hint(NO_SERVERS),
        }
    }

    /// Tells people what is wrong with their files, on stderr.
    pub(crate) fn complain(&self, out: Out) {
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

    /// What is wrong with a file that was named on the command line, if it is of no use at all.
    pub(crate) fn unreadable(&self) -> Option<&Diagnostic> {
        let is_named = |file: &str| self.only.iter().any(|path| path.to_string_lossy() == file);
        let mut whole = self.errors().filter(|d| d.place.pointer.is_empty() && d.server.is_none());
        whole.find(|diagnostic| is_named(&diagnostic.place.file))
    }

    /// What keeps an entry or a file from being used.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.resolution.diagnostics.iter().filter(|d| d.severity == Severity::Error)
    }

    /// The file to change, and the scope it is of: the one asked for, or the local one.
    ///
    /// # Errors
    /// When there is no such file to be had, or too many.
    pub(crate) fn target(&self, scope: Option<Scope>) -> Result<(ConfigFile, Scope), Problem> {
        match (self.only.as_slice(), scope) {
            ([], _) => {}
            ([only], None | Some(Scope::Dynamic)) => {
                return Ok((ConfigFile::new(only), Scope::Dynamic));
            }
            (several, _) => {
                let message = "which file is to be changed?";
                let hint = if several.len() > 1 {
                    "give --config once"
                } else {
                    "--config names the file already: leave -s out"
                };
                return Err(Problem::new(Exit::Usage, message).hint(hint));
            }
        }
        let scope = scope.unwrap_or(Scope::Local);
        let no_home = || {
            Problem::new(Exit::Config, "there is no home directory to keep the configuration in")
                .hint("set HOME or XDG_CONFIG_HOME, or use `-s project`")
        };
        let path = match scope {
            Scope::User => self.places.user_file().ok_or_else(no_home)?,
            Scope::Local => self.places.local_file(&self.project).ok_or_else(no_home)?,
            Scope::Project => self.project.join(".mcp.json"),
            other => {
                let message = format!("the {other} scope is not ours to change");
                return Err(Problem::new(Exit::Usage, message)
                    .hint("scopes to change are local, user and project"));
            }
        };
        let mut file = ConfigFile::new(path);
        file.dialect = (scope != Scope::Project).then_some(Dialect::McpJson);
        Ok((file, scope))
    }

    /// What the user has decided about servers of projects.
    pub(crate) fn approvals(&self) -> Option<ApprovalStore> {
        approvals(&self.places)
    }
}

/// What to do without any servers.
pub(crate) const NO_SERVERS: &str =
    "no servers are configured: `mcp add NAME -- COMMAND`, or `mcp import` what other tools have";

/// The servers of a resolution, as the bridge takes them.
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
) -> Layers {
    let sources: Vec<Arc<dyn Source>> = sources(environment, project, places, only)
        .into_iter()
        .map(|source| Arc::new(source) as Arc<dyn Source>)
        .collect();
    let mut layers = Layers::new();
    layers.layers = load(&sources);
    layers.env = environment.clone();
    project.clone_into(&mut layers.project);
    // Decisions that cannot be read are decisions not made.
    layers.approvals = approvals(places).and_then(|store| store.load().ok()).unwrap_or_default();
    layers
}

/// Every file that counts. What other tools have is brought over by `mcp import`: a gateway that read the
/// file it was installed in would start itself.
fn sources(
    environment: &Environment,
    project: &std::path::Path,
    places: &Places,
    only: &[PathBuf],
) -> Vec<FileSource> {
    let known = known_files(Platform::current(), environment, project);
    let managed = known.iter().filter(|file| file.scope == Scope::Enterprise);
    let mut sources: Vec<FileSource> = managed.map(|file| file.source(project)).collect();
    if !only.is_empty() {
        sources.extend(only.iter().map(|path| FileSource::new(Scope::Dynamic, path)));
        return sources;
    }
    let own = |scope, path: Option<PathBuf>| {
        Some(FileSource::new(scope, path?).dialect(Dialect::McpJson).project(project))
    };
    sources.extend(own(Scope::Local, places.local_file(project)));
    sources.extend(own(Scope::User, places.user_file()));
    sources.push(FileSource::new(Scope::Project, project.join(".mcp.json")).project(project));
    sources
}
