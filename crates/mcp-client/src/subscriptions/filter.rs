//! The filter of a subscription: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#notification-filter>.

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_types::events::ServerEvent;

/// The changes to subscribe to. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenFilter {
    /// Changes of the tool list.
    pub tools: bool,
    /// Changes of the prompt list.
    pub prompts: bool,
    /// Changes of the resource list.
    pub resources: bool,
    /// Updates of these resources.
    pub resource_uris: Vec<String>,
    /// Updates of these tasks (modern servers only).
    pub task_ids: Vec<String>,
}

impl ListenFilter {
    /// Changes of all three lists.
    pub fn lists() -> Self {
        Self { tools: true, prompts: true, resources: true, ..Self::default() }
    }

    pub(crate) fn write(&self, out: &mut ObjectWriter) {
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
                    // Encoding a list of strings cannot fail.
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

    /// The events to report when everything may have changed. Tasks are excluded because their
    /// state can be polled.
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
            // The updated resource may be a sub-resource of the subscribed one:
            // <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>
            ServerEvent::ResourceUpdated { uri } => {
                self.resource_uris.iter().any(|wanted| is_part(uri, wanted))
            }
            _ => false,
        }
    }
}

/// Whether `uri` is `whole` or a sub-resource of it, not just a URI with the same prefix.
fn is_part(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}
