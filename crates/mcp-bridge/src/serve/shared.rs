//! What all clients of a server have in common.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError, RwLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_client::{CacheScope, Era, ErrorObject, ProtocolVersion, RawJson};
use mcp_jsonrpc::ObjectWriter;
use tokio::sync::Semaphore;

use crate::{
    serve::{
        inbox::{CallKey, Change, Inbox},
        options::ServeOptions,
        tools::{Entry, Tools},
        waiting::WaitingRoom,
        watched::Watches,
    },
    tool::Tool,
};

/// Tells which tools there are at the moment.
pub(crate) struct Source(pub(crate) Box<dyn Fn() -> Vec<Arc<dyn Tool>> + Send + Sync>);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source(..)")
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServeOptions,
    tools: RwLock<Arc<Tools>>,
    source: Option<Source>,
    pub(crate) waiting: WaitingRoom,
    pub(crate) listens: Arc<Semaphore>,
    /// Which resources clients have subscribed to.
    pub(crate) watches: Arc<Watches>,
    /// Whom to tell of changes.
    inboxes: Mutex<Vec<Weak<Inbox>>>,
    next_key: AtomicU64,
    /// `{"io.modelcontextprotocol/serverInfo":{…}}`, which goes with every modern result.
    result_meta: RawJson,
}

impl Shared {
    pub(crate) fn new(options: ServeOptions, source: Option<Source>) -> Self {
        let mut meta = ObjectWriter::new();
        // An implementation's members are strings and raw text, which can always be written.
        let _ = meta.member("io.modelcontextprotocol/serverInfo", &options.server_info);
        Self {
            tools: RwLock::default(),
            source,
            waiting: WaitingRoom::new(options.max_waiting, options.answer_timeout),
            listens: Arc::new(Semaphore::new(options.max_listens)),
            watches: Watches::new(options.resources.clone()),
            inboxes: Mutex::default(),
            next_key: AtomicU64::new(0),
            result_meta: meta.finish(),
            options,
        }
    }

    pub(crate) fn tools(&self) -> Arc<Tools> {
        let known = self.tools.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Source(source)) = &self.source else { return known };
        let now = source();
        if known.is_made_of(&now) {
            return known;
        }
        let tools = Arc::new(Tools::new(now.into_iter().map(Entry::plain)));
        *self.tools.write().unwrap_or_else(PoisonError::into_inner) = tools.clone();
        tools
    }

    /// Changes the set, and tells everybody if there is another one now.
    pub(crate) fn change_tools(&self, change: impl FnOnce(&Tools) -> Option<Tools>) -> bool {
        let is_changed = {
            let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
            let changed = change(&tools);
            let is_changed = changed.is_some();
            if let Some(changed) = changed {
                *tools = Arc::new(changed);
            }
            is_changed
        };
        if is_changed {
            self.announce(&Change::Tools);
        }
        is_changed
    }

    /// A queue that hears of changes for as long as someone else holds it.
    pub(crate) fn open_inbox(&self) -> Arc<Inbox> {
        let inbox = Arc::new(Inbox::new(self.options.max_reports));
        let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.retain(|known| known.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        inbox
    }

    pub(crate) fn announce(&self, change: &Change) {
        let inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.iter().filter_map(Weak::upgrade).for_each(|inbox| inbox.change(change));
    }

    pub(crate) fn next_key(&self) -> CallKey {
        self.next_key.fetch_add(1, Ordering::Relaxed)
    }

    /// What the server can do, as it declares it.
    pub(crate) fn capabilities(&self, era: Era) -> RawJson {
        let options = &self.options;
        let mut all = ObjectWriter::new();
        all.object("tools", |tools| tools.boolean("listChanged", true));
        if options.resources.is_some() {
            all.object("resources", |resources| {
                resources.boolean("subscribe", true).boolean("listChanged", true)
            });
        }
        if options.prompts.is_some() {
            all.object("prompts", |prompts| prompts.boolean("listChanged", true));
        }
        if options.completions.is_some() {
            all.raw("completions", &RawJson::empty_object());
        }
        // Deprecated in the modern era, where clients ask for it request by request.
        if options.logging && era == Era::Legacy {
            all.raw("logging", &RawJson::empty_object());
        }
        all.finish()
    }

    /// Writes a result: what the era wants on all of them, then its own members.
    pub(crate) fn result(
        &self,
        version: ProtocolVersion,
        keep: Keep,
        fill: impl FnOnce(&mut ObjectWriter),
    ) -> RawJson {
        let mut result = ObjectWriter::with_capacity(256);
        if version.era() == Era::Modern {
            result.string("resultType", "complete").raw("_meta", &self.result_meta);
            let ttl = match keep {
                Keep::Never => None,
                Keep::Not => Some(std::time::Duration::ZERO),
                Keep::List => Some(self.options.list_ttl),
                Keep::Read => Some(self.options.read_ttl),
            };
            if let Some(ttl) = ttl {
                result.integer("ttlMs", i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
                result.string(
                    "cacheScope",
                    match self.options.cache_scope {
                        CacheScope::Public => "public",
                        CacheScope::Private => "private",
                    },
                );
            }
        }
        fill(&mut result);
        result.finish()
    }

    pub(crate) fn result_meta(&self) -> &RawJson {
        &self.result_meta
    }
}

/// How long a client may keep a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// It is of a kind that nobody keeps.
    Never,
    /// It could be kept but for how it came about.
    Not,
    /// As a list.
    List,
    /// As something read.
    Read,
}

pub(crate) fn unknown_method(method: &str) -> ErrorObject {
    ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, format!("unknown method `{method}`"))
}
