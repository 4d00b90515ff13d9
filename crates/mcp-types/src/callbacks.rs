//! A handler built from functions.

use std::{fmt, sync::Arc};

use futures_core::future::BoxFuture;

use crate::{
    capabilities::ClientCapabilities,
    elicit::{ElicitRequest, ElicitResult},
    handler::{Handler, Refusal, ServerEvent},
    sampling::{CreateMessageRequest, CreateMessageResult, Root},
};

type Elicit = dyn Fn(ElicitRequest) -> BoxFuture<'static, ElicitResult> + Send + Sync;
type Sample = dyn Fn(CreateMessageRequest) -> BoxFuture<'static, Result<CreateMessageResult, Refusal>>
    + Send
    + Sync;
type Roots = dyn Fn() -> BoxFuture<'static, Result<Vec<Root>, Refusal>> + Send + Sync;
type OnEvent = dyn Fn(ServerEvent) + Send + Sync;

/// A [`Handler`] built from functions. A capability is declared if its function is set.
///
/// ```
/// use std::sync::Arc;
/// use mcp_types::{Callbacks, ElicitResult, Handler};
///
/// let handler: Arc<dyn Handler> = Callbacks::new()
///     .on_form(|request| async move { ElicitResult::accept(request.defaults()) })
///     .on_event(|event| println!("{event:?}"))
///     .into_handler();
/// assert!(handler.capabilities().elicitation_form);
/// assert!(!handler.capabilities().sampling);
/// ```
#[derive(Clone, Default)]
#[must_use = "callbacks do nothing until `into_handler` is called and the handler is used"]
pub struct Callbacks {
    capabilities: ClientCapabilities,
    form: Option<Arc<Elicit>>,
    url: Option<Arc<Elicit>>,
    sample: Option<Arc<Sample>>,
    roots: Option<Arc<Roots>>,
    event: Option<Arc<OnEvent>>,
}

impl Callbacks {
    /// A handler without capabilities.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function that shows a form to the user.
    pub fn on_form<F, Fut>(mut self, ask: F) -> Self
    where
        F: Fn(ElicitRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitResult> + Send + 'static,
    {
        self.capabilities.elicitation_form = true;
        self.form = Some(Arc::new(move |request| Box::pin(ask(request))));
        self
    }

    /// Sets the function that asks the user to visit a URL.
    pub fn on_url<F, Fut>(mut self, ask: F) -> Self
    where
        F: Fn(ElicitRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitResult> + Send + 'static,
    {
        self.capabilities.elicitation_url = true;
        self.url = Some(Arc::new(move |request| Box::pin(ask(request))));
        self
    }

    /// Sets the function that runs the host's model.
    pub fn on_sample<F, Fut>(mut self, sample: F) -> Self
    where
        F: Fn(CreateMessageRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, Refusal>> + Send + 'static,
    {
        self.capabilities.sampling = true;
        self.sample = Some(Arc::new(move |request| Box::pin(sample(request))));
        self
    }

    /// Sets the function that lists the roots.
    pub fn on_roots<F, Fut>(mut self, roots: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Root>, Refusal>> + Send + 'static,
    {
        self.capabilities.roots = true;
        self.roots = Some(Arc::new(move || Box::pin(roots())));
        self
    }

    /// Sets the function that receives events. See [`Handler::event`].
    pub fn on_event(mut self, hear: impl Fn(ServerEvent) + Send + Sync + 'static) -> Self {
        self.event = Some(Arc::new(hear));
        self
    }

    /// Changes the declared capabilities, for example to add tools in sampling or an extension.
    pub fn with_capabilities(mut self, change: impl FnOnce(&mut ClientCapabilities)) -> Self {
        change(&mut self.capabilities);
        self
    }

    /// The handler, in the form that options take.
    pub fn into_handler(self) -> Arc<dyn Handler> {
        Arc::new(self)
    }
}

impl Handler for Callbacks {
    fn capabilities(&self) -> ClientCapabilities {
        self.capabilities.clone()
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let ask = if request.is_url() { &self.url } else { &self.form };
        match ask {
            Some(ask) => ask(request),
            None => Box::pin(async { ElicitResult::decline() }),
        }
    }

    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        match &self.sample {
            Some(sample) => sample(request),
            None => Box::pin(async { Err(Refusal::new("this host does not support sampling")) }),
        }
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Refusal>> {
        match &self.roots {
            Some(roots) => roots(),
            None => Box::pin(async { Err(Refusal::new("this host does not list roots")) }),
        }
    }

    fn event(&self, event: ServerEvent) {
        if let Some(hear) = &self.event {
            hear(event);
        }
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks")
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Mutex,
        task::{Context, Poll, Waker},
    };

    use mcp_jsonrpc::RawJson;

    use super::*;
    use crate::elicit::ElicitAction;

    /// The result of a future that is ready at once.
    fn now<T>(mut future: BoxFuture<'_, T>) -> T {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("the future is pending"),
        }
    }

    fn page() -> ElicitRequest {
        let raw = RawJson::parse(r#"{"mode":"url","message":"?","url":"https://example.com"}"#);
        raw.unwrap().decode().unwrap()
    }

    #[test]
    fn callbacks_handle_requests_and_declare_capabilities() {
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let handler = Callbacks::new()
            .on_form(|request| async move { ElicitResult::accept(request.defaults()) })
            .on_url(|_| async { ElicitResult::accept_url() })
            .on_sample(|_| async { Ok(CreateMessageResult::text("model", "hello")) })
            .on_roots(|| async { Ok(vec![Root::new("file:///work")]) })
            .on_event(move |event| heard.lock().unwrap().push(event))
            .with_capabilities(|capabilities| capabilities.sampling_tools = true)
            .into_handler();
        let offered = handler.capabilities();
        assert!(offered.elicitation_form && offered.elicitation_url && offered.roots);
        assert!(offered.sampling && offered.sampling_tools);
        let form = ElicitRequest::form("?", RawJson::null());
        assert!(now(handler.elicit(form)).content.is_some());
        assert_eq!(now(handler.elicit(page())), ElicitResult::accept_url());
        let request = RawJson::parse(r#"{"messages":[]}"#).unwrap().decode().unwrap();
        assert_eq!(now(handler.sample(request)).unwrap().model, "model");
        assert_eq!(now(handler.roots()).unwrap()[0].uri, "file:///work");
        handler.event(ServerEvent::ToolsChanged);
        assert_eq!(*events.lock().unwrap(), [ServerEvent::ToolsChanged]);
    }

    #[test]
    fn missing_callbacks_decline_and_declare_nothing() {
        let handler = Callbacks::new().on_form(|_| async { ElicitResult::accept_url() });
        assert!(!handler.capabilities().elicitation_url && !handler.capabilities().sampling);
        assert_eq!(now(handler.elicit(page())).action, ElicitAction::Decline);
        assert!(now(handler.roots()).is_err());
        let request = RawJson::parse(r#"{"messages":[]}"#).unwrap().decode().unwrap();
        assert!(now(handler.sample(request)).is_err());
    }
}
