//! One conversation's view of the tools.

mod schedule;
mod search_tools;
mod snapshot;
mod view;

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock},
};

use mcp_client::{Delivery, Handler, RawJson};
use mcp_search::cost::{Estimate, Statistics, ToolText};
use mcp_tool::{CallContext, FailureKind, Tool, ToolOutcome};

use self::view::View;
pub use self::{schedule::ToolUse, snapshot::Snapshot};
use crate::{
    call::not_found,
    caller::ConversationId,
    directory::Directory,
    setters::{setters, texts},
    sync::lock,
    tools::{
        registry::Registered,
        scope::{Caller, Filter, Part, Scope},
    },
    trust::Planned,
};

/// Options of one conversation.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ConversationOptions {
    /// Shows only tools with a name or permission that matches one of these globs. Empty: all.
    pub allow: Vec<String>,
    /// Hides tools with a name or permission that matches one of these globs. Resources match by
    /// `mcp:<server>:resource/<uri>`, or by `mcp:<server>:resources` as a whole.
    pub deny: Vec<String>,
    /// Handles requests from servers during this conversation's calls. Default: the bridge's handler. The capabilities
    /// declared to servers are always those of the [bridge's](crate::BridgeOptions::handler) handler.
    pub handler: Option<Arc<dyn Handler>>,
    /// Whether calls that would change something are queued for review. Default: no.
    pub plan_mode: bool,
    /// The name of the caller as shown to users and hooks, such as the name of a sub-agent. Default: none.
    pub name: Option<String>,
}

setters! {
    ConversationOptions {
        with_allow => allow(globs: impl IntoIterator<Item = impl Into<String>>) = texts(globs);
        with_deny => deny(globs: impl IntoIterator<Item = impl Into<String>>) = texts(globs);
        with_handler => handler(handler: Arc<dyn Handler>) = Some(handler);
        with_plan_mode => plan_mode(on: bool) = on;
        with_name => name(name: impl Into<String>) = Some(name.into());
    }
}

impl fmt::Debug for ConversationOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationOptions")
            .field("allow", &self.allow)
            .field("deny", &self.deny)
            .field("plan_mode", &self.plan_mode)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One conversation, with its own filter, loaded tools, plan and handler. Connections are shared by all conversations.
/// Clones are the same conversation.
#[derive(Clone)]
pub struct Conversation(Arc<Inner>);

struct Inner {
    view: Arc<View>,
    /// `tool_search` and `tool_list`, which belong to this conversation.
    search_tools: OnceLock<Vec<Arc<Registered>>>,
    /// The last snapshot and its version. Its tools hold the view, never this struct.
    last: Mutex<Option<((u64, usize), Snapshot)>>,
}

impl Conversation {
    /// Opens a conversation within this one, for a sub-agent. It sees the tools that both this conversation and
    /// `options` allow, and it is in plan mode while this one is. Requests from servers go to this conversation's
    /// handler unless `options` set another. Loaded tools and the plan are separate.
    ///
    /// ```no_run
    /// use mcp_bridge::{Bridge, ConversationOptions};
    ///
    /// # fn example(bridge: Bridge) {
    /// let main = bridge.start_conversation(ConversationOptions::default().with_plan_mode(true));
    /// let reader = main.derive(ConversationOptions::default().with_allow(["mcp:files:*"]).with_name("reader"));
    /// assert!(reader.is_planning());
    /// # }
    /// ```
    #[must_use]
    pub fn derive(&self, options: ConversationOptions) -> Self {
        let ConversationOptions { allow, deny, handler, plan_mode, name } = options;
        let directory = self.view().directory.clone();
        let conversation = ConversationId::new(directory.next_conversation(), name.map(Into::into));
        let filter = Filter::new(allow, deny);
        let parent = &self.view().caller;
        let caller = Caller::within(parent, conversation, handler, filter, plan_mode);
        Self::of(directory, caller)
    }

    pub(crate) fn new(directory: Arc<Directory>, options: ConversationOptions) -> Self {
        let ConversationOptions { allow, deny, handler, plan_mode, name } = options;
        let conversation = ConversationId::new(directory.next_conversation(), name.map(Into::into));
        let filter = Filter::new(allow, deny);
        Self::of(directory, Caller::new(conversation, handler, filter, plan_mode))
    }

    fn of(directory: Arc<Directory>, caller: Caller) -> Self {
        let view = Arc::new(View::new(directory, Arc::new(caller)));
        Self(Arc::new(Inner { view, search_tools: OnceLock::new(), last: Mutex::default() }))
    }

    /// The number of this conversation, as shown to approvers and hooks.
    pub fn id(&self) -> u64 {
        self.view().caller.conversation.id
    }

    /// Returns the tools for the turn that begins now. Cheap when nothing changed.
    pub fn snapshot(&self) -> Snapshot {
        let Inner { view, search_tools, last } = &*self.0;
        let mut last = lock(last);
        if let Some((version, snapshot)) = &*last
            && *version == view.version()
        {
            return snapshot.clone();
        }
        let own = || &**search_tools.get_or_init(|| search_tools::tools(view));
        let (version, shown, lazy) = view.shown(own);
        let tools = shown.into_iter().map(|registered| self.gate(registered)).collect();
        let snapshot = Snapshot::new(view, tools, version.0, lazy);
        *last = Some((version, snapshot.clone()));
        snapshot
    }

    fn gate(&self, registered: Arc<Registered>) -> Arc<dyn Tool> {
        Arc::new(self.0.view.gate(registered))
    }

    fn view(&self) -> &View {
        &self.0.view
    }

    pub(crate) fn caller(&self) -> &Arc<Caller> {
        &self.view().caller
    }

    /// Returns the tool of this name, whether or not it is in the prompt, and loads it.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if let Some(tool) = self.snapshot().get(name) {
            return Some(tool.clone());
        }
        let registered = self.view().find(name)?;
        self.view().activate(std::iter::once(&registered));
        Some(self.gate(registered))
    }

    /// Calls a tool by name, loading it if it was deferred to search.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub async fn call(&self, name: &str, arguments: RawJson, context: CallContext) -> ToolOutcome {
        self.snapshot().call(name, arguments, context).await
    }

    /// The names of the tools loaded one by one, in order. Save them with the messages to resume the conversation.
    pub fn loaded(&self) -> Vec<String> {
        self.view().loaded()
    }

    /// Loads tools that an earlier process [had loaded](Self::loaded), so that a resumed conversation starts with the
    /// tools it ended with. A tool of a server that is not yet known appears together with its server.
    ///
    /// ```no_run
    /// # fn example(bridge: mcp_bridge::Bridge, kept: Vec<String>) {
    /// bridge.conversation().restore(&kept);
    /// # }
    /// ```
    pub fn restore<N: AsRef<str>>(&self, tools: impl IntoIterator<Item = N>) {
        let tools: Vec<N> = tools.into_iter().collect();
        self.view().restore(tools.iter().map(AsRef::as_ref));
    }

    /// The name and a one-line summary of each tool that is not in the prompt.
    pub fn summaries(&self) -> Vec<(String, String)> {
        let snapshot = self.snapshot();
        let all = self.view().visible();
        let hidden = all.iter().filter(|r| snapshot.get(&r.tool.spec().name).is_none());
        hidden.map(|r| (r.tool.spec().name.clone(), r.summary.clone())).collect()
    }

    /// The token cost of the tools: as shown now, with all loaded, and with none loaded. Server instructions are not
    /// included; see [`Bridge::instructions`](crate::Bridge::instructions).
    pub fn statistics(&self) -> Statistics {
        let snapshot = self.snapshot();
        let all = self.view().visible();
        let definitions: Vec<RawJson> =
            all.iter().map(|r| r.tool.spec().definition("input_schema")).collect();
        let texts = all.iter().zip(&definitions).map(|(registered, definition)| {
            let spec = registered.tool.spec();
            let server = spec.server().unwrap_or_default();
            let mut text =
                ToolText::new(server, &spec.name, &registered.summary, definition.as_str());
            text.loaded = snapshot.get(&spec.name).is_some();
            text
        });
        Statistics::of(texts, &Estimate)
    }

    /// Whether calls that would change something are queued for review, here or in the conversation that this one was
    /// [derived](Self::derive) from.
    pub fn is_planning(&self) -> bool {
        self.view().caller.is_planning()
    }

    /// Sets whether calls that would change something are queued for review, here and in every derived conversation.
    pub fn set_plan_mode(&self, on: bool) {
        self.view().caller.plan().is_on = on;
    }

    /// The calls queued for review, in order.
    pub fn planned(&self) -> Vec<Planned> {
        self.view().caller.plan().waiting()
    }

    /// Removes a call from the plan without running it. Returns whether it existed.
    pub fn discard_planned(&self, id: u64) -> bool {
        self.view().caller.plan().take(id).is_some()
    }

    /// Runs a planned call, which counts as approved by the review. Rules still apply, and a tool that has changed
    /// since it was planned is refused.
    pub async fn run_planned(&self, id: u64, mut context: CallContext) -> ToolOutcome {
        let Some(planned) = self.view().caller.plan().take(id) else {
            return not_found(&format!("#{id}"), &[]);
        };
        let Some(registered) = self.view().find(&planned.tool) else {
            return not_found(&planned.tool, &[]);
        };
        if registered.tool.spec().hash != planned.hash {
            let text = format!(
                "definition changed: {} differs from the definition for which this call was planned",
                planned.tool
            );
            let kind = FailureKind::DefinitionChanged;
            return ToolOutcome::failed(kind, Delivery::NotSent, text);
        }
        context.approved = true;
        let scope = Scope { caller: self.view().caller.clone(), part: Part::Reviewed };
        self.view().gate(registered).run(planned.arguments, context, scope).await
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("allow", &self.view().caller.filter.allow)
            .field("deny", &self.view().caller.filter.deny)
            .finish_non_exhaustive()
    }
}
