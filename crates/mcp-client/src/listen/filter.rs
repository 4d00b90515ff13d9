//! What a subscriber wants to hear of.

use mcp_jsonrpc::{ObjectWriter, RawJson};

use crate::handler::ServerEvent;

/// What to hear of. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenFilter {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of the list of prompts.
    pub prompts: bool,
    /// Changes of the list of resources.
    pub resources: bool,
    /// Changes of these resources.
    pub resource_uris: Vec<String>,
    /// Changes of these tasks (modern servers only).
    pub task_ids: Vec<String>,
}

impl ListenFilter {
    /// All three lists.
    pub fn lists() -> Self {
        Self { tools: true, prompts: true, resources: true, ..Self::default() }
    }

    pub(super) fn write(&self, out: &mut ObjectWriter) {
        out.object("notifications", |wanted| {
            for (name, is_wanted) in [
                ("toolsListChanged", self.tools),
                ("promptsListChanged", self.prompts),
                ("resourcesListChanged", self.resources),
            ] {
                if is_wanted {
                    wanted.boolean(name, true);
                }
            }
            for (name, values) in
                [("resourceSubscriptions", &self.resource_uris), ("taskIds", &self.task_ids)]
            {
                if !values.is_empty() {
                    // A list of strings cannot fail to be written.
                    let _ = wanted.member(name, values);
                }
            }
            wanted
        });
    }

    pub(super) fn read(raw: &RawJson) -> Self {
        let flag = |name| raw.get(name).is_some_and(|value| value.decode().unwrap_or(false));
        let list = |name| raw.get(name).and_then(|value| value.decode().ok()).unwrap_or_default();
        Self {
            tools: flag("toolsListChanged"),
            prompts: flag("promptsListChanged"),
            resources: flag("resourcesListChanged"),
            resource_uris: list("resourceSubscriptions"),
            task_ids: list("taskIds"),
        }
    }

    /// What there is to hear when all of it has changed. Tasks speak for themselves when they are asked.
    pub(super) fn everything(&self) -> Vec<ServerEvent> {
        let lists = [
            (self.tools, ServerEvent::ToolsChanged),
            (self.prompts, ServerEvent::PromptsChanged),
            (self.resources, ServerEvent::ResourcesChanged),
        ];
        let lists = lists.into_iter().filter(|(wanted, _)| *wanted).map(|(_, event)| event);
        let uris = self.resource_uris.iter().cloned();
        lists.chain(uris.map(|uri| ServerEvent::ResourceUpdated { uri })).collect()
    }

    pub(super) fn wants(&self, event: &ServerEvent) -> bool {
        match event {
            ServerEvent::ToolsChanged => self.tools,
            ServerEvent::PromptsChanged => self.prompts,
            ServerEvent::ResourcesChanged => self.resources,
            // What changed may be a part of what was subscribed to.
            ServerEvent::ResourceUpdated { uri } => {
                self.resource_uris.iter().any(|wanted| is_part(uri, wanted))
            }
            _ => false,
        }
    }
}

/// Whether `uri` is `whole` or something inside it, rather than a neighbour whose name goes on.
fn is_part(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}
