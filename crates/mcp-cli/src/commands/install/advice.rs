//! What the other tool will lack, or have twice, and how to fix it.

use std::path::Path;

use clap::ArgMatches;
use mcp_config::{ConfigFile, ReadOptions, Scope, files::ImportPlan, read, resolve::Candidate};

use super::super::import;
use crate::{
    exit::{Problem, chain},
    host::{app::App, config::NO_SERVERS},
};

/// Tools that do not support elicitation, and so cannot ask their user about a call.
const CANNOT_ASK: &[&str] = &["gemini", "opencode", "qwen"];

/// The findings about one tool and its file.
pub(super) struct Advice<'a> {
    client: &'a str,
    /// Servers of this folder, which a tool started elsewhere does not see.
    local: Vec<&'a Candidate>,
    /// Servers whose tools are denied, because the tool cannot ask.
    denied: Vec<&'a Candidate>,
    /// Names of servers that the tool would have twice.
    twice: Vec<&'a str>,
    /// Those of them that are really the same.
    doubles: ImportPlan,
}

impl<'a> Advice<'a> {
    pub(super) fn new(
        app: &'a App,
        matches: &ArgMatches,
        client: &'a str,
        scope: Scope,
        before: &str,
        options: &ReadOptions<'_>,
    ) -> Self {
        let all = || app.config.resolution.servers();
        let is_local = |c: &&Candidate| scope == Scope::User && c.scope == Scope::Local;
        let is_open = matches.get_flag("trust-host") || matches.contains_id("allow-tool");
        let is_denied =
            |c: &&Candidate| CANNOT_ASK.contains(&client) && !is_open && !c.is_trusted();
        let theirs = read(before.as_bytes(), options);
        let twice = all().map(name).filter(|name| theirs.get(name).is_some()).collect();
        Self {
            client,
            local: all().filter(is_local).collect(),
            denied: all().filter(is_denied).collect(),
            twice,
            doubles: import::doubles(app, theirs),
        }
    }

    /// Prints the findings, each with the command that fixes it.
    pub(super) fn report(&self, app: &App) {
        let client = self.client;
        if !app.has_servers() {
            app.out.remark(format!("note: {client} will have no tools yet: {NO_SERVERS}"));
        }
        if let Some(first) = self.local.first() {
            app.out.remark(format!(
                "note: {} belong to this folder: {client} has them only if it is started here (`mcp add -s user \
                 {} …` makes one available everywhere)",
                names(&self.local),
                name(first)
            ));
        }
        if let Some(first) = self.denied.first() {
            app.out.remark(format!(
                "note: {client} cannot ask you about a call, so tools of {} are denied: `mcp trust {}`, \
                 --allow-tool GLOB, or --trust-host",
                names(&self.denied),
                name(first)
            ));
        }
        if !self.twice.is_empty() {
            app.out.remark(format!(
                "note: {client} already has {}, and would have them twice: `mcp import --from {client} --move` removes \
                 them from its file",
                self.twice.join(", ")
            ));
        }
    }

    /// Offers to fix the findings. `--yes` does not trust servers: only a person at a terminal does.
    pub(super) async fn offer(&self, app: &App) -> Result<(), Problem> {
        let ask = async |question: String| app.interrupt.or(app.terminal.confirm(&question)).await;
        if !self.local.is_empty() {
            let question =
                format!("copy {} to the user scope, for all folders?", names(&self.local));
            if ask(question).await? {
                self.copy_to_the_user_scope(app)?;
            }
        }
        let same = import::names_of_doubles(&self.doubles);
        if !same.is_empty() {
            let same = same.join(", ");
            if ask(format!("remove {same} from the file of {}?", self.client)).await? {
                import::remove_originals(app, &self.doubles);
            }
        }
        let own: Vec<&Candidate> =
            self.denied.iter().copied().filter(|c| c.scope != Scope::Project).collect();
        if !own.is_empty() && app.terminal.can_ask() {
            let question =
                format!("trust {}, so that their tools run without a question?", names(&own));
            if ask(question).await? {
                for server in own {
                    trust(app, server);
                }
            }
        }
        Ok(())
    }

    fn copy_to_the_user_scope(&self, app: &App) -> Result<(), Problem> {
        let (file, _) = app.config.target(Some(Scope::User))?;
        app.config.places.secure(&file.path);
        for server in &self.local {
            let name = name(server);
            if file.read().get(name).is_some() {
                app.out.remark(format!(
                    "{name} stays in this folder: the user scope has another server of this name"
                ));
            } else {
                file.add(&server.entry.config)?;
                app.out.remark(format!("copied {name} to {}", file.path.display()));
            }
        }
        Ok(())
    }
}

/// Marks a server as trusted in its file. A failure is only reported, because the entry of the gateway is written.
fn trust(app: &App, server: &Candidate) {
    let (name, place) = (name(server), &server.entry.place);
    let mut file = ConfigFile::new(Path::new(&*place.file));
    file.dialect = Some(server.entry.dialect);
    let Some(mut config) = file.read().get(name).map(|entry| entry.config.clone()) else { return };
    config.trust = true;
    match file.add(&config) {
        Ok(()) => app.out.remark(format!("{name} is trusted")),
        Err(error) => app.out.remark(format!("{name} is not trusted: {}", chain(&error))),
    }
}

fn name(server: &Candidate) -> &str {
    server.entry.config.name.as_str()
}

fn names(servers: &[&Candidate]) -> String {
    servers.iter().map(|server| name(server)).collect::<Vec<_>>().join(", ")
}
