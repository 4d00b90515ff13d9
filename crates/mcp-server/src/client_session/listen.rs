//! Subscriptions of modern clients to changes: `subscriptions/listen`.

use std::{collections::HashSet, sync::Arc};

use mcp_jsonrpc::{Message, Notification, ObjectWriter, RawJson, RequestId};
use mcp_types::meta;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    call::inbox::Change,
    provide::watches::{Watch, Watches},
    shared::Shared,
};

/// An open `subscriptions/listen`.
#[derive(Debug)]
pub(crate) struct Listen {
    pub(crate) id: RequestId,
    pub(crate) filter: Filter,
    /// Keeps the subscription to each named resource alive.
    pub(crate) _watches: Vec<Watch>,
    /// Counts towards `max_listens`.
    pub(crate) _permit: OwnedSemaphorePermit,
}

/// The kinds of changes that a client subscribed to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: HashSet<String>,
}

impl Filter {
    /// The part of `wanted` that this server can notify of.
    pub(crate) fn honoured(wanted: &RawJson, shared: &Shared) -> Self {
        let flag = |name: &str| wanted.get(name).is_some_and(|value| value.as_str() == "true");
        let mut filter = Self {
            tools: flag("toolsListChanged"),
            prompts: flag("promptsListChanged") && shared.prompts.is_offered(),
            resources: flag("resourcesListChanged") && shared.resources.is_offered(),
            uris: HashSet::new(),
        };
        if shared.resources.is_offered() {
            let uris = wanted.get("resourceSubscriptions");
            let uris: Vec<String> = uris.and_then(|uris| uris.decode().ok()).unwrap_or_default();
            filter.uris = uris.into_iter().take(shared.options.max_subscriptions).collect();
        }
        filter
    }

    /// Subscribes to each resource of the filter.
    pub(crate) fn watch(&self, watches: &Arc<Watches>) -> Vec<Watch> {
        self.uris.iter().map(|uri| watches.watch(uri)).collect()
    }

    /// The filter as the acknowledgement repeats it.
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
            // Cannot fail: strings can always be serialized.
            let _ = all.member("resourceSubscriptions", &uris);
        }
        all.finish()
    }
}

impl Listen {
    /// The notification of `change`, if the filter contains it.
    pub(crate) fn notification_of(&self, change: &Change) -> Option<(RequestId, Message)> {
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
            let notification = Notification::new(change.method(), Some(params.finish()));
            (self.id.clone(), Message::Notification(notification))
        })
    }

    /// Notification params with the subscription's id in `_meta`.
    pub(crate) fn params(&self) -> ObjectWriter {
        let mut params = ObjectWriter::new();
        params.object("_meta", |meta| {
            // Cannot fail: ids can always be serialized.
            let _ = meta.member(meta::SUBSCRIPTION_ID, &self.id);
            meta
        });
        params
    }
}
