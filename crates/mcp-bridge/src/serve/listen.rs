//! Who wants to hear of which changes, in either era.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use mcp_client::{RawJson, RequestId};
use mcp_jsonrpc::{Message, Notification, ObjectWriter};
use tokio::sync::OwnedSemaphorePermit;

use crate::serve::{
    conversation::Session,
    inbox::Change,
    options::ServeOptions,
    watched::{Watch, Watches},
};

/// An open `subscriptions/listen`.
#[derive(Debug)]
pub(crate) struct Listen {
    pub(crate) id: RequestId,
    pub(crate) filter: Filter,
    /// The provider knows of each resource that is wanted.
    pub(crate) _watches: Vec<Watch>,
    /// There are only so many of them.
    pub(crate) _permit: OwnedSemaphorePermit,
}

/// What a client wants to hear of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: HashSet<String>,
}

impl Filter {
    /// As much of what is wanted as there is to hear of.
    pub(crate) fn honoured(wanted: &RawJson, options: &ServeOptions) -> Self {
        let flag = |name: &str| wanted.get(name).is_some_and(|value| value.as_str() == "true");
        let mut filter = Self {
            tools: flag("toolsListChanged"),
            prompts: flag("promptsListChanged") && options.prompts.is_some(),
            resources: flag("resourcesListChanged") && options.resources.is_some(),
            uris: HashSet::new(),
        };
        if options.resources.is_some() {
            let uris = wanted.get("resourceSubscriptions");
            let uris: Vec<String> = uris.and_then(|uris| uris.decode().ok()).unwrap_or_default();
            filter.uris = uris.into_iter().take(options.max_subscriptions).collect();
        }
        filter
    }

    /// A wish for each resource it names.
    pub(crate) fn watch(&self, watches: &Arc<Watches>) -> Vec<Watch> {
        self.uris.iter().map(|uri| watches.watch(uri)).collect()
    }

    /// As the acknowledgement repeats it.
    pub(crate) fn to_json(&self) -> RawJson {
        let mut all = ObjectWriter::new();
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (name, _) in flags.into_iter().filter(|(_, wanted)| *wanted) {
            all.boolean(name, true);
        }
        if !self.uris.is_empty() {
            let mut uris: Vec<&String> = self.uris.iter().collect();
            uris.sort();
            // Strings can always be written.
            let _ = all.member("resourceSubscriptions", &uris);
        }
        all.finish()
    }
}

impl Listen {
    /// What to tell this listener of a change, if anything.
    pub(crate) fn news(&self, change: &Change) -> Option<(RequestId, Message)> {
        let wanted = match change {
            Change::Tools => self.filter.tools,
            Change::Prompts => self.filter.prompts,
            Change::Resources => self.filter.resources,
            Change::Resource(uri) => self.filter.uris.contains(&**uri),
        };
        wanted.then(|| {
            let mut params = self.params();
            if let Change::Resource(uri) = change {
                params.string("uri", uri);
            }
            let notification = Notification::new(method(change), Some(params.finish()));
            (self.id.clone(), Message::Notification(notification))
        })
    }

    /// Params that say which listener they are for.
    pub(crate) fn params(&self) -> ObjectWriter {
        let mut params = ObjectWriter::new();
        params.object("_meta", |meta| {
            // Ids can always be written.
            let _ = meta.member("io.modelcontextprotocol/subscriptionId", &self.id);
            meta
        });
        params
    }
}

impl Session {
    /// What to tell an old client of a change: lists unasked, resources if it has subscribed.
    pub(crate) fn news(&self, change: &Change) -> Option<(Cow<'static, str>, Option<RawJson>)> {
        let params = match change {
            Change::Resource(uri) if !self.subscriptions.contains_key(&**uri) => return None,
            Change::Resource(uri) => {
                let mut params = ObjectWriter::new();
                params.string("uri", uri);
                Some(params.finish())
            }
            _ => None,
        };
        Some((method(change).into(), params))
    }
}

fn method(change: &Change) -> &'static str {
    match change {
        Change::Tools => "notifications/tools/list_changed",
        Change::Prompts => "notifications/prompts/list_changed",
        Change::Resources => "notifications/resources/list_changed",
        Change::Resource(_) => "notifications/resources/updated",
    }
}
