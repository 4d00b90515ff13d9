//! Handles requests and list changes of the servers behind the gateway.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mcp_types::{
    BoxFuture, ClientCapabilities, ElicitRequest, ElicitResult, Handler, events::ServerEvent,
};
use tokio::sync::Notify;

/// The client handler of the bridge. The bridge forwards a server's request to the client that made the call. Requests
/// without a call are declined, which servers must expect.
pub(crate) struct QuestionRelay {
    pub(crate) changes: Arc<ListChanges>,
}

/// List changes that servers announced and the bridge does not track or report.
#[derive(Debug, Default)]
pub(crate) struct ListChanges {
    prompts: AtomicBool,
    resources: AtomicBool,
    resources_changed: Notify,
}

impl ListChanges {
    /// Whether prompts have changed since the last call of this method.
    pub(crate) fn take_prompts(&self) -> bool {
        self.prompts.swap(false, Ordering::AcqRel)
    }

    /// Waits until the resources of a server change.
    ///
    /// # Cancel safety
    /// No change is lost.
    pub(crate) async fn resources(&self) {
        while !self.resources.swap(false, Ordering::AcqRel) {
            self.resources_changed.notified().await;
        }
    }
}

impl Handler for QuestionRelay {
    /// Legacy servers get these once, before a client calls. Modern requests carry those of the calling client. The
    /// commands of `mcp` declare the same, because they share the catalogue with the gateway.
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered.elicitation_url = true;
        offered.sampling = true;
        offered.sampling_tools = true;
        offered.roots = true;
        offered
    }

    fn elicit(&self, _: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        Box::pin(std::future::ready(ElicitResult::decline()))
    }

    fn event(&self, event: ServerEvent) {
        match event {
            ServerEvent::PromptsChanged => self.changes.prompts.store(true, Ordering::Release),
            ServerEvent::ResourcesChanged => {
                self.changes.resources.store(true, Ordering::Release);
                self.changes.resources_changed.notify_one();
            }
            _ => {}
        }
    }
}
