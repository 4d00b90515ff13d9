//! What the servers behind the gateway are told that they may ask: anything, since who answers is the client
//! whose call they work on.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mcp_bridge::{BoxFuture, Handler};
use mcp_client::{ClientCapabilities, ElicitRequest, ElicitResult, ServerEvent};
use tokio::sync::Notify;

/// The gateway as a host: a question goes to the client whose call it belongs to. One that is nobody's is declined,
/// which every server has to reckon with.
pub(super) struct Relay {
    news: Arc<News>,
}

/// What servers said of lists that the bridge does not keep, or keeps silent about.
#[derive(Debug, Default)]
pub(super) struct News {
    prompts: AtomicBool,
    resources: AtomicBool,
    bell: Notify,
}

impl News {
    /// Whether a server said that its prompts changed, since this was last asked.
    pub(super) fn take_prompts(&self) -> bool {
        self.prompts.swap(false, Ordering::AcqRel)
    }

    /// Waits until the resources of a server change.
    ///
    /// # Cancel safety
    /// No change is lost.
    pub(super) async fn resources(&self) {
        while !self.resources.swap(false, Ordering::AcqRel) {
            self.bell.notified().await;
        }
    }
}

impl Relay {
    pub(super) fn new(news: Arc<News>) -> Self {
        Self { news }
    }
}

impl Handler for Relay {
    /// Every modern call says what its own client can do; older servers are told once, before there is one.
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
            ServerEvent::PromptsChanged => self.news.prompts.store(true, Ordering::Release),
            ServerEvent::ResourcesChanged => {
                self.news.resources.store(true, Ordering::Release);
                self.news.bell.notify_one();
            }
            _ => {}
        }
    }
}
